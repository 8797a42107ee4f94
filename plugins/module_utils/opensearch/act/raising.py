"""Replicas for indices that have none, for the time of a run, and back to what was before.

The undo is written first, in a cluster setting of its own. So whenever a run is killed, the cluster says what to put
back. The server has no conditional change of index settings, so they are read again immediately before each
change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...common.arguments import Options
from ...common.errors import Refusal, Unreachable
from ...common.task import Task
from ...common.verdict import Reason, State, Verdict, combine, refused
from ...run.lock.lock_watch import Writers, writer_of
from ...run.undo.undo import Undo, document_of
from ..judge.index_names import IndexNames, index_names
from ..judge.replicas import (
    Raising,
    RaisingLook,
    judge_raised,
    judge_raising,
    not_safe_to_lower,
    representatives,
    single_indices,
)
from ..judge.replicas_back import alone_remarks, fate_of, judge_copied, judge_kept, judge_left, judge_safe, raising_of
from ..observe.client import OpenSearchClient
from ..observe.cluster import observe, observe_disks, read_settings
from ..observe.explaining import explain_moves
from ..observe.finding_replicas import listed, observe_limits, observe_replicas, observe_sizes, portions
from ..observe.index_replicas import UNDO_OF_REPLICAS, IndexReplicas, carried_replicas
from ..observe.settings import Settings
from ..observe.state import ClusterState
from .putting_back import store_of
from .settings_change import Act, judge_cluster, to_remove, write

RAISED, PUT_BACK = "raised_replicas", "restored_replicas"
RAISE_REPLICAS: Options = {"raise_replicas": {"type": "list", "elements": "str", "default": []}}
"""The option for the indices that get a replica for the time of a run, if they have none."""


@dataclass(frozen=True)
class Lowered:
    """The result of putting replicas back."""

    verdict: Verdict = field(default_factory=Verdict)
    changed: bool = False


def look_at_single(
    client: OpenSearchClient, state: ClusterState, names: Sequence[str], going: Collection[str] | None = None
) -> RaisingLook:
    """The data that decides whether these indices, which have no replica, can get one before the members in `going` go.

    None means that any member may go.
    """
    present = observe_replicas(client)
    look = RaisingLook(state, {name: present[name] for name in names if name in present})
    if not look.indices:
        return look
    groups = representatives(look)
    refusing: dict[tuple[str, int], Mapping[str, frozenset[str]]] = {}
    asked = {f"{copy.index}[{copy.shard}]": alike for copy, alike in groups.items()}
    for copy in groups:
        for move in explain_moves(client, state, [copy]):
            refusing |= {(each.index, each.shard): move.refusing for name in move.shards for each in asked[name]}
    sizes = observe_sizes(client, look.indices)
    down = None if going is None else state.ids(going)
    return RaisingLook(state, look.indices, sizes, refusing, observe_disks(client), observe_limits(client), down)


def replicas_undo(client: OpenSearchClient, settings: Settings, uuid: str = "") -> Undo | None:
    """The undo of replicas that the cluster carries, if any.

    Raises:
        Refusal: it cannot be read, or is of another cluster.
    """
    undo = carried_replicas(settings)
    if undo is not None:
        judge_cluster(undo, client, uuid, UNDO_OF_REPLICAS)
    return undo


def raise_replicas(
    task: Task, client: OpenSearchClient, settings: Settings, look: RaisingLook, raising: Raising
) -> Verdict:
    """Write the undo, then give these indices a replica each. The copies start by themselves.

    The undo does not keep an index whose replicas another has changed since the look, perhaps to the same number. The
    verdict names the indices whose settings the server did not change.

    Raises:
        Refusal: there is an undo of another run that has not ended, or the undo was not written.
    """
    undo, writer = replicas_undo(client, settings, look.state.uuid), writer_of(task)
    if undo is not None:
        _judge_writer(task, client, undo)
    fresh = {name: raising_of(look.indices[name]) for name in raising.indices}
    own = undo or Undo(writer, more={"cluster": look.state.uuid})
    own = own.extended(writer, [change for changes in fresh.values() for change in changes])
    if not fresh:
        return Verdict()
    if undo is None or own.text() != undo.text():
        _write_undo(task, client, settings, own)
    wanted = {name: {change.name: change.set_to for change in changes} for name, changes in fresh.items()}
    failed, alone = _change(task, client, RAISED, wanted, look.indices)
    if alone:
        paths = {change.path for name in alone for change in fresh[name]}
        rest = own.without([each for each in own.changes if each.path in paths])
        _write_undo(task, client, read_settings(client), rest if rest.changes else None)
    return combine(Verdict((_not_raised(name, said),)) for name, said in sorted(failed.items()))


def raise_on(
    task: Task, client: OpenSearchClient, settings: Settings, state: ClusterState, batch: Collection[str]
) -> tuple[Settings, tuple[Reason, ...]]:
    """Give indices a replica that were made without one during the run, if this batch holds a shard of them.

    The result is the settings then, and the reasons. An index that cannot get one is a remark: the gate judges it.

    Raises:
        Refusal: the answers are missing, or the undo was not written.
    """
    names = single_indices(state, batch, wanted_replicas(task.params))
    if not names:
        return settings, ()
    look = look_at_single(client, state, names)
    raising = judge_raising(look)
    failed = raise_replicas(task, client, settings, look, raising)
    found = combine((raising.verdict, failed, judge_raised(raising.indices)))
    reasons = (replace(each, state=State.PASSED) if each.state is State.REFUSED else each for each in found.reasons)
    return read_settings(client), tuple(reasons)


def has_raised(task: Task) -> bool:
    """Whether this task has given an index a replica."""
    return any(act["action"] == RAISED for act in task.journal.as_result())


def wanted_replicas(params: Mapping[str, Any]) -> IndexNames:
    """The indices that are to get a replica if they have none.

    Raises:
        Refusal: the list cannot be understood.
    """
    return index_names(params["raise_replicas"], "raise_replicas")


def lower_replicas(task: Task, client: OpenSearchClient, settings: Settings) -> Lowered:
    """Put the replicas back that runs have changed, where they are still theirs, and remove the undo.

    With the option `keep_replicas` they stay for the next run, if there are any: a server that has refused each change
    leaves only the undo. An index keeps its replica while a primary of it is not started.

    Raises:
        Refusal: the undo cannot be read, its run has not ended, or the answers are missing.
    """
    undo = replicas_undo(client, settings)
    if undo is None:
        return Lowered()
    present = observe_replicas(client)
    back = fate_of(undo, present)
    if task.params["keep_replicas"] and back.names:
        return Lowered(judge_kept(back.names, reported=task.params["before"] is not None))
    _judge_writer(task, client, undo)
    state = observe(client)
    unsafe = judge_safe(not_safe_to_lower(state, back.names))
    if not unsafe.passed:
        return Lowered(unsafe)
    said, _alone = _change(task, client, PUT_BACK, {name: back.values(name) for name in back.names}, present)
    after = present if task.check_mode else observe_replicas(client)
    left = [] if task.check_mode else fate_of(undo, after).ours
    rest = undo.without([each for each in undo.changes if each not in left])
    _write_undo(task, client, read_settings(client), rest if left else None)
    stays = judge_left(undo, {each.path[0] for each in left}, said)
    others = combine((Verdict(alone_remarks(undo, back, present)), judge_copied(undo, present)))
    return Lowered(combine((others, stays)), changed=True)


def _judge_writer(task: Task, client: OpenSearchClient, undo: Undo) -> None:
    """Check that the run which wrote the undo has ended, whichever of the two stores has its lock."""
    Writers(task, lambda place: store_of(task, client, place), "shard_allocation").judge(undo.writer)


def _write_undo(task: Task, client: OpenSearchClient, settings: Settings, undo: Undo | None) -> None:
    removed = to_remove(task, settings)
    values: dict[tuple[str, ...], Any] = {("persistent", UNDO_OF_REPLICAS): undo.text() if undo else None}
    acts: list[Act] = [("set" if undo else "removed", f"persistent {UNDO_OF_REPLICAS}", {})]
    write(task, client, document_of({**values, **{each.path: None for each in removed}}), acts)


def _change(
    task: Task,
    client: OpenSearchClient,
    action: str,
    wanted: Mapping[str, Mapping[str, str | None]],
    present: Mapping[str, IndexReplicas],
) -> tuple[dict[str, str], set[str]]:
    """Set these settings of the indices, many in one request. The result is the server's message for each index
    that it refused, and the indices that are left alone, since their replicas have changed since `present`.

    Raises:
        Unreachable: an answer is missing.
    """
    alike: dict[tuple[tuple[str, str | None], ...], list[str]] = defaultdict(list)
    for name, values in sorted(wanted.items()):
        alike[tuple(sorted(values.items()))].append(name)
    failed, alone = dict[str, str](), set[str]()
    for same, names in alike.items():
        for some in portions(names):
            now = present if task.check_mode else observe_replicas(client)
            still = [name for name in some if now.get(name) == present[name]]
            alone.update({*some} - {*still})
            if still:
                failed |= _change_some(task, client, action, still, dict(same), present)
    return failed, alone


def _change_some(
    task: Task,
    client: OpenSearchClient,
    action: str,
    names: Sequence[str],
    values: Mapping[str, str | None],
    present: Mapping[str, IndexReplicas],
) -> dict[str, str]:
    """A request for all of them; if it is refused, one for each, so that one index does not block the others."""
    if not task.check_mode:
        task.still_wanted()
    acts = [
        (action, name, {"value": dict(values), "was": {setting: present[name].at(setting) for setting in values}})
        for name in names
    ]
    try:
        with task.journal.doing(*acts):
            if not task.check_mode:
                client.put(f"/{listed(names)}/_settings", dict(values))
    except Unreachable:
        raise
    except Refusal as error:
        if len(names) == 1:
            return {names[0]: error.verdict.reasons[0].message.rstrip(".")}
        found: dict[str, str] = {}
        for name in names:
            found |= _change_some(task, client, action, [name], values, present)
        return found
    return {}


def _not_raised(name: str, said: str) -> Reason:
    return refused(
        "replica_refused",
        f"Index {name} did not get a replica for the time of the upgrade: {said}.",
        "Give the user that right, or fix the cause. Or accept with allow_single_copy that this index is away while its"
        " member restarts, and leave it out of raise_replicas.",
    )
