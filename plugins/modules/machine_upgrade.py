#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module machine_upgrade."""

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_upgrade
short_description: Plan an upgrade of the machines of a kubeadm cluster, and begin, carry out and end its runs
description:
  - The machines of the control plane are upgraded one by one, then the workers. A role works on each machine itself,
    between the states of this module.
  - One verdict names all problems of a plan.
  - Planning changes nothing. A run that carries the plan out begins with O(state=begun) and ends with O(state=ended).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  namespace:
    description: The namespace of the lock and of the record. Needed unless the record is kept elsewhere.
    type: str
  state:
    description:
      - V(planned) plans, and looks for all problems.
      - V(begun) takes the lock, plans again and records the start of the run.
      - V(fit) waits until every Kubernetes node is Ready, the control plane is well and etcd can do without the
        O(batch). It says which subcommand of C(kubeadm upgrade) each machine of the batch gets, and keeps its Machine
        at O(management) from being replaced.
      - V(asked) waits until the O(workloads) can spare the O(batch). Nothing is changed.
      - V(ready) flushes the indices of members on the O(batch), lets the elected manager hand over, restricts
        allocation with its undo in the same request, and proves once more that the O(batch) may go down.
      - V(drained) cordons the machines of the O(batch) and evicts their pods, and waits until their volumes are
        detached. A machine that a person has cordoned keeps that cordon.
      - V(delegated) has another program carry out the O(step) of the machines of the O(batch), by an object
        NodeUpdate in the O(namespace), and waits until that has ended. Work under way is aborted once O(wait_timeout)
        is over or its UpgradeTask is aborted, and has as long again to end.
      - V(specified) returns a O(field) of the specification that the machine of the O(batch) is to have.
      - V(noted) notes the O(operation) of the agent of the machine of the O(batch) at its Kubernetes node, before it is
        submitted. While the note is there, V(restored) leaves the machine as it is.
      - V(returned) waits until the O(batch) is Ready on O(target_version), and uncordons what the run has cordoned.
      - V(rejoined) puts allocation back in each of the O(workloads) once the members of the O(proof) have joined again.
        With O(wait=false) nothing is done for those that have not.
      - V(whole) waits until each of the O(workloads) with members in the O(proof) is whole, and all volumes are.
      - V(ready_again) waits until the pods that were Ready before the machines went are Ready again, and lets go of
        their Machines at Cluster API.
      - V(proven) waits until all machines are on O(target_version), and well.
      - V(restored) uncordons the machines that runs have cordoned, and removes the marks of runs from their Machines at
        O(management). One that is not Ready, or has failed, stays as it is, and a remark says so. All that runs have
        changed in the O(workloads) is put back.
      - V(ended) records that the run O(lock) has ended with O(event), and gives its lock back.
    type: str
    choices: [planned, begun, ended, fit, asked, ready, drained, delegated, specified,
      noted, returned, rejoined, whole, ready_again, proven, restored]
    default: planned
  target_version:
    description: The version of Kubernetes, such as 1.36.1. Not needed if O(state=ended) or O(state=restored).
    type: str
    required: false
  groups:
    description: The names of the machines by group. A machine has the name of its Kubernetes node.
    type: dict
  machines:
    description:
      - The facts of each machine by its name, as its role has found them there. C(kubeadm) is the version of kubeadm.
      - On the control plane C(certificates) is a list with the C(name) of each and the time when it C(expires), and
        C(etcd) has the ids C(member) and C(leader), the C(revision), and the names of all C(voters).
    type: dict
    default: {}
  failed_members:
    description:
      - The causes of failed steps on the hosts of machines of O(batch), by the names of the machines. With
        O(state=returned) such a machine is looked at once, and not waited for.
    type: dict
    default: {}
  only:
    description: The names of the machines that are upgraded. By default all of O(groups) are.
    type: list
    elements: str
    default: []
  max_unavailable:
    description:
      - The most workers of a group and zone that go down together, as a number or a percentage. By default it is one.
        Machines of the control plane always go one by one.
    type: str
  allow_quorum_loss:
    description: Consent to upgrade a control plane of one machine, or of two with etcd, whose API is away for minutes.
    type: bool
    default: false
  allow_unmanaged_pods:
    description: Patterns of the namespaces whose pods without a controller a drain may delete for ever.
    type: list
    elements: str
    default: []
  through:
    description:
      - The versions on the way to O(target_version), in their order and without it, such as V([1.35.4]), at most three.
        Each machine goes to each of them, and no machine goes further before all are there.
      - For a batch O(target_version) may be one of them.
    type: list
    elements: str
    default: []
  step:
    description:
      - With O(state=delegated) the part of the work. V(prepare) sees that the API knows NodeUpdates, and changes
        nothing.
      - V(before_drain) is for the part of the control plane, V(after_drain) for all that restarts the kubelet.
    type: str
    choices: [prepare, before_drain, after_drain]
  course:
    description: With O(state=delegated) the subcommand of C(kubeadm upgrade), as O(state=fit) returns it.
    type: str
    choices: [apply, node]
  task_source:
    description:
      - The request of the run, such as V(upgradetask/next). With O(state=delegated) the upgrader gets the whole
        specification that an UpgradeTask wants, and with O(management) the Machines get its name as their mark.
    type: str
    default: ''
  field:
    description: With O(state=specified) the path of an object in C(newMachineSpec) of the UpgradeTask, or, if that has
      no such object, in that of the Machine at O(management). V(infraMachine.spec.image) is one.
    type: str
    default: ''
  operation: {description: With O(state=noted) its name. An empty one removes the note., type: str, default: ''}
  retries:
    description: With O(state=delegated) the retries by the class of the failure.
    type: dict
    default: {}
    suboptions:
      transient: {description: The retries of failures of the class C(Transient)., type: int, default: 3}
      unreachable: {description: The retries of failures of the class C(Unreachable)., type: int, default: 5}
  management:
    description:
      - The connection to the management cluster, if Cluster API owns the machines. It may be the same cluster. No
        environment variable is read for its suboptions.
      - With it each Machine of the plan gets the annotation C(upgrade.stateful/task) and the condition
        C(MachineUpToDate), and before work on it starts C(cluster.x-k8s.io/skip-remediation), so that no
        MachineHealthCheck replaces it. The annotations are removed once the machine is back.
  workload_gate:
    description: The file of tasks before each batch. Without it the plan names the clusters that nothing asks.
    type: path
  stopped:
    description: With O(state=restored) the cause of the failure, for a Machine that was stopped before its drain.
    type: str
    default: ''
  aborted:
    description: With O(state=restored) the upgrade is aborted, and with it all work of NodeUpdates that has not ended.
    type: bool
    default: false
  batch:
    description: The machines of the current batch.
    type: list
    elements: str
    default: []
  announce: {description: It has no effect for this system., type: bool, default: false}
  wait_timeout:
    description: Seconds to wait for an answer of the Kubernetes API, then without progress for what the state needs.
    default: 120
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.drains
  - stateful.upgrade.workloads
  - stateful.upgrade.workloads.proof
  - stateful.upgrade.machines
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.alerts
  - stateful.upgrade.runs
  - stateful.upgrade.runs.early
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
seealso:
  - module: stateful.upgrade.upgrade_lock
  - module: stateful.upgrade.upgrade_record
"""

EXAMPLES = r"""
- name: Plan an upgrade of machines
  stateful.upgrade.machine_upgrade:
    namespace: upgrades
    target_version: 1.36.1
    groups:
      control_plane: [cp-0, cp-1, cp-2]
      workers: [worker-0, worker-1]
  register: plan

- name: Begin to carry it out
  stateful.upgrade.machine_upgrade:
    state: begun
    namespace: upgrades
    target_version: 1.36.1
    groups:
      control_plane: [cp-0, cp-1, cp-2]
      workers: [worker-0, worker-1]
    confirmed: "{{ plan.digest }}"
  register: begun

- name: Drain a machine
  stateful.upgrade.machine_upgrade:
    state: drained
    namespace: upgrades
    target_version: 1.36.1
    batch: [worker-0]
    lock: "{{ begun.lock }}"

- name: Have another program upgrade a machine whose pods have left
  stateful.upgrade.machine_upgrade:
    state: delegated
    step: after_drain
    namespace: upgrades
    target_version: 1.36.1
    batch: [worker-0]
    lock: "{{ begun.lock }}"

- name: End the run
  stateful.upgrade.machine_upgrade:
    state: ended
    namespace: upgrades
    lock: "{{ begun.lock }}"
    event: completed
"""

RETURN = r"""
verdict:
  description: Whether the state is reached, or the upgrade may begin, with all reasons at once.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description:
    - The version of the kubelet of each machine.
    - With O(state=drained) the machines that are C(cordoned), and the number of C(pods) that have to leave each; with
      O(state=proven) the C(status) and the C(version) of the whole.
  returned: always
  type: dict
  sample: {cp-0: 1.35.1, worker-0: 1.35.1}
target_version:
  description: The version that is upgraded to.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: 1.36.1
cluster_uuid:
  description: The name under which the lock and the record are kept.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: machines
deployed_version:
  description: The version in the ClusterConfiguration of kubeadm.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: 1.35.1
pools:
  description: The machines of each group.
  returned: with O(state=planned) or O(state=begun)
  type: list
  elements: dict
batches:
  description: The batches in their order, each with reason, proof and place.
  returned: with O(state=planned) or O(state=begun)
  type: list
  elements: dict
  sample:
    - name: machines-02
      members: [worker-0]
      reason: next of workers in zone a
      proof: workers keeps 2 of its 3 workers, and evictions respect every budget
      place: 2/4
components: {description: The present versions of each component of Kubernetes., returned: with a plan, type: dict}
details: {description: Lines of the plan with versions., returned: with a plan, type: list, elements: str}
members:
  description: Names of all machines of the plan.
  returned: with O(state=planned) or O(state=begun)
  type: list
  sample: [cp-0, worker-0]
left: {description: Empty., returned: with O(state=planned) or O(state=begun), type: list, elements: str, sample: []}
kubernetes_nodes:
  description: The machines that the steps C(nodes) and C(nodes_after) look at, each under its own name.
  returned: with O(state=planned) or O(state=begun)
  type: dict
  sample: {worker-0: worker-0}
kubeadm:
  description: >-
    The subcommand of C(kubeadm upgrade) for each machine of the batch, V(apply) or V(node). With O(state=planned) or
    O(state=begun) that of the dry run on each machine.
  returned: with O(state=planned) or O(state=begun) or O(state=fit)
  type: dict
  sample: {cp-0: apply}
guards_etcd: {description: Whether etcd keeps its majority., returned: with O(state=fit), type: bool}
snapshots: {description: The machines that first save etcd., returned: with O(state=fit), type: list, elements: str}
workloads:
  description: The members that go down, by the name of each of the O(workloads), and their processes before that.
  returned: with O(state=ready)
  type: dict
  sample: {}
specified:
  description: The object at O(field). It is empty where there is none, and for a version on the way.
  returned: with O(state=specified)
  type: dict
  sample: {url: "https://images.example.com/os.raw"}
kept:
  description: The pods that budgets keep, each with its C(pod), C(kubernetes_node), C(budget) and
    C(disruptions_allowed).
  returned: with O(state=drained)
  type: list
  elements: dict
  sample: []
settings:
  description: Empty, since nothing of the run is kept in the settings of a cluster of OpenSearch.
  returned: with O(state=begun)
  type: dict
  sample: {}
digest:
  description: The digest of the plan, which consent names.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: p5f0c1d2e3a4
lines: {description: The plan as text., returned: with O(state=planned), type: list, elements: str}
unit: {description: The word for a batch's parts., returned: with a plan, type: str, sample: machine}
deed: {description: V(upgrade)., returned: with a plan, type: str, sample: upgrade}
approvals:
  description: The points to approve, which the digest covers.
  returned: with O(state=planned) or O(state=begun)
  type: list
  sample: []
predicted_seconds:
  description: The seconds that the batches will take; null if there are none.
  returned: with O(state=planned)
  type: int
  sample: 2400
prediction:
  description:
    - V(measured) if it is judged by the batches of earlier runs, and else V(guessed).
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
    - {code: machine_updating, message: Machine worker-0 is not Ready on 1.36.1 yet., seconds: 18.4}
next:
  description: The next step.
  returned: always
  type: str
  sample: begin
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.machines.machine_upgrade import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
