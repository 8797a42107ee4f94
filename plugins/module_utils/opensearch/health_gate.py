"""The work of the module `cluster_health_gate`: a check of the whole cluster at a moment of the upgrade."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..common.errors import refusal
from ..common.task import Outcome, Task, passed_or_raise
from ..common.verdict import State, Verdict, combine
from ..common.words import enumerate_few
from .absence import Absence
from .act.restricting import wait_proven
from .answering import gate_connection, old_address, wait_for_answers
from .gate import BEFORE_STOP, GATE, JOINED, Judged, scope_of, wait_at_gate
from .in_parts import IN_PARTS, in_parts
from .judge.back import judge_back
from .judge.checks import AFTER_UPGRADE, BEFORE_BATCH
from .judge.disk import ZONE
from .judge.gates import UPGRADED, Scope, judge_batch_known
from .member_list import Listed, list_members, refuse_unplaced
from .observe.client import OpenSearchClient, connect
from .observe.cluster import observe_members
from .observe.look import Look
from .observe.state import ClusterMember, ClusterState

CONTRACT = replace(GATE, argument_spec={**GATE.argument_spec, **IN_PARTS})


def run(task: Task) -> Outcome:
    """Look, judge and wait as asked. Allocation and votes are changed only before members stop, and if asked for."""
    nodes, params = task.params["kubernetes_nodes"], task.params
    if not nodes or params["moment"] not in {BEFORE_BATCH, BEFORE_STOP}:
        return _judged(task)
    if not params["namespace"]:
        said = "With kubernetes_nodes the members are found by their pods, and no namespace is given."
        raise refusal("namespace_not_given", said, "Give namespace.")
    there = members_on(task)
    while True:
        task.progress(f"On {enumerate_few(nodes)}: {enumerate_few(sorted(there.batch)) or 'no member of OpenSearch'}.")
        if params["moment"] == BEFORE_STOP and not there.batch:
            return Outcome(Verdict(), next="stop the batch", more={"going": []})
        own = {"batch": sorted(there.batch), "expected": sorted({*params["expected"], *there.expected})}
        outcome = _judged(replace(task, params={**params, **own}))
        if not outcome.verdict.passed:
            return outcome
        before, there = there, members_on(task)
        # Pods may have moved while the gate has waited.
        if there.batch <= before.batch:
            return outcome


@dataclass(frozen=True)
class MembersThere:
    """The members of a cluster, and those of them that run on some Kubernetes nodes."""

    expected: frozenset[str]
    batch: frozenset[str]


def members_on(task: Task) -> MembersThere:
    """The members by the option `kubernetes_nodes`, found by their pods in the option `namespace`.

    Raises:
        Refusal: OpenSearch or Kubernetes does not answer, or not as it should, or a member has no pod there.
    """
    nodes, listed = task.params["kubernetes_nodes"], placed_members(task)
    return MembersThere(
        frozenset(each.name for each in listed),
        frozenset(each.name for each in listed if each.kubernetes_node in nodes),
    )


def placed_members(task: Task) -> list[Listed]:
    """All members, each with its Kubernetes node.

    Raises:
        Refusal: see `members_on`.
    """

    def look() -> list[Listed]:
        found = list_members({**task.params, "zone_attribute": ZONE})
        refuse_unplaced(found, task.params["namespace"])
        return found

    return task.ask(look)


def _judged(task: Task) -> Outcome:
    scope = scope_of(task)
    last = scope.moment == AFTER_UPGRADE
    client = connect(gate_connection(task.params["opensearch"], last=last), task.params["kubernetes"])
    if scope.moment == JOINED:
        absence = Absence(client)
        members, back = task.wait(
            lambda: absence.look(scope.batch),
            lambda seen: judge_back(seen, scope.batch, scope.target, task.params["former_processes"]),
        )
        back = combine((back, wait_for_answers(task, scope.batch))) if back.passed else back
        return Outcome(back, before=_of_members(members), next=_next(scope, back), more=absence.as_result())
    if scope.moment in {BEFORE_BATCH, BEFORE_STOP} and (unexpected := scope.batch - scope.members):
        present = task.ask(lambda: observe_members(client, unexpected))
        passed_or_raise(judge_batch_known(present, unexpected, scope.members))
    if scope.moment == BEFORE_STOP:
        outcome = in_parts(task, client, task.params["batch"], partial(_before_stop, client, scope))[-1]
        going = list(task.params["batch"]) if outcome.verdict.passed else []
        return replace(outcome, changed=bool(task.journal.as_result()), more={"going": going})
    judged = wait_at_gate(task, client, scope)
    more = {"going": judged.going, "green_seconds": judged.green_seconds}
    verdict = combine((judged.verdict, old_address(task))) if last else judged.verdict
    return Outcome(verdict, before=_summary(judged.seen), next=_next(scope, verdict), more=more)


def _before_stop(
    client: OpenSearchClient, scope: Scope, task: Task, batch: Sequence[str], gate: Judged | None
) -> tuple[Outcome, Collection[str]]:
    """Prove the batch with allocation restricted, unless its gate found it upgraded outside of this run."""
    if gate is not None and any(reason.code == UPGRADED for reason in gate.verdict.reasons):
        return Outcome(gate.verdict, before=_of_members(_by_name(gate.seen.state))), batch
    state, proven, remarks = wait_proven(task, client, scope.members, batch, scope.policy)
    verdict = combine((proven, Verdict(remarks)))
    return Outcome(
        verdict, before=_of_members(_by_name(state)), next=_next(scope, proven)
    ), batch if proven.passed else ()


def _by_name(state: ClusterState) -> dict[str, ClusterMember]:
    return {member.name: member for member in state.members.values()}


def _summary(seen: Look) -> dict[str, Any]:
    state, health = seen.state, seen.health
    elected = state.members.get(state.elected or "")
    return {
        "status": health.status,
        **_of_members(_by_name(state)),
        "elected_manager": elected.name if elected else None,
        "shards": {
            "started": sum(copy.started for copy in state.copies),
            "initializing": health.initializing,
            "relocating": health.relocating,
            "unassigned": health.unassigned,
        },
        "cluster_uuid": state.uuid,
        "state_version": state.version,
    }


def _of_members(members: Mapping[str, ClusterMember]) -> dict[str, Any]:
    return {
        "members": {name: str(member.version) for name, member in members.items()},
        "processes": {name: member.ephemeral_id for name, member in members.items()},
    }


def _next(scope: Scope, verdict: Verdict) -> str:
    if scope.moment == BEFORE_STOP and verdict.state is State.WAITING:
        return "put allocation back, and begin again"
    if not verdict.passed:
        return "wait" if verdict.state.value == "waiting" else "fix what is refused"
    return {
        "before_upgrade": "begin the first batch",
        "before_batch": "restrict allocation and replace the batch",
        BEFORE_STOP: "stop the batch",
        JOINED: "put allocation back",
        "after_batch": "take the next batch",
        "after_upgrade": "nothing",
    }[scope.moment]
