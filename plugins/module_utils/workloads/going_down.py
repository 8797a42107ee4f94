"""Databases on Kubernetes nodes that go down: asked, made ready, checked until they are whole, and put back.

The order around a batch is the same as when a run on the database itself replaces pods:

    asked    every shard keeps a started copy outside of the batch, and every quorum its majority
    ready    flush, the elected manager hands over, allocation is restricted with its undo in the same request
    (the Kubernetes nodes are drained, worked on, and come back)
    rejoined its members are in the cluster as other processes, and the restriction is put back
    whole    every shard that can be started is, and every volume healthy

A member is on the batch if its pod is. Longhorn needs no act of its own: the engine of a volume moves with the evicted
pod, and the drain waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.task import Outcome, Task, attempt
from ..common.verdict import Reason, State, Verdict, combine, refused, remark
from ..common.waiting import FIRST_ANSWER
from ..common.words import unique
from ..kubernetes.client import connect as kubernetes
from ..longhorn import health_gate as longhorn
from ..longhorn.judge.away import deciding_sets as sets_of_volumes
from ..longhorn.judge.gate import may_go_down
from ..longhorn.observe.kinds import NAMESPACE as OF_LONGHORN
from ..longhorn.observe.look import look as look_at_longhorn
from ..opensearch import health_gate
from ..opensearch.act import allocation
from ..opensearch.gate import BEFORE_STOP, JOINED
from ..opensearch.judge.away import deciding_sets
from ..opensearch.judge.checks import AFTER_BATCH, BEFORE_BATCH
from ..opensearch.judge.policy import policy_of
from ..opensearch.judge.safety import judge_batch, judge_consent
from ..opensearch.observe.client import connect
from ..opensearch.observe.cluster import observe
from ..opensearch.shard_allocation import RECOVERIES
from ..run.away_sets import AwaySets
from .away import members_spared, volumes_spared
from .workload import Workload, workloads_in

SLEEP = 0.25
"""Seconds between two looks, as at the gates of an upgrade."""
OF_RUN = ("kubernetes", "lock", "wait", "wait_timeout")
"""The options of the task that are those of every workload."""
_CONSENTS = re.compile(r"(?<![\w.])(allow_(?:single_copy|quorum_loss|red_indices))\b")
NEEDS_ANOTHER = ("every_copy_in_batch", "elected_manager_not_alone", "last_replica", "role_in_batch")
"""The codes of refusals that no consent lifts, but another Kubernetes node."""
Batches = Mapping[str, Collection[str]]
"""The Kubernetes nodes of each batch by its name."""


def asked(task: Task, *, hands_over: bool = True, apart: AwaySets | None = None) -> Outcome:
    """Wait until all workloads can spare the Kubernetes nodes of the option `batch`. Nothing is changed.

    `hands_over` says whether an elected manager there hands over before it goes. With `apart` each of these sets has
    to be spared, and not the batch at once.
    """
    batch = task.params["batch"]

    def ask(given: Task, workload: Workload) -> Outcome:
        own = {"moment": BEFORE_BATCH, "kubernetes_nodes": [*batch]}
        if workload.searches:
            gate = health_gate.run if apart is None else partial(members_spared, apart)
            params = arguments_of(given, workload, **own, hands_over=hands_over)
        else:
            gate = longhorn.run if apart is None else partial(volumes_spared, apart)
            params = _arguments_of_longhorn(given, workload, **own)
        return Outcome(gate(replace(given, params=params)).verdict)

    outcome = _of_each(task, ask)
    if outcome.verdict.state is not State.REFUSED or apart or len(batch) == 1:
        return outcome
    said = "If members or volumes have moved since the plan, batches of several Kubernetes nodes may not fit any more."
    again = remark("batch_of_plan", said, "Run the playbook again: it plans batches by the places that they have then.")
    return replace(outcome, verdict=combine((outcome.verdict, Verdict((again,)))))


def ready(task: Task) -> Outcome:
    """Make the workloads ready for the batch to go down now. `workloads` of the result has the members that go."""
    found: dict[str, Any] = {}

    def make_ready(given: Task, workload: Workload) -> Outcome:
        if not workload.searches:
            return _longhorn(given, workload, BEFORE_BATCH)
        outcome = _restricted(given, workload)
        if outcome.verdict.passed and outcome.more["going"]:
            found[workload.title] = {
                "going": outcome.more["going"],
                "expected": sorted(outcome.before["members"]),
                "processes": outcome.before["processes"],
            }
        return outcome

    return replace(_of_each(task, make_ready, until_failure=True), more={"workloads": found})


def rejoined(task: Task) -> Outcome:
    """Put allocation back where all members that went have joined again.

    It waits for them unless `wait` is false. After the drain, members that could move to other Kubernetes nodes may be
    back at once, but those with disks on the batch are not.
    """

    def back(given: Task, workload: Workload) -> Outcome:
        proof = given.params["proof"].get(workload.title)
        if proof is None:
            return Outcome(Verdict())
        joined = _gate(given, workload, moment=JOINED, batch=proof["going"], former_processes=proof["processes"])
        return _allocation(given, workload, state="restored", part="batch") if joined.verdict.passed else joined

    done = _of_each(task, back)
    waits = task.params["wait"] or done.verdict.state is State.REFUSED
    return done if waits else replace(done, verdict=Verdict())


def whole(task: Task) -> Outcome:
    """Wait until the workloads whose members went are whole again, and all volumes near the batch."""

    def wait_whole(given: Task, workload: Workload) -> Outcome:
        if not workload.searches:
            return _longhorn(given, workload, AFTER_BATCH)
        proof = given.params["proof"].get(workload.title)
        if proof is None:
            return Outcome(Verdict())
        return _gate(given, workload, moment=AFTER_BATCH, batch=proof["going"], expected=proof["expected"])

    return _of_each(task, wait_whole)


def put_back(task: Task) -> Outcome:
    """Put back everything that runs have changed in each workload, even if another workload fails."""

    def restored(given: Task, workload: Workload) -> Outcome:
        return _allocation(given, workload, state="restored") if workload.searches else Outcome(Verdict())

    return _of_each(task, restored)


def foreseen(task: Task, batches: Batches, apart: Mapping[str, AwaySets] | None = None, only_one: str = "") -> Outcome:
    """Whether a plan with these batches can be carried out as the workloads are now.

    `apart` has the sets of those batches whose Kubernetes nodes are not away at once. `only_one` is the Kubernetes node
    of a cluster that has no other one, so that what it cannot spare now it never can.
    """

    def look(given: Task, workload: Workload) -> Outcome:
        reasons_of = _foreseen if workload.searches else _foreseen_volumes
        reasons = tuple(reasons_of(given, workload, batches, apart or {}))
        return Outcome(Verdict(_nowhere_else(reasons, only_one) if only_one else reasons))

    return _of_each(replace(task, first_answer=FIRST_ANSWER), look)


def _foreseen(task: Task, workload: Workload, batches: Batches, apart: Mapping[str, AwaySets]) -> Iterator[Reason]:
    params = arguments_of(task, workload, moment=BEFORE_BATCH)
    policy = policy_of(params, hands_over=True)
    listed = health_gate.placed_members(replace(task, params=params))
    places = {each.name: each.kubernetes_node for each in listed}
    members = {
        name: there
        for name, nodes in batches.items()
        if (there := [each for each, place in places.items() if place in nodes])
    }
    state = task.ask(lambda: observe(connect(params["opensearch"], params["kubernetes"])))
    going = unique(each for names in members.values() for each in names)
    yield from judge_consent(state, going, policy).reasons
    for name, names in members.items():
        sets = [batches[name]] if name not in apart else deciding_sets(state, places, apart[name])
        groups = [[each for each in names if places[each] in nodes] for nodes in sets]
        verdicts = [judge_batch(state, each, policy) for each in groups if len(each) > 1]
        yield from _not_now(name, [each for each in verdicts if each.state is State.REFUSED])
    number = len(members)
    asked_before = (
        f"{number} batches, and are asked before each" if number > 1 else "one batch, and are asked before it"
    )
    said = f"{len(going)} members are on the Kubernetes nodes of {asked_before}."
    none = "No member is on a Kubernetes node of a batch, so none is asked."
    yield remark("workload_asked", said if number else none)
    yield from (_asked_once(name) for name in members if name in apart and not apart[name].has(batches[name]))


def _nowhere_else(reasons: Sequence[Reason], only_one: str) -> tuple[Reason, ...]:
    """The reasons with one refusal in the place of all that name other Kubernetes nodes as the remedy."""
    stuck = [each for each in reasons if each.code in NEEDS_ANOTHER]
    if not stuck:
        return tuple(reasons)
    said = f"It is on {only_one}, the only Kubernetes node, and goes down with it. {stuck[0].message}"
    remedy = "Leave it out of upgrade_workloads: it is away while that Kubernetes node restarts."
    return refused("only_kubernetes_node", said, remedy), *(each for each in reasons if each not in stuck)


def _not_now(name: str, verdicts: Sequence[Verdict]) -> Iterator[Reason]:
    """The remarks on a batch that could not go; of many sets that are refused for the same cause on the first one."""
    said = set[str]()
    for verdict in verdicts:
        found = [each for each in verdict.reasons if each.code not in said]
        said.update(each.code for each in found)
        # Members may be elsewhere by then, and the gate asks again.
        yield from (remark(each.code, f"Batch {name} could not go now: {each.message}", each.remedy) for each in found)


def _asked_once(name: str) -> Reason:
    said = (
        f"The Kubernetes nodes of batch {name} go without a gate in between: those that may be away at once have to be"
        " spared together, and that is asked only before the first of them."
    )
    return remark("workload_asked_once", said, "Give the members a PodDisruptionBudget, which each eviction respects.")


def _foreseen_volumes(
    task: Task, workload: Workload, batches: Batches, apart: Mapping[str, AwaySets]
) -> Iterator[Reason]:
    """The volumes that will never let a batch go. Any other hindrance may have passed by then."""
    client, namespace = kubernetes(task.params["kubernetes"]), workload.namespace or OF_LONGHORN
    seen = task.ask(lambda: look_at_longhorn(client, namespace))
    for name, nodes in batches.items():
        for each in sets_of_volumes(seen, apart.get(name) or AwaySets.at_once(nodes)):
            reasons = may_go_down(seen, each, ()).reasons
            yield from (each for each in reasons if (each.state, each.code) == (State.REFUSED, "last_replica"))


def _of_each(task: Task, work: Callable[[Task, Workload], Outcome], *, until_failure: bool = False) -> Outcome:
    """The verdict of the same work on each workload, one after the other, with its name before each reason.

    Once one has failed, the others are asked without waiting, or with `until_failure` not at all.
    """
    verdicts, part = list[Verdict](), task.part()
    given = part
    for workload in workloads_in(task.params["workloads"]):
        verdict = _named(workload, attempt(partial(_done, work, workload), given).verdict)
        verdicts.append(verdict)
        if not verdict.passed:
            if until_failure:
                break
            given = replace(part, params={**task.params, "wait": False})
    return Outcome(combine(verdicts), changed=bool(part.journal.as_result()))


def _done(work: Callable[[Task, Workload], Outcome], workload: Workload, task: Task) -> Outcome:
    return work(task, workload)


def _named(workload: Workload, verdict: Verdict) -> Verdict:
    return Verdict(
        tuple(
            replace(each, message=f"{workload.title}: {each.message}", remedy=_remedy_of(each))
            for each in verdict.reasons
        )
    )


def _remedy_of(reason: Reason) -> str:
    """The remedy in the words of a run on Kubernetes nodes, whose batches follow from no elected manager."""
    if (reason.state, reason.code) == (State.REFUSED, "elected_manager_not_alone"):
        return "Let fewer Kubernetes nodes go at once, or move manager-eligible members to others."
    return _CONSENTS.sub(r"workloads.\1", reason.remedy)


def arguments_of(task: Task, workload: Workload, **own: Any) -> dict[str, Any]:
    """The arguments of the gate of an OpenSearch."""
    shared = {name: task.params[name] for name in OF_RUN}
    given = {**shared, "wait_sleep": SLEEP, "opensearch": workload.connection, **workload.consents}
    return {**health_gate.CONTRACT.arguments(given, **own), "namespace": workload.namespace}


def _gate(task: Task, workload: Workload, **own: Any) -> Outcome:
    return health_gate.run(replace(task, params=arguments_of(task, workload, **own)))


def _longhorn(task: Task, workload: Workload, moment: str) -> Outcome:
    own = {"moment": moment, "kubernetes_nodes": [*task.params["batch"]]}
    return longhorn.run(replace(task, params=_arguments_of_longhorn(task, workload, **own)))


def _arguments_of_longhorn(task: Task, workload: Workload, **own: Any) -> dict[str, Any]:
    return {**arguments_of(task, workload, **own), "namespace": workload.namespace or OF_LONGHORN}


def _restricted(task: Task, workload: Workload) -> Outcome:
    """Flush the indices on the batch, then prove it with allocation restricted, immediately before it goes."""
    nodes, patience = task.params["batch"], task.params["wait_timeout"]
    there = health_gate.members_on(
        replace(task, params=arguments_of(task, workload, moment=BEFORE_STOP, kubernetes_nodes=nodes))
    )
    if there.batch:
        _allocation(task, workload, state="prepared", batch=sorted(there.batch), rebalance="none")
    gate = health_gate.CONTRACT.argument_spec["gate"]["options"]
    again = {**{name: each.get("default") for name, each in gate.items()}, "wait_timeout": patience}
    return _gate(
        task,
        workload,
        moment=BEFORE_STOP,
        kubernetes_nodes=nodes,
        hands_over=True,
        allocation="restrict",
        gate=again,
    )


def _allocation(task: Task, workload: Workload, **own: Any) -> Outcome:
    given = {**arguments_of(task, workload), "take_over": task.params["take_over"]}
    params = allocation.CONTRACT.arguments(given, recoveries=RECOVERIES["default"], **own)
    return allocation.carry_out(replace(task, params=params), connect(params["opensearch"], params["kubernetes"]))
