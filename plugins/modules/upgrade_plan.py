#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module upgrade_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_plan
short_description: Plan the rolling upgrade of an OpenSearch cluster, and begin and end the run that carries it out
description:
  - Makes the plan of M(stateful.upgrade.pool_order). At the same time it asks the gate C(before_upgrade) of
    M(stateful.upgrade.cluster_health_gate), makes the proof of M(stateful.upgrade.image_pull) for each pool with a
    member to replace, and checks whether the lock (M(stateful.upgrade.upgrade_lock)) is free.
  - One verdict names all problems.
  - Planning changes nothing. The throw-away pods of the image proof are gone at the end.
  - Once the plan is agreed to, the run that carries it out begins with O(state=begun) and ends with O(state=ended).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(planned) plans, and looks for all problems.
      - V(begun) takes the lock, plans again, puts back the changes that an interrupted run has left, and records the
        start of the run. If the plan is no longer the O(confirmed) one, or anything else fails, the lock is
        given back. In check mode no lock is taken, and nothing is recorded.
      - V(ended) records that the run O(lock) has ended with O(event), and gives its lock back. The lock is given back
        even if the record cannot be written.
    type: str
    choices: [planned, begun, ended]
    default: planned
  target_version:
    description: The version to upgrade to. Needed unless O(state=ended).
    required: false
  hops:
    description:
      - The versions on the way to O(target_version), in their order, each as a text, or as a mapping with C(version)
        and C(image). The result has the batches of the hop that is due, and the known problems of the
        later ones.
    type: raw
  image_timeout:
    description: Seconds to wait for the images, if O(wait_timeout) is not more.
    type: int
    default: 300
  capacity_policy:
    description: With V(continue) an extra member without room is a remark.
    type: str
    choices: [stop, continue]
    default: stop
  ephemeral:
    description:
      - How members of a pool without volumes are replaced. With V(drain) the plan names in each batch the
        members whose shards are moved away first.
    type: str
    choices: [drain, restart]
    default: drain
  tasks_emptied:
    description:
      - Files of tasks that run while the Kubernetes nodes of a batch are empty. If there are any, each batch takes all
        members on its Kubernetes nodes, also those that are on the target, and names these nodes. One that cannot be
        emptied as a whole is refused. It needs O(batching=node).
    type: list
    elements: path
    default: []
  volumes:
    description:
      - Volume claims that the run makes larger before its first batch. The plan says whether they can be, and judges
        the watermarks of the disks as if they had grown.
    type: list
    elements: dict
    default: []
    suboptions:
      pool:
        description: The StatefulSet.
        type: str
        required: true
      claim:
        description: The name of its claim template.
        type: str
        required: true
      size:
        description: The size that the claims of all its members are to have, such as V(200Gi).
        type: str
        required: true
  announce:
    description: Whether to make a Warning event about each pool when the plan is refused. The right to it is optional.
    type: bool
    default: false
  wait:
    description:
      - With V(false), look at the cluster once and return the verdict. O(state=begun) and O(state=ended) wait
        nevertheless.
      - The proof of the images, and the watch on a lock whose holder may be dead, are waited for in any case, since
        another call would start them again.
  wait_timeout:
    description:
      - Seconds to wait for an answer of OpenSearch and of the Kubernetes API, then for the cluster to be fit for the
        upgrade, and for the lock to be free.
      - O(state=begun) and O(state=ended) always wait up to 300 seconds for the lock and for each API.
    default: 120
attributes:
  check_mode:
    support: full
    details: The pods of the image proof are not made, only admitted (a dry run).
  diff_mode:
    support: full
    details: The difference shows each member's version before and after; with O(state=begun) the settings put back.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.alerts
  - stateful.upgrade.runs
  - stateful.upgrade.runs.early
  - stateful.upgrade.opensearch.plan
  - stateful.upgrade.opensearch.upgrade
  - stateful.upgrade.opensearch.run
  - stateful.upgrade.machines
  - stateful.upgrade.machines.plan
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
  - stateful.upgrade.opensearch.consent
  - stateful.upgrade.opensearch.checks
notes:
  - "OpenSearch permissions needed: C(cluster:monitor/state), C(cluster:monitor/nodes/info), C(cluster:monitor/health),
    and the others that M(stateful.upgrade.cluster_health_gate) names."
  - "With O(state=begun) and O(state=ended), for the documents of each index in the report, C(indices:monitor/stats).
    Without it the report says that they were not counted."
  - "With O(kept_in=opensearch) also C(cluster:admin/component_template/get)."
  - "With O(state=begun) and O(state=ended) also those that M(stateful.upgrade.upgrade_lock),
    M(stateful.upgrade.shard_allocation) and M(stateful.upgrade.upgrade_record) name."
  - "Kubernetes rights needed: those of the whole upgrade are asked for and each missing one is named. With
    O(extra_machines), those that M(stateful.upgrade.extra_machines) names. With O(volumes) C(get) and C(patch) of
    C(persistentvolumeclaims), C(create) and C(delete) of C(statefulsets), C(delete) of C(configmaps), and, to know the
    StorageClass before, C(get) of C(storageclasses) in the whole cluster."
seealso:
  - module: stateful.upgrade.pool_order
  - module: stateful.upgrade.cluster_health_gate
  - module: stateful.upgrade.image_pull
  - module: stateful.upgrade.upgrade_lock
  - module: stateful.upgrade.upgrade_record
"""

EXAMPLES = r"""
- name: Plan the upgrade to 3.8.0
  stateful.upgrade.upgrade_plan:
    namespace: search
    opensearch:
      hosts: [https://search.example.com:9200]
    target_version: 3.8.0
  register: plan

- name: Begin to carry it out
  stateful.upgrade.upgrade_plan:
    state: begun
    namespace: search
    target_version: 3.8.0
    confirmed: "{{ plan.digest }}"
  register: begun

- name: End the run
  stateful.upgrade.upgrade_plan:
    state: ended
    namespace: search
    lock: "{{ begun.lock }}"
    event: completed
    summary: Upgraded to 3.8.0.
"""

RETURN = r"""
verdict:
  description: Whether the upgrade may begin, with all refusals at once.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The version of each member, null for one that is not in the cluster; empty with O(state=ended).
  returned: always
  type: dict
  sample: {data-0: 2.19.6, data-1: 2.19.6}
target_version:
  description: The version that is upgraded to.
  returned: unless O(state=ended)
  type: str
  sample: 3.8.0
cluster_uuid:
  description: The UUID of the cluster.
  returned: unless O(state=ended)
  type: str
  sample: Yq1Zp4oQSOu5mM0r9bJ2Mg
version:
  description: The version that the batches lead to. With O(hops) it is that of the hop that is due.
  returned: unless O(state=ended)
  type: str
  sample: 3.8.0
hop:
  description: The hop that is due - its C(version), its C(number) C(of) all, and the version of the C(following) one.
  returned: with O(hops)
  type: dict
  sample: {"version": "2.19.6", "number": 1, "of": 2, "following": "3.8.0"}
later_hops:
  description: The versions of the later hops.
  returned: with O(hops)
  type: list
  elements: str
  sample: [3.8.0]
cluster_name:
  description: The name of the cluster.
  returned: unless O(state=ended)
  type: str
  sample: search
product:
  description: The server that the members run, C(OpenSearch) or C(Elasticsearch).
  type: str
  returned: unless O(state=ended)
deployed_version:
  description: The same as that of M(stateful.upgrade.pool_order).
  returned: unless O(state=ended)
  type: str
  sample: 2.19.6
pools:
  description: The same as that of M(stateful.upgrade.pool_order).
  returned: unless O(state=ended)
  type: list
  elements: dict
batches:
  description:
    - The same as that of M(stateful.upgrade.pool_order). C(place) is the place of the batch in the whole upgrade, over
      all its runs, such as V(2/3).
  returned: unless O(state=ended)
  type: list
  elements: dict
members:
  description: Names of all members, of the pools and of the cluster.
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: [data-0, data-1]
broken:
  description: Members of the pools that are not in the cluster.
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: []
outdated:
  description: The same as that of M(stateful.upgrade.pool_order).
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: []
left:
  description: The same as that of M(stateful.upgrade.pool_order).
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: []
settings:
  description:
    - The settings of allocation and recovery at the start of the run, after the changes of an interrupted one were put
      back.
    - It is what M(stateful.upgrade.shard_allocation) takes as O(stateful.upgrade.shard_allocation#module:before).
  returned: with O(state=begun)
  type: dict
  sample: {persistent cluster.routing.allocation.enable: all}
kubernetes_nodes:
  description: The same as that of M(stateful.upgrade.pool_order); empty if the user may not list Kubernetes nodes.
  returned: unless O(state=ended)
  type: dict
  sample: {data-0: worker-1}
marked_nodes:
  description: The Kubernetes nodes that an interrupted run has started to empty, if there are O(tasks_emptied).
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: []
digest:
  description: The same as that of M(stateful.upgrade.pool_order).
  returned: unless O(state=ended)
  type: str
  sample: p5f0c1d2e3a4
lines: {description: The plan as text., returned: with O(state=planned), type: list, elements: str}
unit: {description: The word for what a batch takes down., returned: unless O(state=ended), type: str, sample: member}
deed: {description: V(upgrade) or V(restart)., returned: unless O(state=ended), type: str, sample: upgrade}
adds:
  description: The capacity that is added for the time of the upgrade.
  returned: unless O(state=ended), if there are batches
  type: list
  elements: str
  sample: [one member of pool data]
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
commenced: {description: 'Whether a batch of the upgrade has begun already, in whichever run.', returned: with
    O(state=planned), type: bool}
to_fix: {description: The refusals that an early look (O(early_look)) has found before the start., returned: with
    O(wait=false), type: list, elements: dict}
begun_at:
  description: The time at which the first run of the upgrade began, as its record keeps it; empty if it begins now.
  returned: with O(state=planned)
  type: str
  sample: '2026-11-21T02:00:00Z'
grows:
  description: The volume claims that the run makes larger before its first batch, with O(volumes); otherwise empty.
  returned: unless O(state=ended)
  type: list
  elements: dict
  contains:
    pool: {description: The StatefulSet., type: str, returned: with O(volumes)}
    claim: {description: The name of the claim template., type: str, returned: with O(volumes)}
    size: {description: The size that its claims are to have., type: str, returned: with O(volumes)}
    claims: {description: The names of all its claims., type: list, elements: str, returned: with O(volumes)}
    raised: {description: Those of them that ask for less now., type: list, elements: str, returned: with O(volumes)}
gains:
  description: The bytes by which the disks of members grow with O(volumes), by the name of the member; otherwise empty.
  returned: unless O(state=ended)
  type: dict
  sample: {data-0: 107374182400}
saved_in:
  description: The repository in which the run takes a snapshot before its first batch; empty if it takes none.
  returned: with O(state=planned)
  type: str
  sample: backup
raises:
  description: The replicas that the run makes before its first batch, with O(raise_replicas); otherwise empty.
  returned: with O(state=planned)
  type: dict
  contains:
    indices: {description: The indices that get one., type: list, elements: str, returned: with O(raise_replicas)}
    shards: {description: The number of their shards., type: int, returned: with O(raise_replicas)}
    bytes: {description: The bytes that are copied., type: int, returned: with O(raise_replicas)}
    seconds:
      description: The least time that the copies take, by C(indices.recovery.max_bytes_per_sec).
      type: int
      returned: with O(raise_replicas)
lock:
  description: The lock as M(stateful.upgrade.upgrade_lock) returns it, for the option C(lock) of the other modules.
  returned: with O(state=begun), if the run has begun
  type: dict
  sample: {run: 20261121-020000-3f2a5b6c, name: stateful-upgrade-0a1b2c3d4e, kept_in: kubernetes}
record:
  description: The record as written.
  returned: with O(state=ended)
  type: dict
  sample: {phase: Completed}
actions:
  description: Each act with its time, such as the throw-away pods that were made and removed.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: create_pod, target: data-image-pull-x7k2p, at: '2026-11-21T02:00:00.000Z', kubernetes_node: worker-1}
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
next:
  description: The next step.
  returned: always
  type: str
  sample: begin
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.opensearch.upgrade_plan import SYSTEM
from ..module_utils.run.runs import contract_of, work_of

CONTRACT = contract_of(SYSTEM)
run = work_of(SYSTEM)


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
