"""The number of replicas that indices had before a run: what is still the run's, and what another has changed. Pure.

An index is left alone if it is gone, was made again under its name, or has another number now: index management (ILM,
ISM) and people may set one at any time. Only the two settings of the run are put back, each by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ...run.undo.undo import Change, Undo, left_alone
from ..observe.index_replicas import EXPAND, NEVER, NUMBER, IndexReplicas


@dataclass(frozen=True)
class ReplicasBack:
    """The changes of replicas by their fate."""

    ours: tuple[Change, ...] = ()
    """Still in force as the run made them."""
    others: tuple[Change, ...] = ()
    """Of indices to which another has given other values since."""

    @property
    def names(self) -> list[str]:
        """The indices with a change that is to be put back."""
        return sorted({change.path[0] for change in self.ours})

    def values(self, name: str) -> dict[str, str | None]:
        """The settings of that index as they were before."""
        return {change.name: change.was for change in self.ours if change.path[0] == name}


def raising_of(index: IndexReplicas) -> list[Change]:
    """The changes that give an index one replica."""
    found = [Change((index.name, index.uuid, NUMBER), index.number, "1")]
    if index.expand not in NEVER:
        found.append(Change((index.name, index.uuid, EXPAND), index.expand, "false"))
    return found


def fate_of(undo: Undo, present: Mapping[str, IndexReplicas]) -> ReplicasBack:
    """What becomes of each change. Those of indices that are as they were, or gone, are in neither list."""
    ours: list[Change] = []
    others: list[Change] = []
    for change in undo.changes:
        name, uuid, setting = change.path
        index = present.get(name)
        if index is None or index.uuid != uuid or index.at(setting) == change.was:
            continue
        follows = index.expand not in NEVER
        is_ours = change.is_ours(index.at(setting)) and not follows
        (ours if is_ours else others).append(change)
    return ReplicasBack(tuple(ours), tuple(others))


def alone_remarks(undo: Undo, back: ReplicasBack, present: Mapping[str, IndexReplicas]) -> tuple[Reason, ...]:
    """The remarks on settings that another has changed since."""
    return tuple(
        left_alone(undo.writer, each, f"{each.name} of index {each.path[0]}", present[each.path[0]].at(each.name))
        for each in back.others
    )


@as_verdict
def judge_copied(undo: Undo, present: Mapping[str, IndexReplicas]) -> Iterator[Reason]:
    """The remarks on indices that were made of one with a replica of the run, by a shrink, split or clone, and have got
    one with its settings. It is not known whether someone wants that replica, so it stays."""
    raised = {change.path[1]: change for change in undo.changes if change.name == NUMBER}
    for index in sorted(present.values(), key=lambda each: each.name):
        change = raised.get(index.source)
        if change is not None and change.is_ours(index.number) and index.expand in NEVER:
            yield remark(
                "replica_copied",
                f"Index {index.name} was made of {change.path[0]} (by a shrink, split or clone), to which run"
                f" {undo.writer.run} had given a replica, and has a replica, too. It stays.",
                f'If it is to have none, send PUT {index.name}/_settings with {{"{NUMBER}": "{change.was}"}}.',
            )


@as_verdict
def judge_safe(names: Collection[str]) -> Iterator[Reason]:
    """Whether no index is to lose its replica while a primary of it (`names`) is not started."""
    if names:
        yield waiting(
            "replicas_needed",
            f"The replica of the upgrade is kept until the primary is started: {enumerate_few(names)}.",
            "Bring the missing member back, then settle.",
        )


@as_verdict
def judge_left(undo: Undo, names: Collection[str], said: Mapping[str, str]) -> Iterator[Reason]:
    """The refusals for indices whose replicas could not be put back. `said` has the words of the server."""
    for name in sorted(names):
        cause = said.get(name, "the server has taken the change and shows the same values")
        yield refused(
            "replica_stays",
            f"Index {name} keeps the replica that run {undo.writer.run} has given it: {cause}.",
            f"Fix the cause and settle, or send PUT {name}/_settings with the former values, which the undo has.",
        )


@as_verdict
def judge_kept(names: Collection[str], *, reported: bool) -> Iterator[Reason]:
    """The remark on indices whose replica stays, since a later run of the upgrade uses it."""
    if reported:
        yield remark(
            "replicas_stay",
            f"Until the upgrade is completed, aborted or settled, these indices keep the replica that it has given"
            f" them: {enumerate_few(names)}.",
        )
