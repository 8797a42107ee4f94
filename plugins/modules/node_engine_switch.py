#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module node_engine_switch."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_engine_switch
short_description: Switch the v2 data engine of Longhorn nodes to the new image, or move their engines away
description:
  - Takes one Longhorn node after the other through the states of the design "v2 data engine live upgrade",
    C(undefined), C(initializing), C(switching-over), C(upgrading-instance-manager), C(switching-back),
    C(rebuilding-replica) and C(completed), with the fields of Longhorn 1.12.
  - The image is the one that Longhorn has as its default (setting C(default-instance-manager-image)), so the Longhorn
    system itself is upgraded first.
  - "B(Unverified): no one has shown that I/O survives the replacement of an instance manager under attached volumes on
    Longhorn 1.12. It is off unless O(accept_unverified) names it. Without it a node is switched once its volumes are
    detached, since Longhorn then replaces the instance manager by itself; and O(state=evacuated) moves engines away
    for maintenance."
  - Every change carries its undo in an annotation of the same patch, and marks on the node and on the volumes say what
    was started. So a run that takes over after a kill continues in the same state.
  - If a step fails, the engines that were moved away come home where their instance manager runs. The others stay, and
    are named in the result. Everything else that the task has changed waits for the next run, or for
    O(state=restored).
  - No engine is moved and no instance manager replaced while a volume that it concerns has no other healthy replica,
    is rebuilt, expanded, migrated, cloned or backed up. The task waits for that.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  namespace:
    description: The namespace of Longhorn.
    type: str
    default: longhorn-system
  state:
    description:
      - V(switched) brings each of O(nodes) to the new image.
      - V(evacuated) only moves the engines of O(nodes) away, takes the nodes out of scheduling, and makes snapshots
        before. Use V(restored) after the maintenance. A node that was emptied outside of a run (without O(lock)) stays
        so until then, and no run changes it.
      - V(restored) puts back everything that runs have changed, engines first, except on the nodes in O(keep). An
        engine whose home has no running instance manager stays, and the task fails with its name. Snapshots stay too;
        RV(left) names them. In a run, nodes that were emptied outside of one stay so, and RV(verdict) names them.
      - V(cleaned) removes the snapshots that runs have made for the present image. The task fails with the names of
        those that stay.
    type: str
    default: switched
    choices: [switched, evacuated, restored, cleaned]
  nodes:
    description: The Longhorn nodes, in the order in which they are switched.
    type: list
    elements: str
    default: []
  in_one_object:
    description:
      - The nodes for which one C(DataEngineUpgradeManager) is made, where the API server offers that kind. It is made
        before the first of O(nodes) that needs one; Longhorn then goes from node to node by itself.
      - By default each of O(nodes) has an upgrade of its own.
    type: list
    elements: str
    default: []
  data_engine:
    description: The data engine. V(v1) is refused, because its volumes are upgraded one by one.
    type: str
    default: v2
    choices: [v1, v2]
  image:
    description:
      - The instance manager image that O(nodes) are to run, as the plan has it. If Longhorn has another one as its
        default, no further node is started.
      - Without it, it is the one that Longhorn has as its default at the first look.
    type: str
    default: ''
  accept_unverified:
    description:
      - Steps that are not verified, accepted by name.
      - V(instance_manager_replacement) replaces an instance manager while volumes on it are attached.
      - V(unknown_versions) continues where the tag of an image names no version, so that more than one minor version
        could be skipped. It counts in M(stateful.upgrade.node_engine_plan).
      - V(unlisted_images) continues where a Kubernetes node does not name the new image, without the throw-away pod
        that would prove it there. It counts in that module, too.
      - V(detached_without_snapshot) takes no snapshot of detached volumes with a replica on a node, for which Longhorn
        would attach them.
    type: list
    elements: str
    default: []
    choices: [instance_manager_replacement, unknown_versions, unlisted_images, detached_without_snapshot]
  extra_replicas:
    description:
      - Whether volumes with a single replica get a second one before their node is changed. O(state=restored) removes
        it again.
    type: bool
    default: false
  keep:
    description: With O(state=restored), the nodes whose switch continues, so that nothing of them is put back.
    type: list
    elements: str
    default: []
  take_over:
    description:
      - The run whose undo is put back although its lock cannot be read from here. Give this only if that run is
        certainly dead.
    type: str
    default: ''
  wait_timeout:
    description:
      - Seconds to wait in each state of a node without progress. Fewer volumes to rebuild than ever, or more percent of
        them, are progress.
  wait_limit:
    description: The most seconds to wait in each state, however much progress there is. By default there is no limit.
    type: int
attributes:
  check_mode:
    support: full
    details: The API server is asked for the result of the acts that are due now, without making them (a dry run).
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
notes:
  - "The Kubernetes rights needed are those of C(roles/longhorn/files/role.yml), and C(list) of C(nodes) in the whole
    cluster."
seealso:
  - module: stateful.upgrade.node_engine_plan
  - module: stateful.upgrade.cluster_health_gate
"""

EXAMPLES = r"""
- name: Switch a node whose workloads are scaled down
  stateful.upgrade.node_engine_switch:
    nodes: [worker-1]

- name: Switch two nodes, one after the other, with volumes attached
  stateful.upgrade.node_engine_switch:
    nodes: [worker-1, worker-2]
    accept_unverified: [instance_manager_replacement]

- name: Move the engines of a node away before its maintenance
  stateful.upgrade.node_engine_switch:
    state: evacuated
    nodes: [worker-1]

- name: Bring them back afterwards
  stateful.upgrade.node_engine_switch:
    state: restored
"""

RETURN = r"""
verdict:
  description: The verdict. C(waiting) is only returned with O(wait=false) and in check mode.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
nodes:
  description:
    - Each node with its state and message, and with the volumes whose engines were moved away, as far as the task came.
      A volume has its original node, its temporary node and its state, which is V(completed) once the engine is home.
  returned: with O(state=switched) and O(state=evacuated)
  type: list
  elements: dict
  sample:
    - name: worker-1
      state: switching-over
      message: The engine of volume vol-1 is being moved away from node worker-1.
      volumes: {vol-1: {original: worker-1, temporary: worker-2, state: switching-over}}
      touched: [vol-1, vol-2]
      action: switched
      total_seconds: null
left:
  description: A verdict with one remark for each run whose snapshots are still there.
  returned: with O(state=restored)
  type: dict
  sample: {state: passed, reasons: []}
way:
  description: The way that the API server offers; C(outside) is the one with the fields of Longhorn 1.12.
  returned: with O(state=switched) and O(state=evacuated)
  type: str
  sample: outside
members:
  description: The same as RV(nodes), in the words of a run.
  returned: with O(state=switched) and O(state=evacuated)
  type: list
  elements: dict
  sample: []
before:
  description: Instance managers with their images and states, scheduling, and engines that are away, as found.
  returned: always
  type: dict
  sample:
    images: {worker-1: {instance-manager-0a1b: 'longhornio/longhorn-instance-manager:v1.12.0 (running)'}}
    scheduling: {worker-1: true}
    engines: {}
actions:
  description: Each act with its time.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: delete_instance_manager, target: instance-manager-0a1b, at: '2026-11-21T02:00:00.000Z', node: worker-1}
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
  sample:
    - {code: engine_moves, message: The engine of volume vol-1 is being moved away from node worker-1., seconds: 4.2}
next:
  description: The next step.
  returned: always
  type: str
  sample: the next node
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.longhorn.node_engine_switch import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
