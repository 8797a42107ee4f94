#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module process_restart."""

from __future__ import annotations

DOCUMENTATION = r"""
module: process_restart
short_description: Restart the server processes of one batch after a proof that this is safe, while the pods stay
description:
  - Restarts the processes of the pods of one batch. The pods, their claims and their addresses stay.
  - An annotation of each pod holds the phase of its restart (O(annotation)). It is first V(schedule-rolling), then
    V(stop), then V(start), and then it is removed. A phase never goes back. So the next run continues a run
    that was killed anywhere, and no process is stopped twice.
  - With O(state=scheduled) the pods are marked. With O(state=restarted) the marked pods of the batch are restarted, and
    a pod without a mark is left alone.
  - A person may set the annotation, too, on a pod or on a StatefulSet for all its pods. The annotation
    C(elasticsearch.k8s.elastic.co/restart-phase) is understood as well.
  - The process of a pod with the annotation C(upgrade.stateful/stop) V("true") is stopped after the same proof and
    stays so. A run after the annotation was removed starts it. Only V(agent) in O(way) can do that; another way refuses
    such a pod.
  - Immediately before the first process is stopped it proves on fresh state that every shard keeps a started copy, and
    every quorum its majority, without the batch. The proof is that of M(stateful.upgrade.pod_ondelete_roll), and so are
    the hand-over of an elected manager and O(allocation).
  - The process to stop is noted on the pod before it is stopped. A process that was started since then is never
    stopped, whatever an older look has seen. One that was noted and not asked to end within 5 seconds, such as by a run
    that was killed, is proven again.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(scheduled) gives each pod of the batch that has no phase the one in O(phase), or the one of its StatefulSet,
        whose annotation is then removed. It also makes the new members of O(configuration[].replicas).
      - V(restarted) restarts the pods of the batch that have a phase, and follows them until they have joined.
      - V(unscheduled) removes the phase from pods of the batch whose restart has not started. The other pods keep the
        phase of their StatefulSet.
      - V(resumed) looks for an interrupted restart of all members at once, in all pools of the namespace, and
        finishes it, unless none of its processes was asked to end yet. It needs no lock. It works while no server
        answers, unless a run that lives has the lock of the run that has marked these pods. If O(pools) names some, a
        restart without an answer that is of none of them is left alone. It refuses if it cannot see whose the restart
        is, because the cluster refuses the user or restarts of several clusters are there, and O(pools) names none.
      - V(completed) ends a run with O(configuration). It removes the former contents and the keys of members that
        are gone. Secrets with configurations that no pod has used for 15 minutes are deleted. It also installs the
        O(licence), which is used with this state only.
      - V(removed) removes the one member of the batch, for O(configuration[].replicas). It proves that the others can
        do without it and that it holds no shard, gives its StatefulSet one replica fewer, and waits until it is gone.
        M(stateful.upgrade.shard_allocation) with C(state=drained) has its shards moved away before.
      - V(started) starts all processes in the namespace that an interrupted rolling restart has stopped, and
        waits until these pods are Ready. It stops nothing and leaves the phases, so that
        the next run continues. After a restart of all members at once it starts none, and refuses if one is stopped.
        Pods that a run under the lock of another cluster has marked are named and left alone.
      - V(seen) has a remark for each pod of the namespace whose restart has started, and fails if one of them is not
        Ready, since its process may be stopped. It asks the Kubernetes API alone.
    type: str
    choices: [scheduled, restarted, resumed, unscheduled, completed, removed, started, seen]
    default: restarted
  phase:
    description: The phase that a pod is scheduled with.
    type: str
    choices: [schedule, schedule-rolling, schedule-coordinated]
    default: schedule-rolling
  container:
    description:
      - The container that runs the server. The default is the only one, or the one whose image is called opensearch.
    type: str
  skip_checks:
    description:
      - Checks that the gate before the batch leaves out. Without V(snapshots), a process with a shard that a snapshot
        still needs is not stopped.
    type: list
    elements: str
    default: []
    choices: [pending_tasks, unassigned, progress, allocation, overrides, disk, snapshots, tasks, index_management,
      archived, settings, search_role, certificates, last_snapshot, plugins, images]
  wait_timeout:
    description:
      - Seconds to wait for the proof, and again for the batch to be back. When they are over, the task fails and names
        what it waits for. The phase stays on the pods, so that the next run continues.
  wait_sleep:
    default: 0.25
attributes:
  check_mode:
    support: full
    details: The proof is made, and the pods that would be marked are listed in RV(ignore:actions).
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.restart
  - stateful.upgrade.restart.configuration
  - stateful.upgrade.restart.licence
  - stateful.upgrade.task
  - stateful.upgrade.task.namespace
  - stateful.upgrade.opensearch.batch
  - stateful.upgrade.opensearch.consent
  - stateful.upgrade.opensearch.restricting
notes:
  - "Kubernetes rights needed in the namespace: C(list) and C(patch) of C(statefulsets) (group C(apps)); C(list) and
    C(patch) of C(pods); C(create) and C(get) of C(pods/exec). Optional are C(list) of C(events), C(get) of
    C(pods/log), and C(list) of C(poddisruptionbudgets) (group C(policy)). With O(configuration) also C(get), C(create)
    and C(patch) of C(secrets), and optionally C(list) and C(delete) of them. With O(way=agent) C(pods/exec) is
    not needed."
seealso:
  - module: stateful.upgrade.pod_ondelete_roll
  - module: stateful.upgrade.shard_allocation
"""

EXAMPLES = r"""
- name: Mark all members
  stateful.upgrade.process_restart:
    namespace: search
    pool: data
    batch: [data-0, data-1, data-2]
    state: scheduled

- name: Restart one after the other
  stateful.upgrade.process_restart:
    namespace: search
    opensearch:
      hosts: [https://search.example.com:9200]
    pool: data
    batch: ["{{ item }}"]
    expected: [data-0, data-1, data-2]
    allocation: restrict
  loop: [data-2, data-1, data-0]

- name: Put allocation back
  stateful.upgrade.shard_allocation:
    state: restored
"""

RETURN = r"""
changed:
  description: Whether a pod was (in check mode - would be) marked or its process restarted, or a setting was changed.
  returned: always
  type: bool
verdict:
  description: The verdict. It is passed once the batch is back; otherwise it has the reasons.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The phase of each pod of the batch as found; empty for none.
  returned: always
  type: dict
  sample: {phases: {data-2: schedule-rolling}}
way:
  description: The way in which the processes were restarted.
  returned: with O(state=restarted)
  type: str
  sample: kubelet
health_away:
  description:
    - The health of the cluster at the first look after members of the batch went down. Allocation is restricted then.
  returned: with O(until=joined), if a look was answered
  type: str
  sample: yellow
downtime_seconds:
  description:
    - Seconds from the first process that was asked to end to the last one that has joined, if all members have
      restarted at once.
  returned: after a restart of all members
  type: float
  sample: 21.4
members:
  description:
    - The members of the batch. C(action) is V(restarted) by this task, V(followed) on its way, V(stopped) to stay so,
      V(removed) or V(untouched). C(total_seconds) is the time from the mark V(stop) until it has joined
      again; null if it has not.
    - When the verdict is refused, C(events) and C(log) are the last events and log lines of a pod that is stuck, and
      C(cause) is a sentence about the cause that the log names.
  returned: always
  type: list
  elements: dict
  sample:
    - {name: data-2, pool: data, action: restarted, phase: '', uid: 0d4f7e2a, total_seconds: 6.2}
actions:
  description: Each act, with its time.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: marked_pod, target: data-2, at: '2026-11-21T02:00:00.000Z', uid: 0d4f7e2a, phase: stop}
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
from ..module_utils.restart.process_restart import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
