#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module pod_ondelete_roll."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pod_ondelete_roll
short_description: Replace the pods of one batch after a proof that this is safe, and follow them until they have joined
description:
  - Brings the members of one batch onto the revision that the StatefulSet of each wants, by deleting their pods. Then
    it follows the new pods until they are Ready and OpenSearch says that they have joined.
  - Immediately before the first deletion it proves on fresh state that every shard keeps a started copy, and every
    quorum its majority, without the batch. Without that proof nothing is deleted. A snapshot that has started since
    the gate, and needs a shard of the batch, is waited for like the proof, unless O(skip_checks) has V(snapshots).
  - With O(allocation), allocation is restricted between that proof and another one, and the pods are deleted right
    after it. Once members are down allocation stays restricted. Put it back with M(stateful.upgrade.shard_allocation)
    (C(state=restored), C(part=batch)) when the batch is back, or after a failure.
  - If the deletions of a large batch take longer than 5 seconds, the proof is made again between them. The members
    deleted so far then count as down. If the proof does not hold any more, the rest of the batch stays up, and the
    deleted members are followed until they are back. With O(gate) the rest goes after them. Otherwise the verdict is
    that of the proof, usually V(waiting), and you call again for the rest.
  - The proof looks at all pods of the namespace. A member outside the batch whose pod is being deleted, has been
    evicted or has no running container does not count as staying, and is waited for.
  - If the elected manager is in the batch, and others can elect one of themselves, it hands over first. All
    manager-eligible members of the batch are excluded from voting until another one is elected. Then the exclusion is
    removed, and the proof made again. The undo of the exclusion is written before it. If this task is killed in
    between, M(stateful.upgrade.shard_allocation) puts it back.
  - Of two members that can be elected, only the elected one votes. When it hands over, the other one votes instead, so
    that the cluster has a manager during the restart.
  - If no one takes over, or the user may not exclude, an elected manager that is alone goes as it is. One that
    shares its batch is waited for, up to O(proof_timeout). One that alone votes is refused, unless
    O(allow_quorum_loss) consents to the time without a manager.
  - A deletion carries the UID of the pod that was observed. So a pod that something else has replaced is never deleted.
  - Members that are on the wanted revision already are left alone, except those of O(replace_marked). A member
    on its way there, for example because an earlier run was killed, is followed. A broken pod of an older
    revision is replaced, which fixes it.
  - If a pod is stuck, the cause is named (image, scheduling, crash, memory, probe, Kubernetes node), with its last
    events and log lines. A cause that time cannot fix is refused at once.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  going:
    description:
      - The part of O(batch) that goes first, such as C(going) in the result of M(stateful.upgrade.cluster_health_gate).
        The rest goes after it, through O(gate). The default is all of O(batch).
    type: list
    elements: str
  kubernetes_nodes:
    description:
      - Kubernetes nodes that the members of the batch leave, such as nodes that are cordoned. Each of their pods there
        is replaced, of whichever revision, and the task ends once these pods are gone. Call again without this option
        to follow the members until they are back.
      - If only a part of the batch could go, the task fails, since members that went may have no other place.
    type: list
    elements: str
    default: []
  target_version:
    description: The version that the members of the batch must report when they have joined. The default is any.
    type: str
  replace_marked:
    description:
      - Keys of annotations. A pod with one of them is replaced once, although it is of the wanted revision. Its
        successor has the annotations of the pod template, so the template may not have any of these.
      - M(stateful.upgrade.process_restart) schedules a pod with such an annotation. With O(configuration) the first
        key is the one that it sets.
    type: list
    elements: str
    default: []
  green_seconds:
    description:
      - Seconds after which the cluster was green after the batch before. The line of the first member that goes down
        says so.
    type: int
  wait_timeout:
    description:
      - Seconds to wait for the proof, and again for the batch to be back. When they are over, the task fails and names
        what it waits for.
  wait_sleep:
    default: 0.25
attributes:
  check_mode:
    support: full
    details: >-
      The proof is made, and the settings that would be changed and the pods that would be deleted are listed in
      RV(ignore:actions). With O(gate), which belongs to a whole run, only the restriction of allocation is shown. In
      check mode of such a run the pools have neither their new image nor their strategy.
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.task.namespace
  - stateful.upgrade.opensearch.batch
  - stateful.upgrade.opensearch.consent
  - stateful.upgrade.opensearch.checks
  - stateful.upgrade.opensearch.in_parts
  - stateful.upgrade.opensearch.restricting
  - stateful.upgrade.restart.configuration
notes:
  - The update strategy must be C(OnDelete), or C(RollingUpdate) with a partition that lets through nothing but the
    batch. M(stateful.upgrade.pool_image) sets it.
  - "Kubernetes rights needed in the namespace: C(get) and C(list) of C(statefulsets) (group C(apps)); C(list) and
    C(delete) of C(pods). Optional are C(create) of C(pods), by which a dry run asks whether the namespace admits the
    pods when they come back, C(list) of C(events) and C(get) of C(pods/log), by which causes are named better, and
    C(list) of C(poddisruptionbudgets) (group C(policy)), by which PodDisruptionBudgets are respected. With
    O(configuration) also C(patch) of C(pods), and C(get), C(create) and C(patch) of C(secrets)."
  - "OpenSearch permissions needed: C(cluster:monitor/state), C(cluster:monitor/nodes/info); with O(allocation)
    C(cluster:admin/settings/update). For the elected manager to hand over C(cluster:admin/settings/update),
    C(cluster:admin/voting_config/add_exclusions) and C(cluster:admin/voting_config/clear_exclusions). Without one of
    these it goes as it is if it is alone, and a batch that it shares with others is waited for. With O(gate) also those
    that M(stateful.upgrade.cluster_health_gate) needs for V(before_batch)."
seealso:
  - module: stateful.upgrade.pool_image
  - module: stateful.upgrade.pool_order
  - module: stateful.upgrade.cluster_health_gate
"""

EXAMPLES = r"""
- name: Replace one member
  stateful.upgrade.pod_ondelete_roll:
    namespace: search
    opensearch:
      hosts: [https://search.example.com:9200]
    pool: data
    batch: [data-2]
    expected: [data-0, data-1, data-2]
    target_version: 3.8.0
    allocation: restrict

- name: Put allocation back
  stateful.upgrade.shard_allocation:
    state: restored
    part: batch

- name: One pass of a reconcile loop
  stateful.upgrade.pod_ondelete_roll:
    namespace: search
    pool: data
    batch: [data-1, data-2]
    expected: [data-0, data-1, data-2]
    wait: false
  register: pass_result

- name: Replace members of two pools together
  stateful.upgrade.pod_ondelete_roll:
    namespace: search
    pools: [data, ingest]
    batch: [data-2, ingest-1]
    expected: [data-0, data-1, data-2, ingest-0, ingest-1]
"""

RETURN = r"""
changed:
  description:
    - Whether pods were (in check mode - would be) deleted, allocation was restricted, or the elected manager has handed
      over.
  returned: always
  type: bool
verdict:
  description: The verdict. It is passed once the batch is back; otherwise it has the reasons.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description:
    - The revision that the pool wants (for several pools one after the other), and the revisions of the pods as found.
  returned: always
  type: dict
  sample: {revision: data-6d4cf56db, pods: {data-2: data-79bd4c5f64}}
members:
  description:
    - The members of the batch, each with what was done and the seconds of each phase.
    - C(action) is V(replaced) by this task, V(followed) on its way, V(kept) as another upgraded it, or V(untouched).
    - C(stop_seconds) last from the deletion until the old pod was gone, C(schedule_seconds) until the new pod was made
      and had a Kubernetes node, C(image_seconds) until its container had started, C(start_seconds) until it was Ready,
      and C(join_seconds) until OpenSearch said that the batch has joined. C(total_seconds) are the sum.
    - The seconds are as precise as O(wait_sleep). They are null for a phase that was not gone through.
    - When the verdict is refused, C(events) and C(log) are the last events and log lines of a pod that is stuck, and
      C(cause) is a sentence about the cause that the log names.
  returned: always
  type: list
  elements: dict
  sample:
    - name: data-2
      pool: data
      action: replaced
      kubernetes_node: worker-3
      stop_seconds: 1.2
      schedule_seconds: 0.4
      image_seconds: 1.0
      start_seconds: 7.1
      join_seconds: 0.2
      total_seconds: 9.9
health_away:
  description:
    - The health of the cluster at the first look after members of the batch went down. Allocation is restricted then.
  returned: with O(until=joined), if a look was answered
  type: str
  sample: yellow
actions:
  description: Each act, with its time.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: delete_pod, target: data-2, at: '2026-11-21T02:00:00.000Z', uid: 0d4f7e2a, revision: data-79bd4c5f64}
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
next:
  description: The next step, if the batch is not back yet.
  returned: always
  type: str
  sample: ''
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.restart.replacing import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
