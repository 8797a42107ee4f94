#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module node_engine_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_engine_plan
short_description: Plan the switch of Longhorn's v2 data engine, and begin and end the run that carries it out
description:
  - Orders the Longhorn nodes that do not run the default instance manager image yet. Nodes that an interrupted run has
    started come first. Nodes that run it are done.
  - One verdict names all problems, each with volume, node and remedy.
  - Planning changes nothing in Longhorn. Throw-away pods prove the image on Kubernetes nodes that do not name it; they
    are removed. Once the plan is agreed to, the run that carries it out begins with O(state=begun), and
    ends with O(state=ended).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  namespace:
    description: The namespace of Longhorn, and of the lock and the record of the run.
    type: str
    default: longhorn-system
  state:
    description:
      - V(planned) plans, and looks for all problems.
      - V(begun) takes the lock, plans again, puts back what an interrupted run has left on nodes that are not in this
        plan, and records the start of the run.
      - V(ended) records that the run O(lock) has ended with O(event), and gives its lock back.
    type: str
    choices: [planned, begun, ended]
    default: planned
  target_version:
    description:
      - The version to upgrade to, which has to be the one of Longhorn's default instance manager image. Needed unless
        O(state=ended).
    type: str
    required: false
  nodes:
    description: Plan for these nodes only. By default all nodes of the v2 data engine are planned for.
    type: list
    elements: str
    default: []
  extra_replicas:
    description: Whether volumes with a single replica get a second one for the time of the run.
    type: bool
    default: false
  one_object:
    description:
      - Whether Longhorn is asked once for all nodes, by one C(DataEngineUpgradeManager). It then goes from node to node
        by itself, and cannot be stopped between nodes. It is refused where the API server does not offer this kind.
    type: bool
    default: false
  accept_unverified:
    description: Steps that are not verified, accepted by name; see M(stateful.upgrade.node_engine_switch).
    type: list
    elements: str
    default: []
    choices: [instance_manager_replacement, unknown_versions, unlisted_images, detached_without_snapshot]
  snapshots:
    description:
      - With O(state=ended), the fate of the snapshots that runs have made. V(removed) removes them if the run has
        completed. Those that cannot be removed are named in a remark.
    type: str
    choices: [removed, kept]
    default: removed
  image_timeout:
    description:
      - Seconds to wait for the throw-away pods that prove the new image. Each Kubernetes node of the order that does
        not name the image gets one, unless O(accept_unverified) has V(unlisted_images).
      - It waits at least O(wait_timeout).
    type: int
    default: 300
  announce:
    description: It has no effect for this system.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for an answer of the Kubernetes API, then for the volumes to be fit, and for a free lock.
    default: 120
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.alerts
  - stateful.upgrade.runs
  - stateful.upgrade.runs.early
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
seealso:
  - module: stateful.upgrade.node_engine_switch
  - module: stateful.upgrade.upgrade_lock
  - module: stateful.upgrade.upgrade_record
"""

EXAMPLES = r"""
- name: Plan the switch of all nodes
  stateful.upgrade.node_engine_plan:
    target_version: v1.12.1
  register: plan

- name: Begin to carry it out
  stateful.upgrade.node_engine_plan:
    state: begun
    target_version: v1.12.1
    confirmed: "{{ plan.digest }}"
  register: begun

- name: End the run
  stateful.upgrade.node_engine_plan:
    state: ended
    lock: "{{ begun.lock }}"
    event: completed
"""

RETURN = r"""
verdict:
  description: Whether the switch may begin, with all refusals at once.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The version of each node of the v2 data engine; empty with O(state=ended).
  returned: always
  type: dict
  sample: {worker-1: v1.12.0, worker-2: v1.12.1}
image:
  description: The default instance manager image.
  returned: unless O(state=ended)
  type: str
  sample: longhornio/longhorn-instance-manager:v1.12.1
in_one_object:
  description: The nodes of the one object, in their order; empty without O(one_object).
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: []
way:
  description: The way that the API server offers; C(outside) is the one with the fields of Longhorn 1.12.
  returned: unless O(state=ended)
  type: str
  sample: outside
unlisted:
  description:
    - The nodes in the order whose Kubernetes node does not name the image, so that a throw-away pod proves it there. A
      Kubernetes node names 50 images at the most.
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: [worker-2]
target_version:
  description: The version that is upgraded to.
  returned: unless O(state=ended)
  type: str
  sample: v1.12.1
cluster_uuid:
  description: The name under which the lock and the record are kept.
  returned: unless O(state=ended)
  type: str
  sample: longhorn
deployed_version:
  description: The lowest version of a node.
  returned: unless O(state=ended)
  type: str
  sample: v1.12.0
pools:
  description: The nodes of the v2 data engine, as one pool.
  returned: unless O(state=ended)
  type: list
  elements: dict
batches:
  description:
    - The nodes in their order, one a batch, each with reason, proof, and place in the whole upgrade. C(images) has the
      image that the instance manager of the node runs.
  returned: unless O(state=ended)
  type: list
  elements: dict
  sample:
    - name: node-01
      members: [worker-1]
      reason: next by name
      proof: each of its 3 volumes keeps a healthy replica elsewhere
      place: 1/2
      images: {worker-1: "longhornio/longhorn-instance-manager:v1.11.2"}
members:
  description: Names of all nodes of the v2 data engine.
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: [worker-1, worker-2]
volumes:
  description: The v2 volumes with an engine or a replica on a node, by node.
  returned: unless O(state=ended)
  type: dict
  sample: {worker-1: [vol-1], worker-2: [vol-1]}
left:
  description: Nodes that are neither planned for nor on the image.
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: []
settings:
  description: Empty, since nothing of the run is kept in the settings of a cluster of OpenSearch.
  returned: with O(state=begun)
  type: dict
  sample: {}
digest:
  description: The digest of the plan, which consent names.
  returned: unless O(state=ended)
  type: str
  sample: p5f0c1d2e3a4
lines: {description: The plan as text., returned: with O(state=planned), type: list, elements: str}
unit: {description: The word for a batch's parts., returned: unless O(state=ended), type: str, sample: Kubernetes node}
deed: {description: V(upgrade) or V(restart)., returned: unless O(state=ended), type: str, sample: upgrade}
approvals:
  description: The points to approve, which the digest covers.
  returned: unless O(state=ended)
  type: list
  sample: []
predicted_seconds:
  description: The seconds that the batches will take; null if there are none.
  returned: with O(state=planned)
  type: int
  sample: 720
prediction:
  description: V(measured) if it is judged by the batches of earlier runs, and V(guessed) if there were none.
  returned: with O(state=planned)
  type: str
  sample: measured
earlier:
  description: Since when the upgrade is under way, and how many batches of it are done; empty if it begins now.
  returned: with O(state=planned)
  type: dict
  sample: {started: '2026-11-21T02:00:00Z', done: 2}
to_fix: {description: The refusals that an early look (O(early_look)) has found before the start., returned: with
    O(wait=false), type: list, elements: dict}
begun_at:
  description: The time at which the first run of the upgrade began, as its record keeps it; empty if it begins now.
  returned: with O(state=planned)
  type: str
  sample: '2026-11-21T02:00:00Z'
commenced: {description: 'Whether a batch of the upgrade has begun already, in whichever run.', returned: with
    O(state=planned), type: bool}
lock:
  description: The lock as M(stateful.upgrade.upgrade_lock) returns it.
  returned: with O(state=begun), if the run has begun
  type: dict
  sample: {run: 20261121-020000-3f2a5b6c, name: stateful-upgrade-0a1b2c3d4e, kept_in: kubernetes}
record:
  description: The record as written.
  returned: with O(state=ended)
  type: dict
  sample: {phase: Completed}
actions:
  description: Each act with its time.
  returned: always
  type: list
  elements: dict
  sample: []
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
  sample:
    - {code: replica_rebuilds, message: Volume vol-1 rebuilds its replica on node worker-2 (40%)., seconds: 4.2}
next:
  description: The next step.
  returned: always
  type: str
  sample: begin
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.longhorn.node_engine_plan import SYSTEM
from ..module_utils.run.runs import contract_of, work_of

CONTRACT = contract_of(SYSTEM)
run = work_of(SYSTEM)


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
