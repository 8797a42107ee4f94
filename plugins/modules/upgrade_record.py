#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module upgrade_record."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_record
short_description: Keep and read the record of an upgrade
description:
  - Keeps the record of an upgrade, in a ConfigMap or a file (O(record_kept_in)) - its phase, its batches, the times of
    each member, what was waited for, the status of each pool, the version that was deployed last, and the history of
    all its runs.
  - Reads it, too.
  - The record is for people and reports. The next steps are read from the cluster itself, never from here.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(read) gives all records of the place, with who holds their locks if these are in O(namespace).
      - V(begun) notes that the run O(lock) begins O(plan), or continues it.
      - V(step) notes that the step O(step), which the run takes around its batches, has come to O(step_state).
        O(summary) says what it waits for, or why it has failed.
      - V(batch) notes that O(batch) has come to O(batch_state).
      - V(ended) notes that the run has ended with O(event).
      - V(settled) notes that O(acts) have put things back after a run that was interrupted. The phase stays as it is.
      - V(absent) removes the records of the request O(request), which was withdrawn, once they are O(retention) days
        old. A record of an upgrade under way stays.
      - V(paused) pauses the upgrade on request, for the reason O(summary). No batch begins any more until V(resumed).
        V(approved) notes that someone approves the point O(approval). These need no lock, whichever run is at work.
    type: str
    choices: [read, begun, step, batch, ended, settled, absent, paused, resumed, approved]
    default: read
  plan:
    description:
      - The result of M(stateful.upgrade.pool_order). With O(state=batch) and O(state=ended) it is the plan of a run
        that has written its record before. If that was removed since, it is started again with this plan.
      - C(done) are the batches of it that are done, each with C(name), C(started) and C(ended).
    type: dict
  step:
    description: The name of a step.
    type: str
  step_state:
    description:
      - The state that the step has come to. V(in_progress) is also one that has failed, or that waits. With V(skipped)
        the upgrade continues without it.
    type: str
    choices: [started, in_progress, completed, skipped]
  tried:
    description:
      - A step whose tasks have been run, in place of O(step_state). The task notes how far the step has come, says
        what comes next, and pauses before it is tried again. It is for the role C(stateful.upgrade.steps).
    type: dict
    suboptions:
      waits:
        description: The reason that the step is not done; empty if it is.
        type: str
        default: ''
      reasons:
        description: The reasons in the results of its tasks. It is not done while one of them waits.
        type: list
        elements: dict
        default: []
      without:
        description: The thing that the upgrade continues without if the step has failed; empty if it stops.
        type: str
        default: ''
      since:
        description: The time at which this run began the step, in seconds since 1970.
        type: int
        required: true
      failure:
        description: The C(task) that has failed, its C(message), the C(codes), and whether it was C(unreachable).
        type: dict
        default: {}
      timeout:
        description: Seconds for which it is tried again.
        type: int
        default: 1800
      late_after:
        description: Seconds after which it is late, over all runs; V(0) if it never is.
        type: int
        default: 0
      retries:
        description: The times that it may fail.
        type: int
        default: 0
      retries_unreachable:
        description: The times that it may fail because a host or a server gave no answer.
        type: int
        default: 0
      before:
        description: The return value RV(step) of the try before.
        type: dict
        default: {}
  step_failure:
    description: The class of the error with which the step has just failed, for O(step_state=in_progress).
    type: str
    choices: [failed, unreachable]
  batch:
    description: The name of a batch of the plan.
    type: str
  batch_state:
    description: The state that the batch has come to.
    type: str
    choices: [upgrading, done, failed, waiting]
  results:
    description: The members of the batch with their times, as M(stateful.upgrade.pod_ondelete_roll) returns them.
    type: list
    elements: dict
    default: []
  waited:
    description:
      - The waits, as the modules return them. The record keeps those of a batch next to it, and those of the start and
        the end of a run as C(waited), each with what it was C(during).
    type: list
    elements: dict
    default: []
  event:
    description:
      - The end of the run. The upgrade is V(completed), or V(paused) until the next pass. A run that was V(stopped),
        because a batch could not be finished or the whole cluster not be proven, leaves it under way for the next run.
        One that a person has V(aborted) continues once it is resumed.
    type: str
    choices: [completed, paused, stopped, failed, aborted]
  summary:
    description:
      - The cause of an end that is not V(completed), or of a batch that failed. Its first sentence becomes the reason
        of the upgrade, and all of it stays in the history.
      - With O(state=settled) it says what is not put back yet. If it is empty, everything is.
    type: str
    default: ''
  approvals:
    description:
      - With O(batch_state=upgrading), the points at which a person has to approve before the upgrade continues. If
        one that was reached is not approved, or the upgrade is paused, nothing is noted, and the verdict is C(waiting).
      - The annotations C(upgrade.stateful/approved) (names with commas) and C(upgrade.stateful/pause) (a reason) of the
        ConfigMap of a record approve and pause, too.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name of the point.
        type: str
        required: true
      after:
        description: The number of batches of the upgrade that are done then.
        type: int
        required: true
  requested:
    description:
      - With O(batch_state=upgrading), the request that the run carries out. If it was changed or withdrawn, the verdict
        is V(waiting), and the record does not change.
    type: dict
    suboptions:
      source: {description: Its place., type: str, required: true}
      digest: {description: The digest with which it was read., type: str, required: true}
      owner: {description: The owner of its members if it is a document for one owner., type: str, default: ''}
      members: {description: Its members that are reported one by one., type: list, elements: str, default: []}
  approval:
    description: With O(state=approved), the name of the point that is approved.
    type: str
  record:
    description:
      - With V(paused), V(resumed) and V(approved), the name of the record. It is needed only if several upgrades of the
        place are under way.
    type: str
  request:
    description: With O(state=absent), the place of the request, as the record keeps it.
    type: str
  retention:
    description: With O(state=absent), the days for which a record is kept after its last change.
    type: int
    default: 0
  codes:
    description: The codes of the reasons for which the run has ended, or the batch has failed.
    type: list
    elements: str
    default: []
  health:
    description: The word for the health of the cluster, as the gate before the batch, or the last gate, has found it.
    type: str
    default: ''
  health_away:
    description: The word for the health while the members of the batch were away.
    type: str
    default: ''
  green_seconds:
    description:
      - Seconds after which the cluster was green after the batch before, or with O(state=ended) after the last one, as
        the gate after it has found. The record keeps it next to that batch.
    type: int
  counted:
    description:
      - With O(state=begun) and O(state=ended), the things that the system has counted, such as the documents of
        each index. The record keeps them for its report, and no decision depends on them.
      - C(things) and C(parts) are the words for what is counted and for what holds it. C(each) has the number for
        each part, or C(missing) says why there is none.
    type: dict
    default: {}
  acts:
    description: The C(actions) of the tasks so far. The record counts those that change something or put it back.
    type: list
    elements: dict
    default: []
  deadline:
    description:
      - With O(batch_state=upgrading), the time from which no further batch is started, in seconds since 1970.
        0 sets no limit.
    type: int
    default: 0
  pause_at:
    description:
      - With O(batch_state=upgrading), the time from which the upgrade is paused, in seconds since 1970. Then the
        verdict is V(waiting), and nothing is noted. 0 sets no such time.
    type: int
    default: 0
  locks:
    description: With O(state=read), whether to ask who holds the locks in O(namespace).
    type: bool
    default: true
  namespace:
    description: The namespace of the cluster's pods, if they are pods. Needed with O(record_kept_in=kubernetes).
    type: str
  wait:
    description: Whether to ask again while the Kubernetes API does not answer.
  wait_timeout:
    description: Seconds to ask again.
    default: 300
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    description: Each note carries its time, so noting it again changes the record.
    support: none
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.machines.request
  - stateful.upgrade.task
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
notes:
  - "Kubernetes rights needed if the record is kept there: C(list) of C(configmaps) and C(leases) to read; C(get),
    C(create), C(patch) of C(configmaps) to write. OpenSearch is asked only for a lock that is kept there."
seealso:
  - module: stateful.upgrade.upgrade_lock
"""

EXAMPLES = r"""
- name: How far is the upgrade?
  stateful.upgrade.upgrade_record:
    namespace: search
  register: known

- name: Note that it has ended
  stateful.upgrade.upgrade_record:
    namespace: search
    lock: "{{ taken.lock }}"
    state: ended
    event: completed
    summary: Upgraded to 3.8.0.
"""

RETURN = r"""
changed:
  description: Whether the record was (in check mode - would be) changed.
  returned: always
  type: bool
verdict:
  description: The verdict. A remark says that the record could not be written, a refusal that it could not be read.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
records:
  description:
    - All records of the place, the newest last, each with who holds its lock.
    - C(pools) are the pools of the plan in order. C(status) of a pool is V(pending) before the first of its batches
      begins, V(upgraded) when no member is left, and V(upgrading) in between. C(left) are its members that do not run
      the target version yet. C(outside) are such members of the cluster that are in none of the pools.
    - C(deployed_version) is the version that all members ran at the end of the last upgrade that completed. Before the
      first one it is the lowest version that any of them ran at its start. It becomes the target version when an
      upgrade completes and no member is left. C(deployed) says it in words, with the version on the way.
    - C(phase) is V(New) (planned, no one has agreed), V(Pending) (agreed to or scheduled, no batch has begun),
      V(Upgrading), V(Paused) (until the next pass), V(Completed), V(Failed) (no run began in its window) or V(Aborted).
      C(reason) is one sentence if it is V(Paused), V(Failed) or V(Aborted), or if a batch of an upgrade
      that is V(Upgrading) was stopped.
    - C(start) is the start of an upgrade with a schedule - its times C(at) and C(end), its C(policy), and the
      C(findings) of its last early check with those of them that are C(new), and those that are C(cured). It is null
      without a schedule.
    - C(conditions) has C(Scheduled), C(Started), C(GateBeforeUpgrade), C(GatesBeforeBatches), C(BatchesDone),
      C(NoticesSent), C(GateAfterUpgrade) and C(Ended) once each has begun, and one for each step by its name. Each has
      C(type), C(status), C(reason), C(message), C(cause) (the reason of the upgrade, if the part waits for that) and
      the times of its start, of its end, of the last look and of the last change. C(upgrades) has those of former
      upgrades, C(named_steps) those of steps that OpenShift has names for.
    - C(request_status) is the status of the UpgradeTask of the request, with a condition for each of its machines.
    - C(hold) is the pause that a person has asked for, with C(by), C(at) and C(reason), or null. C(approvals) are the
      points that someone has approved, each with C(name), C(by), C(at) and C(place). C(codes) are the codes of the
      reasons for which the last run has ended, or a batch was stopped.
    - C(events) has all that was noted, with C(kind), C(at), C(run), C(about), C(by) and C(message). Changes are counted
      (C(times), C(last)). C(history) are those that led to a C(phase), C(risks) the accepted risks and skipped checks.
      C(all_events) has them in the order of time, with the start, the end, the outcome and the health of each batch.
    - C(system) is what is upgraded, such as V(opensearch). C(schema) counts the forms of a record. Fields that are not
      known, of a newer collection, are ignored.
    - All but C(schema) are empty in a record that was written before they were kept.
    - C(lock.processes) is the state of the holder's processes, as far as this machine knows - V(alive), V(ending),
      V(gone) or V(unknown). C(lock.overdue) says whether it was not renewed for as long as it lasts.
  returned: with O(state=read)
  type: list
  elements: dict
  sample:
    - name: stateful-upgrade-0a1b2c3d4e
      system: opensearch
      target_version: 3.8.0
      deployed_version: 2.19.6
      deployed: 2.19.6, on the way to 3.8.0
      phase: Upgrading
      reason: ''
      run: 20261121-020000-3f2a5b6c
      pools:
        - {name: data, status: upgrading, left: [data-0]}
        - {name: managers, status: pending, left: [managers-0, managers-1, managers-2]}
      outside: []
      lock: {run: 20261121-020000-3f2a5b6c, who: ops@bastion, doing: '', processes: alive}
name:
  description: The name of the record of the upgrade that is meant.
  returned: with V(paused), V(resumed) and V(approved)
  type: str
record:
  description:
    - The record as written, with the fields of those in RV(records).
    - With O(state=batch) and O(state=step) it has no other batch than this one, only the last entry of C(history), and
      no changes in C(events), and neither C(waited) nor C(counts).
  returned: when written
  type: dict
  sample: {phase: Completed, deployed_version: 3.8.0}
at:
  description: The time of writing, in seconds since 1970 on the controller's clock.
  returned: when written
  type: int
  sample: 1795226400
usual_seconds:
  description: The median of the seconds that the batches so far were away; null before the first one is done.
  returned: when written
  type: float
  sample: 41.5
step:
  description:
    - The seconds since which the step is not completed, and how often it has failed since, by class.
      One that an earlier run has left out has the cause as C(skipped).
    - With O(tried) also C(next), which is C(done), C(again), C(waiting), C(skipped) or C(failed), with the C(reason) to
      wait, the C(failure), the C(notice) that is due, C(remarks), and whether its changes are to be taken back
      (C(takes_back)).
  returned: with O(state=step), if there is a record
  type: dict
  sample: {unfinished_seconds: 40, failed: 1, unreachable: 0}
before:
  description: The record as found.
  returned: always
  type: dict
  sample: {phase: Upgrading}
actions:
  description: Each act, with its time.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: write_record, target: stateful-upgrade-0a1b2c3d4e, at: '2026-11-21T02:00:00.000Z', phase: Completed}
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
from ..module_utils.run.record.upgrade_record import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
