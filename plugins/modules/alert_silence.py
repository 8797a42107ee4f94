#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module alert_silence."""

from __future__ import annotations

DOCUMENTATION = r"""
module: alert_silence
short_description: Hold silences at an Alertmanager during an upgrade
description:
  - Makes the silences of an upgrade, and ends them. Each lasts a short time (O(alertmanager.silence_duration)), and
    every task of the run renews it at each look. So the silences of a run that dies expire.
  - A silence names the lock of the upgrade and the run. The next run finds it by that, and takes it over without a gap.
    Silences of others are never touched.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(shown) shows the alerts that the silences would hide now.
      - V(present) makes each of O(silences) that is not there, and ends others of the same upgrade.
      - V(absent) ends all silences of the upgrade. An Alertmanager that gives no answer is then only a remark,
        since the silences expire.
    type: str
    choices: [shown, present, absent]
    default: present
  silences:
    description:
      - Selectors of the alerts to hide, in the syntax that PromQL has between braces, as
        V(namespace="search",severity="warning"). One that would fit alerts without any label is refused.
    type: list
    elements: str
    default: []
  lock:
    description: The lock of the run, as M(stateful.upgrade.upgrade_lock) returns it. Needed unless O(state=shown).
  wait:
    description: Whether to wait for an Alertmanager that gives no answer.
  wait_timeout:
    description: Seconds to wait.
    default: 60
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
notes:
  - "Needs O(alertmanager.url). Neither Kubernetes nor OpenSearch is asked, except for a lock that is kept there."
seealso:
  - module: stateful.upgrade.prometheus_alerts
"""

EXAMPLES = r"""
- name: Hide the warnings of the namespace while it is upgraded
  stateful.upgrade.alert_silence:
    alertmanager:
      url: https://alertmanager.example.com
    silences:
      - namespace="search",severity="warning"
    lock: "{{ upgrade_lock }}"

- name: End the silences
  stateful.upgrade.alert_silence:
    alertmanager:
      url: https://alertmanager.example.com
    lock: "{{ upgrade_lock }}"
    state: absent
"""

RETURN = r"""
changed:
  description: Whether a silence was made, renewed or ended.
  returned: always
  type: bool
verdict:
  description: The verdict. With O(state=shown) it has a remark for each silence.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
hidden:
  description: The number of alerts that each silence would hide now.
  returned: when O(state=shown)
  type: dict
  sample: {'namespace="search"': 2}
before:
  description: The silences of the upgrade before.
  returned: always
  type: dict
  sample: {silences: ['namespace="search"']}
actions:
  description: The acts on silences.
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
from ..module_utils.monitoring.alert_silence import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
