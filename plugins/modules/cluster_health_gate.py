#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module cluster_health_gate."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_health_gate
short_description: Judge a whole OpenSearch cluster, or Longhorn, at a moment of an upgrade
description:
  - Looks at the whole cluster and gives a verdict with reasons. It changes nothing, except for V(before_stop) with
    O(allocation) and O(hands_over).
  - Safety and progress are different questions. I(Safety) asks whether every shard keeps a started copy and every
    quorum its majority without the members of O(batch). I(Progress) asks whether waiting longer would change anything.
  - Yellow that only the upgrade itself can fix (decider C(node_version)) is not waited for. Every other unassigned
    replica is named with its index, shard and deciders.
  - A missing answer is never a pass.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  subject:
    description:
      - The thing that is judged. With V(longhorn) it is the Longhorn of O(namespace). O(batch) and O(expected) are then
        names of Kubernetes nodes, so that the module answers whether they may go down now, whatever is upgraded there.
      - V(longhorn) has the moments V(before_batch), V(after_batch), V(before_upgrade) and V(after_upgrade). The last
        three ask whether the volumes are whole (those of O(batch), or all), and O(target_version) whether every node
        runs it.
      - Volumes of both data engines are judged. No option about shards, allocation, votes or consent counts then.
    type: str
    default: opensearch
    choices: [opensearch, longhorn]
  namespace:
    description:
      - The namespace of Longhorn, by default C(longhorn-system).
      - With O(kubernetes_nodes) and V(opensearch) the namespace of the pods, which is needed then. A member that is
        missing, and that its StatefulSet there does not keep any more, is refused at once.
    type: str
  moment:
    description:
      - V(before_upgrade) makes the checks that C(docs/gates.md) lists for it. V(before_batch) proves that O(batch) may
        go down now, and that this spoils no snapshot and no long task.
      - V(before_stop) proves the same once more, immediately before O(batch) is stopped, with allocation restricted for
        it, by O(allocation) or before. Only the proof is made, since the other checks of V(before_batch) would refuse
        the effects of the restriction itself. If the proof cannot hold until allocation is put back, or has not held
        for 15 seconds in which the cluster answered, the batch starts again at O(gate). Without that option the
        task ends with C(waiting). If the cluster does not answer, O(wait_timeout) is the limit.
      - V(joined) checks that O(batch) is in the cluster on O(target_version), each member as another process than
        O(former_processes) says. The shards are not judged.
      - V(after_batch) checks that O(batch) is back on O(target_version) and that the shards are where they can be.
      - V(after_upgrade) checks the same for all O(expected).
    type: str
    required: true
    choices: [before_upgrade, before_batch, after_batch, after_upgrade, before_stop, joined]
  expected:
    description:
      - Names of all members that should be in the cluster. A missing one that is not in O(batch) is waited for.
    type: list
    elements: str
    default: []
  batch:
    description:
      - Names of the members that are about to go down, or that have come back. Each is in the cluster or in
        O(expected).
    type: list
    elements: str
    default: []
  kubernetes_nodes:
    description:
      - Names of Kubernetes nodes that are about to go down, in place of O(batch). The batch is the members whose pods
        run on them when the gate passes, or empty if there are none. All others are expected, and so are members of
        the same StatefulSets that are away. A pool without any member in the cluster cannot be found this way, so
        name its members in O(expected). As long as a member of the cluster has no pod in O(namespace), nothing is let
        through, since it may run on one of them.
      - For the subject V(longhorn) they are those of its nodes that are named here.
      - For V(before_batch) and V(before_stop), and for V(longhorn) also for V(after_batch).
    type: list
    elements: str
    default: []
  target_version:
    description: The version that is upgraded to.
    type: str
  later_versions:
    description:
      - The versions that the members go to after O(target_version), one after the other. Data that one of them cannot
        open, and settings that one of them does not have, are named as well.
    type: list
    elements: str
    default: []
  split_after:
    description:
      - Seconds after which the part of O(batch) that may go is let through. If O(batch) is refused as a whole, that is
        done at once. RV(going) names the part; ask again for the others when it is back.
      - If no part may go now, but a member could go later (after a recovery, say), the gate waits for that. By default
        a batch is never split.
      - For V(before_batch) only.
    type: int
  skip_upgraded:
    description:
      - Whether to pass a batch without a proof, and with a remark, if each of its members runs O(target_version)
        already because someone else has upgraded it. Its members may then be stopped only by a task that makes the
        proof itself, such as M(stateful.upgrade.pod_ondelete_roll).
      - For V(before_batch) only.
    type: bool
    default: false
  hands_over:
    description:
      - Whether an elected manager in O(batch) will hand over before the batch is taken down, as
        M(stateful.upgrade.pod_ondelete_roll) does it. It may then share the batch with others if the members that stay
        can elect another one. If it alone votes, it may go, too, since another one then votes in its place. By default
        an elected manager goes alone.
      - For V(before_batch) it is only taken into account. For V(before_stop) the module makes it hand over, in the same
        way and with the same undo, proves the batch again, and then restricts allocation.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait without progress. When they are over, the task fails and names what it waits for.
      - Progress restarts the time. Progress means that fewer shards are left to start than ever, or fewer bytes or
        operations of those that recover. Without the permission C(indices:monitor/recovery) only whole shards count.
  wait_limit:
    description: The most seconds to wait, however much progress there is. By default there is no limit.
    type: int
  since:
    description: The time from which RV(green_seconds) counts, in seconds since 1970.
    type: int
  zone_attribute:
    description: The node attribute that names the zone of a member, for the figures of the check V(disk).
    type: str
    default: zone
  batches:
    description:
      - The names of the members of each batch that is planned. Before the upgrade the check V(disk) then says also how
        full the disks would be if one of these batches never came back.
      - For V(before_upgrade) only.
    type: list
    elements: list
    default: []
  former_processes:
    description:
      - For V(joined), the value of C(before.processes) that the gate V(before_batch) returned. So a member that has
        not been stopped yet does not count as one that is back.
    type: dict
    default: {}
  snapshot:
    description:
      - The repository in which the run takes a snapshot before its first batch. Before the upgrade a snapshot that it
        has started there then stops nothing, and no older one is judged.
    type: str
  raise_replicas:
    description:
      - Names and patterns of indices to which the run gives a replica if they have none. In check mode
        the gate judges the cluster as if they had it already.
    type: list
    elements: str
    default: []
  gains:
    description:
      - The bytes by which the run makes the disks of members larger before its first batch, by the name of the member.
        The check V(disk) judges them as if they had grown already.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: Only O(allocation) and O(hands_over) change anything; RV(ignore:actions) lists the changes.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.opensearch.consent
  - stateful.upgrade.opensearch.in_parts
  - stateful.upgrade.opensearch.restricting
  - stateful.upgrade.opensearch.checks
notes:
  - "OpenSearch permissions needed: C(cluster:monitor/health), C(cluster:monitor/state), C(cluster:monitor/nodes/info),
    C(cluster:monitor/allocation/explain); for the check V(disk) C(cluster:monitor/nodes/stats), for the check V(tasks)
    C(cluster:monitor/tasks/lists), for the check V(index_management), where indices are managed,
    C(cluster:admin/opendistro/ism/managedindex/explain) and, on all indices,
    C(indices:admin/opensearch/ism/managedindex); for the check V(last_snapshot) C(cluster:admin/repository/get) and
    C(cluster:admin/snapshot/get); for bytes to count as progress C(indices:monitor/recovery); with O(allocation)
    C(cluster:admin/settings/update). For O(hands_over) at V(before_stop) C(cluster:admin/settings/update),
    C(cluster:admin/voting_config/add_exclusions) and C(cluster:admin/voting_config/clear_exclusions); without one of
    these an elected manager that is alone goes as it is, and a batch that it shares with others is not proven."
  - "Kubernetes rights needed for O(kubernetes_nodes): C(list) of C(statefulsets) of the group C(apps), and of C(pods),
    in O(namespace)."
  - "Kubernetes rights needed for the subject V(longhorn): C(list) of C(nodes), C(volumes), C(engines),
    C(enginefrontends), C(replicas), C(instancemanagers), C(settings), C(snapshots) and C(backups) of the group
    C(longhorn.io) in the namespace, and of C(nodes) in the whole cluster."
seealso:
  - module: stateful.upgrade.pool_order
  - module: stateful.upgrade.node_engine_switch
"""

EXAMPLES = r"""
- name: Prove that data-2 may go down now, waiting for recoveries under way
  stateful.upgrade.cluster_health_gate:
    opensearch:
      hosts: [https://search.example.com:9200]
    moment: before_batch
    expected: [data-0, data-1, data-2]
    batch: [data-2]
    wait_timeout: 900

- name: Prove that Kubernetes nodes worker-1 and worker-4 may be drained, whichever members run there
  stateful.upgrade.cluster_health_gate:
    moment: before_batch
    namespace: search
    kubernetes_nodes: [worker-1, worker-4]

- name: Wait until data-2 has joined again, as another process than before
  stateful.upgrade.cluster_health_gate:
    moment: joined
    batch: [data-2]
    target_version: 3.8.0
    former_processes: "{{ proof.before.processes }}"

- name: Start although a snapshot is being taken, which the restart of its members makes partial
  stateful.upgrade.cluster_health_gate:
    moment: before_upgrade
    target_version: 3.8.0
    skip_checks: [snapshots]

- name: Ask whether Kubernetes node worker-2 may go down now, because of its Longhorn volumes
  stateful.upgrade.cluster_health_gate:
    subject: longhorn
    moment: before_batch
    batch: [worker-2]
    expected: [worker-1, worker-2, worker-3]

- name: Look once, without waiting
  stateful.upgrade.cluster_health_gate:
    moment: before_upgrade
    target_version: 3.8.0
    wait: false
  register: gate
"""

RETURN = r"""
verdict:
  description:
    - The verdict. C(refused) fails the task; C(waiting) is only returned with O(wait=false), and at V(before_stop).
    - The reasons each have a stable code, one sentence, a remedy, and the state to which it alone would lead.
  returned: always
  type: dict
  sample:
    state: waiting
    reasons:
      - {state: waiting, code: recovering, message: "Shards recover (2): logs[0], logs[1].", remedy: ''}
green_seconds:
  description:
    - Seconds from O(since) until the first look of this gate that found the cluster green, with no change pending.
    - It is null if O(since) is not given, or if no look has found the cluster green.
  returned: success, except at V(before_stop) and V(joined)
  type: int
  sample: 13
health_away:
  description:
    - The health of the cluster at the first look after members of the batch went down. Allocation is restricted then.
  returned: at V(joined)
  type: str
  sample: yellow
going:
  description: The members of O(batch), or on O(kubernetes_nodes), that may go. These are all of them unless the batch
    was split.
  returned: success, except at V(joined)
  type: list
  elements: str
  sample: [data-2]
before:
  description: The cluster as found.
  returned: always
  type: dict
  sample:
    status: green
    members: {data-0: 2.19.6, data-1: 2.19.6, data-2: 3.8.0}
    processes: {data-0: 5fJ0QhRkQz2, data-1: K2nVw0aYT9e, data-2: bX7dR1s4S8u}
    elected_manager: data-0
    shards: {started: 24, initializing: 0, relocating: 0, unassigned: 0}
    cluster_uuid: Yq1Zp4oQSOu5mM0r9bJ2Mg
    state_version: 118
actions:
  description: Each change of allocation and votes, with its time. It is empty without O(allocation) and O(hands_over).
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
    - {code: recovering, message: 'Shards recover (2): logs[0], logs[1].', seconds: 4.2}
next:
  description: The next step of a rolling upgrade.
  returned: always
  type: str
  sample: restrict allocation and replace the batch
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.entry.health_gate import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
