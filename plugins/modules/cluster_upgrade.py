#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module cluster_upgrade."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_upgrade
short_description: Plan or upgrade one cluster of a fleet in a process of its own
description:
  - Runs a playbook of this collection for one cluster, with C(ansible-playbook) in a process of its own, and notes in
    the record of the fleet how it ended. The playbook C(stateful.upgrade.fleet) uses it for each cluster.
  - A cluster that fails is no failure of the task, since the fleet judges how many may fail.
  - It does not begin a cluster once too many have failed, or while a cluster of an earlier wave is not done.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - With V(planned) the plan of the cluster is made, and noted with its digest beside the record of the fleet.
      - With V(upgraded) the plan that was noted is carried out.
      - V(begun) and V(ended) note an upgrade that is run elsewhere, such as by a job of AWX.
    type: str
    choices: [planned, upgraded, begun, ended]
    default: upgraded
  cluster:
    description: The name of the cluster.
    type: str
    required: true
  path:
    description: The folder of the fleet's record.
    type: path
    required: true
  playbook:
    description: The playbook of this collection that upgrades the cluster.
    type: str
    choices: [opensearch, opensearch_hosts, restart, restart_hosts, longhorn]
    default: opensearch
  variables:
    description: The variables for that playbook.
    type: dict
    default: {}
  secrets:
    description: Those of them that are secrets.
    type: dict
    default: {}
  inventory:
    description: The inventories for that playbook, if the members of the cluster are on plain hosts.
    type: list
    elements: path
    default: []
  cause:
    description: The cause of a failure, for O(state=ended).
    type: str
    default: ''
  codes:
    description: The codes of the reasons of that failure.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: The plan is made and noted, as with O(state=planned).
  diff_mode:
    support: none
    description: The plan of the cluster is in its output.
  idempotent:
    support: full
    description: A cluster that is done is left as it is.
seealso:
  - module: stateful.upgrade.fleet_plan
"""

EXAMPLES = r"""
- name: Plan the upgrade of a cluster
  stateful.upgrade.cluster_upgrade:
    state: planned
    cluster: "{{ inventory_hostname }}"
    path: fleet
    variables:
      target_version: 3.8.0
      upgrade_namespace: search
"""

RETURN = r"""
changed:
  description: Whether the cluster was upgraded.
  returned: always
  type: bool
verdict:
  description: Always passed.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
cluster:
  description: The state of the cluster, with its plan and the places of its record and its output.
  returned: always
  type: dict
  contains:
    name:
      description: Its name.
      type: str
    state:
      description: C(planned), C(refused), C(not begun), C(upgrading), C(done), C(waiting) or C(failed).
      type: str
    digest:
      description: The digest of its plan.
      type: str
    plan:
      description: The first line of its plan.
      type: str
    cause:
      description: The cause for which it has failed, waits, or was not begun.
      type: str
    codes:
      description: The codes of the reasons.
      type: list
      elements: str
    began:
      description: The moment at which its upgrade began.
      type: str
    ended:
      description: The moment at which it ended.
      type: str
    seconds:
      description: Seconds that it took.
      type: float
    record:
      description: The place of its own record.
      type: str
    log:
      description: The file with its output.
      type: str
before:
  description: Always empty.
  returned: always
  type: dict
actions:
  description: Always empty - the playbook of the cluster records what it does.
  returned: always
  type: list
  elements: dict
waited:
  description: Always empty.
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
from ..module_utils.fleet.cluster_upgrade import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
