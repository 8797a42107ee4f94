"""The work of the module `pod_ondelete_roll`: replace the pods of a batch, proven on fresh state before the first.

The side of Kubernetes is in `..pools.pod_roll`, the questions to OpenSearch are in `.batch_proof`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..common.errors import Refusal, Unreachable
from ..common.task import Contract, Outcome, Task
from ..common.verdict import State, Verdict, combine, refused
from ..common.words import enumerate_few
from ..kubernetes import client as kubernetes
from ..kubernetes.state import Pod
from ..pools.pod_roll import Questions, roll
from ..pools.replacement import NEVER_STARTED
from ..run.begin_and_end import part_of
from . import shard_allocation
from .absence import worst_of
from .answering import wait_for_answers
from .batch_proof import OF_BATCH, BatchProof
from .gate import SELECTION, Judged
from .in_parts import IN_PARTS, in_parts
from .judge.going_back import with_former_version
from .judge.upgrade_path import target_of
from .observe.client import OpenSearchClient, connect
from .observe.version import Version

CONTRACT = Contract(
    argument_spec={
        **OF_BATCH,
        "target_version": {"type": "str"},
        "green_seconds": {"type": "int"},
        "replace_marked": {"type": "list", "elements": "str", "default": []},
        "going": {"type": "list", "elements": "str"},
        "kubernetes_nodes": {"type": "list", "elements": "str", "default": []},
        **IN_PARTS,
        **SELECTION,
    }
)


def run(task: Task, before: Callable[[Pod], None] = lambda _pod: None) -> Outcome:
    """Replace the batch. Members that already run the new revision and are in the cluster are left alone.

    `before` is called immediately before each pod is deleted.
    """
    params, going = task.params, task.params["going"] or task.params["batch"]
    if task.check_mode and task.params["gate"]:
        return part_of(task, shard_allocation.CONTRACT, shard_allocation.run, state="restricted", batch=going)
    search = connect(task.params["opensearch"], task.params["kubernetes"])

    def go(task: Task, names: Sequence[str], gate: Judged | None) -> tuple[Outcome, Collection[str]]:
        own = {"batch": [*names], **({} if gate is None else {"green_seconds": None})}
        outcome = _replace(replace(task, params={**task.params, **own}), search, before)
        gone = [each["name"] for each in outcome.more["members"] if each["action"] != "untouched"]
        if outcome.verdict.passed:
            return outcome, names
        if params["kubernetes_nodes"] and gone and outcome.verdict.state is State.WAITING:
            return replace(outcome, verdict=combine((outcome.verdict, _in_halves(gone, names)))), gone
        return outcome, gone

    return together(in_parts(task, search, going, go))


def _in_halves(gone: Collection[str], names: Collection[str]) -> Verdict:
    """The refusal if some of a batch stay up: those that went come back only once their node is uncordoned."""
    left = [name for name in names if name not in gone]
    reason = refused(
        "node_half_empty",
        f"{enumerate_few(gone)} went, and it could no longer be proven that {enumerate_few(left)} may go too, so the"
        " Kubernetes node cannot be emptied.",
        "Fix the cause, then run again: the run uncordons the node, and the next one empties it.",
    )
    return Verdict((reason,))


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a batch that went in parts: the verdict of the last one, and the result of each member once."""
    last, parts = outcomes[-1], [outcome for outcome in outcomes if "members" in outcome.more]
    members = {each["name"]: each for outcome in parts for each in outcome.more["members"]}
    finished = [each for outcome in parts for each in outcome.more["members"] if each["action"] != "untouched"]
    members |= {each["name"]: each for each in finished}
    return replace(
        last,
        changed=any(outcome.changed for outcome in outcomes),
        before=_pods([outcome.before for outcome in reversed(parts)]),
        after=_pods([outcome.after or {} for outcome in parts]),
        more={**last.more, "members": list(members.values()), **worst_of(outcome.more for outcome in parts)},
    )


def _pods(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The revisions of several parts, of which the last one counts."""
    merged: dict[str, Any] = {}
    for each in found:
        merged = {**merged, **each, "pods": {**merged.get("pods", {}), **each.get("pods", {})}}
    return merged


def _replace(task: Task, search: OpenSearchClient, before: Callable[[Pod], None]) -> Outcome:
    """Replace one part of the batch."""
    params = task.params
    target = target_of(params["target_version"]) if params["target_version"] else None
    batch = BatchProof(task, search, target, loses_data=True)
    leaves = frozenset(params["kubernetes_nodes"])
    early = batch.early if params["until"] == "joined" else None
    questions = Questions(
        batch.proof,
        batch.joined,
        early,
        batch.prepare,
        batch.in_vain,
        batch.again,
        leaves=leaves,
        marked=lambda pod: (
            pod.kubernetes_node in leaves or any(pod.annotations.get(key) for key in params["replace_marked"])
        ),
        # A member that is brought back gets what its pool has, whatever an earlier run has set.
        as_set=target is not None,
        before=before,
    )
    cluster = kubernetes.connect(params["kubernetes"])
    outcome = roll(task, cluster, params["namespace"], params["pools"], params["batch"], questions)
    members = _kept_by_another(outcome.more["members"], batch)
    passed = outcome.verdict.passed and not leaves
    gone = [each["name"] for each in members if each["action"] != "untouched"] if passed else []
    return replace(
        outcome,
        verdict=combine(
            (_with_former_version(outcome.verdict, batch, target), _at_new_address(task, gone), Verdict(batch.remarks))
        ),
        more={**outcome.more, "members": members, **batch.absence.as_result()},
    )


def _with_former_version(verdict: Verdict, batch: BatchProof, target: Version | None) -> Verdict:
    """The verdict with the way back, if there is one. A look that is not answered names none."""
    if target is None or verdict.state is not State.REFUSED:
        return verdict
    try:
        return with_former_version(verdict, NEVER_STARTED, batch.running(), target)
    except (Refusal, Unreachable):
        return verdict


def _at_new_address(task: Task, names: Collection[str]) -> Verdict:
    """Whether the members answer at the new addresses; a refusal leaves the results of the roll as they are."""
    try:
        return wait_for_answers(task, names)
    except Refusal as error:
        return task.verdict_of(error)


def _kept_by_another(members: Sequence[Mapping[str, Any]], batch: BatchProof) -> list[dict[str, Any]]:
    """The results of the members. `kept` says that another has upgraded one, so its version must be seen to be new.

    The pod of one that is not upgraded is as its pool wants it, too, where something has put the image of the pool
    back: that member was not touched.
    """
    kept = [each["name"] for each in members if each["action"] == "kept"]
    try:
        upgraded = batch.on_target(kept) if kept else frozenset[str]()
    except (Refusal, Unreachable):
        upgraded = frozenset()
    return [
        {**each, "action": "untouched"} if each["action"] == "kept" and each["name"] not in upgraded else {**each}
        for each in members
    ]
