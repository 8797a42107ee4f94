"""Databases on Kubernetes nodes of which some are away at once, each time others, without a gate in between.

All that may be away at once is judged on each look, however much that is: the requests of a gate are those for one
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..common.task import Outcome, Task
from ..common.verdict import Reason, State, Verdict, as_verdict, waiting
from ..common.words import counted, enumerate_few
from ..longhorn import health_gate as longhorn
from ..longhorn.judge.away import deciding_sets as sets_of_volumes
from ..longhorn.judge.gate import may_go_down
from ..longhorn.observe.state import Longhorn
from ..opensearch.gate import scope_of, wait_at_gate
from ..opensearch.health_gate import placed_members
from ..opensearch.judge.away import deciding_sets
from ..opensearch.judge.gates import Scope, judge
from ..opensearch.observe.client import connect
from ..opensearch.observe.look import Look
from ..run.away_sets import AwaySets

NAMED = 3
"""The remarks of one kind that are made."""


def members_spared(away: AwaySets, task: Task) -> Outcome:
    """Wait until an OpenSearch can spare each of these sets. The task has the arguments of its gate.

    Raises:
        Refusal: OpenSearch or Kubernetes does not answer, or not as it should, or a member has no pod there.
    """
    params, listed = task.params, placed_members(task)
    client = connect(params["opensearch"], params["kubernetes"])
    while True:
        places = {each.name: each.kubernetes_node for each in listed}
        batch = sorted(name for name, place in places.items() if place in away.names)
        task.progress(f"On {enumerate_few(sorted(away.names))}: {enumerate_few(batch) or 'no member of OpenSearch'}.")
        given = replace(task, params={**params, "batch": batch, "expected": sorted({*params["expected"], *places})})

        verdict = wait_at_gate(given, client, scope_of(given), partial(_judged, away, places)).verdict
        if not verdict.passed:
            return Outcome(verdict)
        listed = placed_members(task)
        # Pods may have moved while the gate has waited.
        if all(places.get(each.name) == each.kubernetes_node for each in listed if each.kubernetes_node in away.names):
            return Outcome(verdict)


def _judged(away: AwaySets, places: Mapping[str, str], seen: Look, scope: Scope) -> Verdict:
    def of(nodes: Collection[str]) -> Verdict:
        going = frozenset(name for name, place in places.items() if place in nodes)
        return judge(seen, replace(scope, batch=going))

    return judge_each(deciding_sets(seen.state, places, away), of)


def volumes_spared(away: AwaySets, task: Task) -> Outcome:
    """Wait until the volumes of Longhorn can spare each of these sets. The task has the arguments of its gate.

    Raises:
        Refusal: the Kubernetes API does not answer, or not as it should.
    """

    def judged(seen: Longhorn, _nodes: Collection[str], expected: Collection[str]) -> Verdict:
        return judge_each(sets_of_volumes(seen, away), lambda nodes: may_go_down(seen, nodes, expected))

    return longhorn.run(task, judged)


@as_verdict
def judge_each(sets: Iterable[Collection[str]], judge_set: Callable[[Collection[str]], Verdict]) -> Iterator[Reason]:
    """Whether each set passes. A refused one decides, or else the first that waits. Without any set, nothing goes.

    Remarks of one kind name the first sets that have them.
    """
    waits, remarks = tuple[Reason, ...](), dict[str, dict[str, Reason]]()
    for nodes in [*sets] or [()]:
        verdict = judge_set(nodes)
        if verdict.passed:
            for each in verdict.reasons:
                remarks.setdefault(each.code, {})[each.message] = each
            continue
        found = (*verdict.reasons, *([_away_at_once(nodes, verdict.state)] if len(nodes) > 1 else []))
        if verdict.state is State.REFUSED:
            yield from found
            return
        waits = waits or found
    for same in remarks.values():
        yield from _first_of([*same.values()])
    yield from waits


def _first_of(remarks: Sequence[Reason]) -> Iterator[Reason]:
    *shown, last = remarks[:NAMED]
    yield from shown
    others = len(remarks) - NAMED
    more = f" The same is true of {counted(others, 'other set')} of Kubernetes nodes." if others > 0 else ""
    yield replace(last, message=f"{last.message}{more}")


def _away_at_once(nodes: Collection[str], state: State) -> Reason:
    said = f"Kubernetes nodes {enumerate_few(nodes)} may be away at once, and no gate is asked in between."
    remedy = "Move members to other Kubernetes nodes, or give their pools batches of their own (see the plan)."
    return replace(waiting("away_at_once", said, remedy), state=state)
