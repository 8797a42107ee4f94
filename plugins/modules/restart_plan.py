#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module restart_plan."""

from __future__ import annotations

DOCUMENTATION = r"""
module: restart_plan
short_description: Plan the restart of the processes of an OpenSearch cluster, and begin and end its run
description:
  - Orders the members whose processes are to be restarted. These are the ones that are marked with a phase
    (M(stateful.upgrade.process_restart)), by a person or by a killed run, or all members if none is marked.
  - At the same time it asks the gate C(before_upgrade) of M(stateful.upgrade.cluster_health_gate), and checks whether
    the lock (M(stateful.upgrade.upgrade_lock)) is free, and whether the user has all rights.
  - One verdict names all problems. Planning changes nothing.
  - With O(groups), the processes to restart are noted in a setting of the cluster, until O(state=ended) with
    O(event=completed).
  - Once the plan is agreed to, the run that carries it out begins with O(state=begun) and ends with O(state=ended).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(planned) plans, and looks for all problems.
      - V(begun) takes the lock, plans again, puts back what an interrupted run has left, marks the pods, and records
        the start. If the plan is no longer the O(confirmed) one, or anything else fails, the lock is given back.
      - V(ended) records that the run O(lock) has ended with O(event), and gives its lock back.
    type: str
    choices: [planned, begun, ended]
    default: planned
  configurations:
    description:
      - With O(groups), the configuration of each member, by its name, as a dictionary with C(present), the content of
        the file on its host, and C(wanted).
      - Only members whose configuration differs are due then, and those that an interrupted run has left.
    type: dict
    default: {}
  agreed:
    description:
      - The digest of a plan that the user has agreed to before. A consent covers one request once, so no member is due
        if the last restart was that of this plan. Marked members and those with another configuration are always due.
      - The last request is noted in the cluster setting C(cluster.metadata.stateful_upgrade.restart_request).
    type: str
  target_version:
    description: It has no effect, since a restart changes no version.
    type: str
  replace_pods:
    description:
      - Whether the process of a member restarts in its pod, or its pod is replaced.
      - V(auto) takes the least that is enough for each member. A pod is replaced for a setting that is part of it,
        for a configuration that does not come into a running pod, and for a changed pod template. Everything else is
        a restart of the process. Settings that the members take while they run restart nothing.
      - V(never) leaves all pods. A change that needs new pods is refused, and a changed template is left for later.
      - V(always) replaces all pods that are due, also for a change for which a restart of the process is enough.
    type: str
    choices: [auto, never, always]
    default: auto
  setting_needs:
    description:
      - The way in which a changed setting is applied, by the name of the setting or a pattern with an asterisk. It
        comes before the collection's own table of settings. The ways are V(dynamic), V(rolling), V(new_pod),
        V(coordinated) and V(never).
    type: dict
    default: {}
  announce:
    description: It has no effect for this system.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for an answer of OpenSearch and of the Kubernetes API, then for the cluster to be fit for the
        restart, and for the lock to be free.
    default: 120
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: >-
      The difference shows each member before and after, and the values of changed settings but for those that may be
      secrets; with O(state=begun) the settings put back.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.restart
  - stateful.upgrade.restart.configuration
  - stateful.upgrade.restart.licence
  - stateful.upgrade.task
  - stateful.upgrade.alerts
  - stateful.upgrade.runs
  - stateful.upgrade.runs.early
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
  - stateful.upgrade.opensearch.plan
  - stateful.upgrade.opensearch.run
  - stateful.upgrade.opensearch.consent
  - stateful.upgrade.opensearch.checks
seealso:
  - module: stateful.upgrade.process_restart
  - module: stateful.upgrade.upgrade_plan
"""

EXAMPLES = r"""
- name: Plan the restart of all members
  stateful.upgrade.restart_plan:
    namespace: search
    opensearch:
      hosts: [https://search.example.com:9200]
  register: plan

- name: Begin to carry it out
  stateful.upgrade.restart_plan:
    state: begun
    namespace: search
    confirmed: "{{ plan.digest }}"
  register: begun

- name: End the run
  stateful.upgrade.restart_plan:
    state: ended
    namespace: search
    lock: "{{ begun.lock }}"
    event: completed
"""

RETURN = r"""
verdict:
  description: Whether the restart may begin, with all refusals at once.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The version of each member, with a word for those that are to be restarted; empty with O(state=ended).
  returned: always
  type: dict
  sample: {data-0: 3.8.0, data-1: 3.8.0 (to restart)}
target_version:
  description: The version of all members.
  returned: unless O(state=ended)
  type: str
  sample: 3.8.0
cluster_uuid:
  description: The UUID of the cluster.
  returned: unless O(state=ended)
  type: str
  sample: Yq1Zp4oQSOu5mM0r9bJ2Mg
cluster_name:
  description: The name of the cluster.
  returned: unless O(state=ended)
  type: str
  sample: search
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
    - The same as that of M(stateful.upgrade.pool_order), and in C(by) V(process), V(pod) or V(removal). C(place) is the
      place of the batch in the whole restart, over all its runs, such as V(2/3).
  returned: unless O(state=ended)
  type: list
  elements: dict
members:
  description: Names of all members, of the pools and of the cluster.
  returned: unless O(state=ended)
  type: list
  elements: str
  sample: [data-0, data-1]
added:
  description: The members that are made before all batches, for O(configuration[].replicas).
  returned: unless O(state=ended)
  type: list
  elements: str
removed:
  description: The members that are removed after all other batches, each in one of its own, in their order.
  returned: unless O(state=ended)
  type: list
  elements: str
broken:
  description: Members of the pools that are not in the cluster.
  returned: unless O(state=ended)
  type: list
  elements: str
restart_request:
  description: The request as the run notes it in the cluster. C(base) is the digest of what is wanted alone.
  returned: unless O(state=ended)
  type: dict
  sample: {digest: p5f0c1d2e3a4, base: p1f0c33a9b21, replaced: [], completed: '', scheduled: []}
course:
  description:
    - The way of the run. V(nothing) means that no member is due, and V(dynamic) that the members take all changes while
      they run. With V(rolling) processes restart in batches, with V(replaced) at least one pod is replaced with them,
      and with V(coordinated) all processes stop before the first one starts.
  returned: unless O(state=ended)
  type: str
  sample: rolling
replaced:
  description: The members whose pods are replaced.
  returned: unless O(state=ended)
  type: list
  elements: str
changes:
  description: Each changed setting, without values, with the way that it needs and the members for which it changes.
  returned: unless O(state=ended)
  type: list
  elements: dict
  sample:
    - name: node.attr.rack
      way: rolling
      why: each member reads it when it starts
      source: ''
      members: pool data
template_changes:
  description:
    - Each changed part of the templates of pods that are replaced, such as C(resources of container opensearch),
      without values. It is empty if no template has changed, or the user may not read C(controllerrevisions).
  returned: unless O(state=ended)
  type: list
  elements: dict
plugins:
  description:
    - Whether plugins that were installed into running pods C(stay) in this run, and C(why), by pool. If they do, a
      change of plugins needs no new pods.
  returned: unless O(state=ended)
  type: dict
  sample:
    data: {stay: false, why: '/usr/share/opensearch/plugins is on no volume, so it is that of the image'}
licence_first:
  description: Whether the licence changes before the restarts; otherwise it changes after them, if at all.
  returned: unless O(state=ended)
  type: bool
  sample: false
asks_without_batches:
  description: Whether the run needs consent although no member goes, since the licence changes or members are made.
  returned: unless O(state=ended)
  type: bool
  sample: false
details: {description: Changed settings and sizes., returned: unless O(state=ended), type: list, elements: str}
outdated:
  description: Always empty. The members whose pods are replaced for a changed template are among RV(replaced).
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
  description: The same as that of M(stateful.upgrade.upgrade_plan).
  returned: with O(state=begun)
  type: dict
  sample: {persistent cluster.routing.allocation.enable: all}
kubernetes_nodes:
  {description: The Kubernetes node of each replaced pod., returned: if the user may list nodes, type: dict}
digest:
  description: The same as that of M(stateful.upgrade.pool_order).
  returned: unless O(state=ended)
  type: str
  sample: p5f0c1d2e3a4
lines: {description: The plan as text., returned: with O(state=planned), type: list, elements: str}
unit: {description: The word for what a batch takes down., returned: unless O(state=ended), type: str, sample: member}
deed: {description: V(upgrade) or V(restart)., returned: unless O(state=ended), type: str, sample: restart}
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
  description: Each act with its time.
  returned: always
  type: list
  elements: dict
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
from ..module_utils.restart.restart_plan import SYSTEM
from ..module_utils.run.runs import contract_of, work_of

CONTRACT = contract_of(SYSTEM)
run = work_of(SYSTEM)


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
