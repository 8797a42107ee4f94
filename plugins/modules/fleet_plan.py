#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module fleet_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_plan
short_description: Arrange the clusters of a fleet in waves, and tell how their upgrades ended
description:
  - Arranges the clusters of a fleet in waves, shows them with the plan of each cluster, and tells at the end how each
    cluster is. The playbook C(stateful.upgrade.fleet) uses it.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - With V(arranged) the waves are arranged, and nothing else.
      - With V(planned) they are shown, and refused if too many clusters have no plan.
      - With V(agreed) they become the record of the fleet.
      - With V(ended) the end of the run is told.
    type: str
    choices: [arranged, planned, agreed, ended]
    default: planned
  path:
    description: The folder of the fleet's record.
    type: path
    required: true
  clusters:
    description: The clusters of this run, in their order.
    type: list
    elements: str
    required: true
  groups:
    description: The groups of the inventory, with their hosts.
    type: dict
    default: {}
  canary:
    description: The clusters that go first.
    type: list
    elements: str
    default: []
  waves:
    description:
      - The waves after the canary. Each is a group of the inventory, a number of clusters, or a percentage of the
        clusters of this run. A last one that is a size is repeated. Without any, all the other clusters are one wave.
    type: list
    elements: str
    default: []
  failures:
    description: The number of failed clusters after which no further one begins. With V(0) nothing stops the fleet.
    type: int
    default: 1
  playbook:
    description: The playbook of this collection that upgrades each cluster.
    type: str
    choices: [opensearch, opensearch_hosts, restart, restart_hosts, longhorn]
    default: opensearch
attributes:
  check_mode:
    support: full
    description: The plan is shown, and not noted.
  diff_mode:
    support: none
    description: It shows the plan.
  idempotent:
    support: full
    description: A cluster that is done is left as it is.
seealso:
  - module: stateful.upgrade.cluster_upgrade
"""

EXAMPLES = r"""
- name: Show the waves
  stateful.upgrade.fleet_plan:
    path: fleet
    clusters: "{{ ansible_play_hosts_all }}"
    groups: "{{ groups }}"
    canary: [search-staging]
    waves: [10%, 100%]
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
  sample: {state: passed, reasons: []}
waves:
  description: The waves in their order, each with its C(name) and its C(clusters).
  returned: unless refused
  type: list
  elements: dict
  sample: [{name: canary, clusters: [search-staging]}]
digest:
  description: The digest of the plan of the fleet.
  returned: unless refused
  type: str
  sample: f1f2e3d4c5b6
clusters:
  description: The state of each cluster by its name, as RV(stateful.upgrade.cluster_upgrade#module:cluster).
  returned: unless refused
  type: dict
lines:
  description: The lines that were shown.
  returned: unless refused
  type: list
  elements: str
failed_clusters:
  description: The cause of each cluster that has failed, by its name.
  returned: with O(state=ended)
  type: dict
before:
  description: Always empty.
  returned: always
  type: dict
actions:
  description: Always empty.
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
from ..module_utils.fleet.fleet_plan import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
