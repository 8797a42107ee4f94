"""Work of others in the cluster that a restart would spoil: running snapshots and long tasks. Pure.

A member that stops has not written all its parts of a snapshot, so that the snapshot ends PARTIAL. A
reindexing or by-query task ends with the member that coordinates it, or with a scroll on the batch; a force-merge or
a resize starts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...common.verdict import Reason, as_verdict, waiting
from ...common.words import enumerate_few
from ..observe.cluster_snapshot import PREFIX
from ..observe.state import ClusterState, RunningSnapshot
from ..observe.tasks import LONGEST_DESCRIPTION, LongTask


@as_verdict
def judge_tasks(tasks: Iterable[LongTask]) -> Iterator[Reason]:
    """Whether no task is under way that a restart would end."""
    for task in sorted(tasks, key=lambda task: task.id):
        yield waiting(
            "long_task",
            f"A task that a restart would end runs on {task.member} ({task.kind}, task {task.id}):"
            f" {task.description[:LONGEST_DESCRIPTION].rstrip('.')}.",
            f"Let it end, or end it with POST _tasks/{task.id}/_cancel. To continue anyway, set skip_checks: [tasks].",
            about=task.id,
        )


@as_verdict
def judge_snapshots(state: ClusterState, takes: str = "") -> Iterator[Reason]:
    """Whether no snapshot is being taken. That of the upgrade itself, in the repository `takes`, is no hindrance: a
    killed run has started it, and the run waits for it before its first batch."""
    own = f"{takes}/{PREFIX}" if takes else None
    for snapshot in state.snapshots:
        if own is not None and snapshot.name.startswith(own):
            continue
        message = f"Snapshot {snapshot.name} is being taken: {_left(state, snapshot.unfinished)}."
        yield waiting("snapshot_running", message, _remedy(snapshot), about=snapshot.name)


@as_verdict
def judge_snapshots_of(state: ClusterState, down: frozenset[str]) -> Iterator[Reason]:
    """Whether no snapshot still needs a shard from the members `down` (ids). Others can go on while they are away."""
    for snapshot in state.snapshots:
        needed = [part for part in snapshot.unfinished if part[2] in down]
        if needed:
            message = f"Snapshot {snapshot.name} is being taken from a member of the batch: {_left(state, needed)}."
            yield waiting("snapshot_running", message, _remedy(snapshot), about=snapshot.name)


def _left(state: ClusterState, parts: Sequence[tuple[str, int, str | None]]) -> str:
    if not parts:
        return "it is being finished"
    holders = {member for _index, _shard, member in parts if member}
    members = {state.members[identity].name for identity in holders & state.members.keys()}
    where = f" on {enumerate_few(members)}" if members else ""
    return f"{enumerate_few(f'{index}[{shard}]' for index, shard, _member in parts)} still to be written{where}"


def _remedy(snapshot: RunningSnapshot) -> str:
    repository, _slash, name = snapshot.name.partition("/")
    return (
        f"Let it end, or end it with DELETE _snapshot/{repository}/{name}. To continue anyway, which leaves it"
        " PARTIAL, set skip_checks: [snapshots]."
    )
