"""The checks of a plan of OpenShift that need more than a look at its operators, pools and Kubernetes nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..common.release import release_in
from ..common.side_by_side import ParallelWork
from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine, refused
from ..common.words import enumerate_few
from ..draining.judge.forced_drains import rungs_in
from ..draining.observe.optional import asked
from ..draining.planned import PlannedDrains, judge_drains
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.rights import missing_rights, of_lock_and_record
from ..run.away_sets import AwaySets
from ..workloads.going_down import foreseen
from ..workloads.workload import is_asked
from . import health_checks
from .file_integrity import file_integrities, judge_there
from .judge.olm import judge_operators_of_olm
from .judge.removals import judge_removed
from .judge.validation import is_next_minor, judge_target
from .observe.acknowledgements import open_gates
from .observe.kinds import MACHINE_API, MASTER
from .observe.look import other_upgrader
from .observe.looking_at_target import chain_in, release_of
from .observe.minors import minors_between
from .observe.olm import operators_of_olm
from .observe.removed_apis import removed_apis
from .observe.state import OpenShift
from .observe.target import UpgradeTarget, stages
from .rights import CLUSTER_ROLE, FEDRAMP, SPARE_WORKERS


def judge_update(
    client: KubernetesClient, seen: OpenShift, hops: Sequence[UpgradeTarget], without: Collection[str]
) -> Verdict:
    """Whether the cluster may go to the target; for another minor version all acknowledgements have to be given.

    `hops` are the upgrades of the chain that are left, of which the last one leads to the target, and `without` the
    named steps that are left out.

    Raises:
        Refusal: the acknowledgements cannot be had for another cause than a missing right, or not be understood.
    """
    return combine(_judge_hop(client, stage, hop, without) for stage, hop in stages(seen, hops))


def _judge_hop(client: KubernetesClient, seen: OpenShift, target: UpgradeTarget, without: Collection[str]) -> Verdict:
    present = release_in(seen.version.present)
    if present is None or not is_next_minor(seen.version, target):
        return judge_target(seen, target, (), without)
    gates, remarks = asked(lambda: open_gates(client, present), "the acknowledgements that are missing")
    return combine((judge_target(seen, target, gates or (), without), Verdict(remarks)))


def preflight(task: Task, planned: Outcome) -> Iterator[ParallelWork]:
    """The rights, whether another operator makes the same upgrades, budgets, and APIs that the target has no more."""

    def rights(given: Task) -> Outcome:
        client, params = _looking(given)
        records = params["record_kept_in"] in {None, "kubernetes"}
        verdict = combine(
            (
                missing_rights(client, params["namespace"], of_lock_and_record(records=records)),
                missing_rights(client, "", (*CLUSTER_ROLE, *(FEDRAMP if planned.more["file_integrity"] else ()))),
                missing_rights(client, MACHINE_API, SPARE_WORKERS if params["extra_workers"] else ()),
            )
        )
        if verdict.passed and planned.more["file_integrity"]:
            verdict = combine((verdict, judge_there(file_integrities(client))))
        if verdict.passed and other_upgrader(client):
            said = "The managed-upgrade-operator is active in namespace openshift-managed-upgrade-operator."
            verdict = Verdict((refused("other_upgrader", said, "Scale its Deployment to 0, or upgrade by it."),))
        return Outcome(verdict)

    def removals(given: Task) -> Outcome:
        client, _params = _looking(given)
        present, target = (release_in(str(planned.more[name])) for name in ("deployed_version", "target_version"))
        if present is None or target is None or minors_between(present, target) < 1:
            return Outcome(Verdict())
        apis, remarks = asked(lambda: removed_apis(client), "the APIs in use that the target no longer has")
        return Outcome(combine((judge_removed(apis or (), present, target), Verdict(remarks))))

    if task.params["through"]:
        yield ParallelWork(partial(_operators_of_olm, planned), dict(task.params))
    checks: list[Callable[[Task], Outcome]] = [rights, removals, partial(_workloads, planned)]
    for run in [*checks, *([_replacing] if planned.more["batches"] else [])]:
        yield ParallelWork(run, dict(task.params))


def _workloads(planned: Outcome, task: Task) -> Outcome:
    client, params = _looking(task)
    # In a chain later batches have the same members.
    firsts = dict[tuple[str, ...], Mapping[str, Any]]()
    for each in planned.more["batches"]:
        firsts.setdefault(tuple(each["members"]), each)
    batches = {each["name"]: each["members"] for each in firsts.values()}
    workers = {each["name"]: each["members"] for each in firsts.values() if MASTER not in each["pools"]}
    first = next((name for name in batches if name not in workers), None)
    together = planned.more["together_with_it"] if first else ()
    apart = {first: AwaySets.of_result(planned.more["away_with_it"])} if first else {}
    # The pods of other pools that go with the control plane move, too.
    moving = {**{f"{first} ({enumerate_few(names)})": names for names in together}, **workers}
    # The topology of the control plane is the same for all of them.
    undrained = frozenset(planned.more["not_drained"])
    drains = PlannedDrains(batches, {} if undrained else moving, apart, undrained)
    rungs = rungs_in(params["allow_forced_drains"])
    drained = judge_drains(client, drains, rungs, is_asked=partial(is_asked, params))
    return Outcome(combine((drained, foreseen(task, batches, apart, planned.more["only_one"]).verdict)))


def _operators_of_olm(planned: Outcome, task: Task) -> Outcome:
    client, params = _looking(task)
    present = release_in(str(planned.more["deployed_version"]))
    hops = [each for each in map(release_of, chain_in(params)) if present is None or present < each]
    if len(hops) < 2:
        return Outcome(Verdict())
    found, remarks = asked(lambda: operators_of_olm(client), "the operators of OLM that later versions wait for")
    return Outcome(combine((judge_operators_of_olm(found or (), hops), Verdict(remarks))))


def _replacing(task: Task) -> Outcome:
    client, _params = _looking(task)
    return Outcome(health_checks.planned(client))


def _looking(task: Task) -> tuple[KubernetesClient, Mapping[str, Any]]:
    task.may_look()
    return connect(task.params["kubernetes"]), task.params
