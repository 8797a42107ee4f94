#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module canary_soak."""

from __future__ import annotations

DOCUMENTATION = r"""
module: canary_soak
short_description: Let the first batch of an upgrade prove itself before the next one goes
description:
  - Looks for O(soak_time) after the first batch of an upgrade was done, as its record tells. If an alert fires
    meanwhile, or if a probe or a limit fails, the verdict is C(refused), so that the upgrade stops there.
  - A gate that gives no answer is none that has passed, so that it is waited for, also after that time.
  - Once another batch of the upgrade has begun, it has nothing to do.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  members:
    description: The name of what proves itself, if O(ended) is given.
    type: list
    elements: str
    default: []
  began:
    description:
      - The moment at which its upgrade began, as V(2026-12-01T22:00:00Z). The values of O(limits[].ratio) compare with
        those of that moment.
      - Without it and O(ended), the record of the upgrade is read.
    type: str
  ended:
    description: The moment from which O(soak_time) counts.
    type: str
  soak_time:
    description: Seconds from the end of the first batch.
    type: int
    default: 0
  namespace:
    description: The namespace of the record.
    type: str
  probes:
    description: Addresses that have to be available, as those of M(stateful.upgrade.external_dependencies).
    type: list
    elements: str
    default: []
  limits:
    description: Queries of Prometheus whose value may not be too large.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name for people.
        type: str
        required: true
      query:
        description: The query. It has a single value.
        type: str
        required: true
      most:
        description: The most that the value may be. Either this or O(limits[].ratio), or both.
        type: float
      ratio:
        description: The most that it may be in relation to its value when the upgrade began.
        type: float
  timeout:
    description: Seconds for the answer of a probe.
    type: int
    default: 10
  wait:
    description: Whether to wait until the time is over.
  wait_timeout:
    description: Seconds to wait.
    default: 3600
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
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
  - stateful.upgrade.task
notes:
  - "Kubernetes rights needed for a record in a ConfigMap: C(get) of C(configmaps)."
seealso:
  - module: stateful.upgrade.prometheus_alerts
"""

EXAMPLES = r"""
- name: Let the first batch prove itself for a quarter of an hour
  stateful.upgrade.canary_soak:
    soak_time: 900
    namespace: search
    lock: "{{ upgrade_lock }}"
    prometheus:
      url: https://prometheus.example.com
    probes:
      - https://shop.example.com/health
    limits:
      - name: rate of errors
        query: sum(rate(http_requests_total{code=~"5.."}[5m]))
        ratio: 1.5
"""

RETURN = r"""
changed:
  description: Always false.
  returned: always
  type: bool
verdict:
  description: The verdict.
  returned: always
  type: dict
  sample: {state: waiting, reasons: []}
members:
  description: The members of the first batch while it has to prove itself; empty before it is done and after that.
  returned: always
  type: list
  elements: str
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
from ..module_utils.run.canary_soak import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
