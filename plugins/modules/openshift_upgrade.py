#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module openshift_upgrade."""

from __future__ import annotations

DOCUMENTATION = r"""
module: openshift_upgrade
short_description: Plan an upgrade of OpenShift, and begin, carry out and end the run that makes it
description:
  - The cluster version operator upgrades the control plane, and the machine config operator the Kubernetes nodes. A run
    starts the first one, and lets the second one take one batch of Kubernetes nodes after the other. In between the
    pools are paused, so that databases on the Kubernetes nodes can be asked before each batch.
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
      - V(fit) waits until the operators are well and the Kubernetes nodes Ready.
      - V(asked) waits until the O(workloads) can spare the O(batch).
      - V(taken) has the O(batch) taken. For the control plane it pauses the pools, sets the O(channel) if it is another
        one, waits until OpenShift has retrieved its updates, and sets the desired update, unless the ClusterVersion is
        on its way already. For Kubernetes nodes it releases their pool until they are taken, and
        pauses it again. It waits for that even with O(wait=false).
      - V(updated) waits until the O(batch) is on O(target_version), and back.
      - V(proven) waits until everything is on O(target_version), and well.
      - V(restored) releases the pools that runs have paused. With a O(batch), or with O(aborted), a pool with
        Kubernetes nodes left to update stays paused, and a remark says so.
      - V(expanded) makes a copy with one machine of each MachineSet of workers that has none yet, and waits until each
        machine is a Kubernetes node that takes pods. Once the update is commenced it makes none, and waits for none.
      - V(reduced) removes the copies that runs have made, and waits until their machines and Kubernetes nodes are gone.
      - V(ended) records that the run O(lock) has ended with O(event), and gives its lock back.
    type: str
    choices: [planned, begun, ended, fit, asked, taken, updated, proven, restored, expanded, reduced]
    default: planned
  target_version:
    description:
      - The version to upgrade to, such as 4.18.9, which the O(channel) has to offer. Needed unless O(release_image) is
        given, O(state=ended) or O(state=restored).
    type: str
    required: false
  channel:
    description:
      - The channel of the target. By default it is the one that the cluster has.
      - If it is another one, or the list of the cluster does not have a next minor version, the update graph is asked.
    type: str
  release_image:
    description:
      - The image of the release by its digest. Its registry is asked for its version, which is the target.
      - Its update is desired whether the channel lists it or not, and is never forced.
    type: str
  architecture:
    description: V(Multi) if the target has to be a release for several architectures, which the cluster runs already.
    type: str
    choices: [Multi]
  through:
    description: The versions on the way to the target, in their order, for an upgrade of several minor versions.
    type: list
    elements: str
    default: []
  update_service:
    description: The update graph, if it is not at the C(spec.upstream) of the ClusterVersion.
    type: dict
    suboptions:
      url: {description: The URL of the graph., type: str}
      ca_cert: {description: A file with the CA of its certificate., type: path}
      validate_certs: {description: Whether its certificate is verified., type: bool, default: true}
  registry:
    description: The connection to the registry of O(release_image).
    type: dict
    suboptions:
      username: {description: The user who may pull the image., type: str}
      password: {description: The password or token of that user., type: str}
      ca_cert: {description: A file with the CA of its certificate., type: path}
      validate_certs: {description: Whether its certificate is verified., type: bool, default: true}
  accept_risks:
    description: The risks of a conditional update that are accepted, by name.
    type: list
    elements: str
    default: []
  max_unavailable:
    description:
      - The most Kubernetes nodes of a pool that are away at a time, as a number or a percentage. A pool whose
        C(maxUnavailable) is more has this one until the run has put it back. By default that of the pool counts.
    type: str
  control_plane_late_after:
    description: Seconds after which the batch of the control plane is late, over all runs and passes. V(0) means never.
    type: int
    default: 5400
  control_plane_timeout:
    description: Seconds after which a run no longer waits for that batch. With V(0) the limit of every batch counts.
    type: int
    default: 14400
  batch_late_after:
    description: Seconds after which any other batch is late, over all runs and passes. V(0) means never.
    type: int
    default: 1800
  late_in:
    description: Seconds after which O(state=updated) ends with RV(late), if the batch is not updated. By default never.
    type: int
  late:
    description: The RV(late) that was returned, so that O(state=updated) continues and does not end with it again.
    type: dict
    default: {}
  wait_limit:
    description: Seconds that the state may wait for the batch in all, even if it makes progress.
    type: int
  upgrade_type:
    description:
      - V(osd) takes all named steps. V(aro) leaves out UpgradeDelayedCheck, IsUpgradeable and PostUpgradeProcedures.
        The upgrade then starts after the end of its window, too, unless O(window_policy) is another than
        V(start_only).
    type: str
    choices: [osd, aro]
    default: osd
  left_out:
    description:
      - Named steps that are left out in addition to those of O(upgrade_type). All others make the upgrade,
        prove that OpenShift is well, or remove what was added.
    type: list
    elements: str
    choices: [SendStartedNotification, UpgradeDelayedCheck, IsUpgradeable, ExternalDependencyAvailabilityCheck,
              EnsureExtraUpgradeWorkers, CreateControlPlaneMaintWindow, CreateWorkerMaintWindow, PostUpgradeProcedures,
              SendCompletedNotification]
    default: []
  fedramp:
    description: Whether the File Integrity Operator makes its baseline again after the upgrade.
    type: bool
    default: false
  workload_gate:
    description: The file of tasks before each batch. Without it the plan names the clusters that nothing asks.
    type: path
  batch:
    description: The Kubernetes nodes of the current batch.
    type: list
    elements: str
    default: []
  aborted:
    description: Whether the upgrade was aborted, so that no Kubernetes node may be taken without a gate.
    type: bool
    default: false
  announce:
    description: It has no effect for this system.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for an answer of the Kubernetes API, then without progress for what the state waits for.
    default: 120
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.workloads
  - stateful.upgrade.drains
  - stateful.upgrade.openshift
  - stateful.upgrade.alerts
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.runs
  - stateful.upgrade.runs.early
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
seealso:
  - module: stateful.upgrade.upgrade_lock
  - module: stateful.upgrade.upgrade_record
"""

EXAMPLES = r"""
- name: Plan an upgrade of OpenShift
  stateful.upgrade.openshift_upgrade:
    namespace: openshift-upgrade
    target_version: 4.18.9
  register: plan

- name: Begin to carry it out
  stateful.upgrade.openshift_upgrade:
    state: begun
    namespace: openshift-upgrade
    target_version: 4.18.9
    confirmed: "{{ plan.digest }}"
  register: begun

- name: End the run
  stateful.upgrade.openshift_upgrade:
    state: ended
    namespace: openshift-upgrade
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
  description: The version of each Kubernetes node; with O(state=proven) the C(status) and the C(version) of the whole.
  returned: always
  type: dict
  sample: {master-0: 4.18.3, worker-0: 4.18.3}
image:
  description: The image of the release that is upgraded to; empty once it is not offered any more.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: registry.example.com/openshift/release@sha256:0a1b
channel:
  description: The channel that the cluster is to have.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: stable-4.19
channels:
  description: The channels that the run sets, one after the other.
  returned: with O(state=planned) or O(state=begun)
  type: list
  elements: str
  sample: [stable-4.19]
present_channel:
  description: The channel that the cluster has.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: stable-4.18
target_version:
  description: The version that is upgraded to.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: 4.18.9
cluster_uuid:
  description: The name under which the lock and the record are kept.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: openshift
deployed_version:
  description: The version that was completed last.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: 4.18.3
pools:
  description: The Kubernetes nodes of each MachineConfigPool, in the order of the machine config operator.
  returned: with O(state=planned) or O(state=begun)
  type: list
  elements: dict
batches:
  description: The control plane and the batches of Kubernetes nodes in their order, each with reason, proof and place.
  returned: with O(state=planned) or O(state=begun)
  type: list
  elements: dict
  sample:
    - name: nodes-02
      members: [worker-0]
      reason: next of worker in zone a
      proof: worker keeps 2 of its 3 Kubernetes nodes, and evictions keep every budget
      place: 2/4
members:
  description:
    - Names of all Kubernetes nodes of the plan.
    - With O(state=updated) the outcome of each Kubernetes node of the batch, with C(name), C(action) and
      C(total_seconds).
  returned: with O(state=planned), O(state=begun) or O(state=updated)
  type: list
  sample: [master-0, worker-0]
left: {description: The Kubernetes nodes of pools that another user has paused., returned: with a plan, type: list}
rest:
  description: The Kubernetes nodes of the O(batch) that are not taken yet, since spare Kubernetes nodes came first.
  returned: with O(state=taken)
  type: list
  elements: str
  sample: []
late:
  description: The report that the batch is late, with C(state), C(cause), C(codes) and C(seconds).
  returned: with O(state=updated); empty if it is not late
  type: dict
  sample: {state: delayed, cause: "The batch of worker-0 is late: …", codes: [workers_late], seconds: 1800.0}
interruptions:
  description: The number of Kubernetes nodes that are in no batch, and that may be taken before those of one.
  returned: with O(state=planned) or O(state=begun)
  type: int
  sample: 3
with_control_plane: {description: The pools that go with the control plane., returned: with a plan, type: list}
together_with_it: {description: Their Kubernetes nodes that go at once., returned: with a plan, type: list}
away_with_it: {description: Of which C(names) C(at_once) may be away during it., returned: with a plan, type: list}
not_drained: {description: The Kubernetes nodes that restart with their pods., returned: with a plan, type: list}
lowered: {description: The pools that have a lower C(maxUnavailable) for now., returned: with a plan, type: list}
kubernetes_nodes:
  description:
    - The Kubernetes nodes that the steps C(nodes) and C(nodes_after) look at, each under its own name, without those
      that the machine config operator is at work on.
  returned: with O(state=planned) or O(state=begun)
  type: dict
  sample: {worker-0: worker-0}
once:
  description: Further steps before the first batch that are left out once the update is commenced.
  returned: with O(state=planned) or O(state=begun)
  type: list
  elements: str
  sample: [dependencies]
skips: {description: Steps of the run that are left out., returned: with a plan, type: list, sample: [dependencies]}
notices_left_out: {description: States without a notice., returned: with a plan, type: list, sample: [started]}
file_integrity:
  description: Whether the run asks the File Integrity Operator for a new baseline after the last batch.
  returned: with O(state=planned) or O(state=begun)
  type: bool
adds:
  description: The words for the spare workers that the run adds and removes; empty if there are none.
  returned: with O(state=planned) or O(state=begun)
  type: list
  elements: str
  sample: [3 spare MachineSets]
settings: {description: Empty for this system., returned: with O(state=begun), type: dict, sample: {}}
digest:
  description: The digest of the plan, which consent names.
  returned: with O(state=planned) or O(state=begun)
  type: str
  sample: p5f0c1d2e3a4
details: {description: Lines about a chain and about a stop., returned: with a plan, type: list, elements: str}
lines: {description: The plan as text., returned: with O(state=planned), type: list, elements: str}
unit: {description: The word for a batch's parts., returned: with a plan, type: str, sample: Kubernetes node}
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
    - V(measured) if it is judged by the batches of earlier runs.
    - If there were none, V(partly) if the time of the control plane is that of its last update, by the history of the
      ClusterVersion, and else V(guessed).
  returned: with O(state=planned)
  type: str
  sample: measured
measured:
  description: The number of batches whose time is known from the history of the ClusterVersion, and their seconds.
  returned: with O(state=planned) or O(state=begun)
  type: dict
  sample: {batches: 1, seconds: 3420}
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
record: {description: The record as written., returned: with O(state=ended), type: dict, sample: {phase: Completed}}
actions: {description: Each act with its time., returned: always, type: list, elements: dict, sample: []}
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
  sample:
    - {code: kubernetes_node_updating, message: Kubernetes node worker-0 reboots on its way to 4.18.9., seconds: 184.2}
next: {description: The next step., returned: always, type: str, sample: begin}
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.openshift.openshift_upgrade import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
