"""Changing cluster settings: the present undo, the one request for change and undo, and archived settings in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...common.errors import Refusal, refusal
from ...common.task import Outcome, Task
from ...common.verdict import Reason, Verdict, remark
from ...common.words import enumerate_few
from ...run.lock.lock_watch import writer_of
from ...run.undo.undo import Change, Undo, judge_kept
from ..judge.changes import removals, settings_body
from ..observe.client import OpenSearchClient
from ..observe.cluster import cluster_uuid
from ..observe.settings import (
    ARCHIVED,
    NODE_LEFT,
    REBALANCE,
    RECOVERIES,
    RECOVERY_BYTES,
    UNDO,
    Settings,
    carried_undo,
    is_known,
)

OF_RUN = {
    RECOVERIES: "recoveries",
    RECOVERY_BYTES: "recovery_bytes",
    REBALANCE: "rebalance",
    NODE_LEFT: "node_left_delay",
}
"""The settings of a whole run, each with the option that gives its value; all others are set for a batch."""

Act = tuple[str, str, Mapping[str, Any]]
"""An action, its target and its details, for the journal."""


def undo_here(client: OpenSearchClient, settings: Settings, uuid: str = "") -> Undo | None:
    """The undo that the cluster carries, if any. The `uuid` of the cluster is asked for if it is needed and not given.

    Raises:
        Refusal: it cannot be read, or is of another cluster.
    """
    undo = carried_undo(settings)
    if undo is not None:
        judge_cluster(undo, client, uuid)
    return undo


def judge_cluster(undo: Undo, client: OpenSearchClient, uuid: str = "", name: str = UNDO) -> None:
    """Check that an undo is of this cluster, whose `uuid` is asked for if it is not given. `name` is its setting.

    Raises:
        Refusal: it is of another one.
    """
    present = uuid or cluster_uuid(client)
    if undo.more["cluster"] == present:
        return
    raise refusal(
        "undo_of_another_cluster",
        f"Run {undo.writer.run} wrote the undo that this cluster carries, and it did so in the cluster"
        f" {undo.more['cluster']}. This is {present}. The undo came with a snapshot, and the settings in it belong to"
        " the other cluster.",
        f"Compare the settings it names with those wanted here, then remove it: set {name} to null.",
    )


def undo_left(undo: Undo) -> Refusal:
    """The refusal of a new change that would overwrite an undo."""
    return refusal(
        "undo_left",
        f"The cluster carries the undo of run {undo.writer.run} of {undo.writer.at}, which a new change would replace.",
        "Restore first: shard_allocation with state=restored.",
    )


def change_settings(
    task: Task,
    client: OpenSearchClient,
    settings: Settings,
    fresh: Sequence[Change],
    undo: Undo | None,
    cluster: str,
    following: str,
) -> Outcome:
    """Make the changes and write their undo in one request, which also removes archived settings.

    Raises:
        Refusal: the change was not made; `Unreachable` if it may have been made.
    """
    judge_kept(fresh, is_known, lambda each: f"The {each.path[0]} setting {each.name}")
    removed, before, writer = to_remove(task, settings), shown(settings), writer_of(task)
    undo = (undo or Undo(writer, more={"cluster": cluster})).extended(writer, fresh)
    acts = [("set", name_of(each), {"value": each.set_to, "was": each.was}) for each in fresh]
    write(task, client, settings_body(fresh, undo, back=False, removed=removed), [*acts, *removing(removed)])
    after = {
        **before,
        **{name_of(change): change.set_to for change in fresh},
        **{name_of(each): None for each in removed},
    }
    return Outcome(Verdict(removed_remarks(removed)), True, before, there(after), following)


def write(task: Task, client: OpenSearchClient, body: Mapping[str, Any], acts: Sequence[Act]) -> None:
    """Send the one request, and note these acts. In check mode they are only noted."""
    if not task.check_mode:
        task.still_wanted()
    with task.journal.doing(*acts):
        if not task.check_mode:
            client.put("/_cluster/settings", body)


def name_of(change: Change) -> str:
    """A setting with its scope, as results show it."""
    return " ".join(change.path)


def there(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values without the settings that are absent."""
    return {name: value for name, value in values.items() if value is not None}


def to_remove(task: Task, settings: Settings) -> tuple[Change, ...]:
    """The archived settings to remove with the change.

    Raises:
        Refusal: there are some, and the user does not want them removed.
    """
    found = removals(settings)
    if found and task.params["archived"] == "refuse":
        names = enumerate_few(f"{change.name} ({change.path[0]})" for change in found)
        raise refusal(
            "archived_settings",
            f"The cluster keeps settings that this version does not know, and refuses every change of settings as long"
            f" as they are there: {names}.",
            "Set what replaces them, if it is still wanted, and set these to null; or let them be removed with"
            " archived=remove (upgrade_archived).",
        )
    return found


def removing(removed: Iterable[Change]) -> list[Act]:
    """The acts that remove settings for good."""
    return [("removed", name_of(change), {"was": change.was}) for change in removed]


def removed_remarks(removed: Iterable[Change]) -> tuple[Reason, ...]:
    """The remarks on settings that are removed for good."""
    return tuple(
        remark(
            "archived_setting_removed",
            f"The {change.path[0]} setting {change.name.removeprefix(ARCHIVED)} = {change.was!r} is unknown to this"
            " version and was removed: as long as it was there, the server refused every change of settings.",
            "Set what replaces it in this version, if it is still wanted.",
        )
        for change in removed
    )


def shown(settings: Settings) -> Mapping[str, Any]:
    """The settings that an upgrade changes, by scope and name, and their neighbours."""
    return {
        f"{scope} {name}": value
        for scope in ("persistent", "transient")
        for name, value in settings.scope(scope).items()
        if name in OF_RUN or name.startswith(("cluster.routing.", ARCHIVED))
    }
