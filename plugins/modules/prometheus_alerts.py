#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module prometheus_alerts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: prometheus_alerts
short_description: Prove that none of the selected alerts fires
description:
  - Asks Prometheus for the alerts that fire, and waits until none of them stops the upgrade. All that do are named.
  - An alert can be ignored until a day, for a reason that is shown. One that already fired at the time of O(baseline)
    stops nothing.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  prometheus:
    required: true
  baseline:
    description:
      - A time with its offset from UTC, as V(2026-12-01T22:00:00Z). Alerts that fired at that time stop nothing.
        Prometheus is asked for that time.
    type: str
  watchdog:
    description:
      - The name of an alert that always fires, such as V(Watchdog). If it does not fire, no alert can be relied on, and
        the task waits until it does.
    type: str
  wait:
    description: Whether to wait until no alert stops the upgrade.
  wait_timeout:
    description: Seconds to wait.
    default: 300
  wait_sleep:
    description: Seconds between two looks.
    default: 5.0
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    description: Nothing is changed.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.alerts
  - stateful.upgrade.connections
  - stateful.upgrade.task
notes:
  - "Neither Kubernetes nor OpenSearch is asked, except for a lock that is kept there."
seealso:
  - module: stateful.upgrade.alert_silence
"""

EXAMPLES = r"""
- name: See that nothing critical is wrong
  stateful.upgrade.prometheus_alerts:
    prometheus:
      url: https://prometheus.example.com
    alerts:
      - severity="critical",namespace="search"
    ignored:
      - alerts: alertname="DiskWillFillInFourDays"
        reason: The disk is grown next week.
        owner: storage team
        until: '2026-12-31'
    watchdog: Watchdog
"""

RETURN = r"""
changed:
  description: Always false.
  returned: always
  type: bool
verdict:
  description: The verdict, with a reason for each alert that fires.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
firing:
  description: The labels of all checked alerts that fire, also of those that stop nothing.
  returned: when Prometheus has answered
  type: list
  elements: dict
before:
  description: Always empty.
  returned: always
  type: dict
actions:
  description: Always empty - nothing is changed.
  returned: always
  type: list
  elements: dict
waited:
  description: Each reason that was waited for, with its seconds.
  returned: always
  type: list
  elements: dict
next:
  description: Always empty - no step follows.
  returned: always
  type: str
  sample: ''
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.monitoring.prometheus_alerts import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
