"""The looks of the gates: their requests, and how often they are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import TypeVar

from ..common.errors import Refusal, refusal
from ..common.timestamps import now_seconds
from .judge.checks import BEFORE_BATCH, BEFORE_UPGRADE, Selection
from .judge.managed_indices import judge_managed
from .judge.progress import still_moving
from .judge.retired_settings import names_for_indices
from .observe.certificates import shown
from .observe.client import OpenSearchClient
from .observe.cluster import (
    observe,
    observe_configured,
    observe_disks,
    observe_health,
    observe_managed,
    observe_recoveries,
    observe_tasks,
    read_settings,
)
from .observe.copies import copies_move, last_copies, unassigned
from .observe.explaining import explain, still_true
from .observe.finding_filters import observe_filters
from .observe.finding_snapshot import observe_last_snapshot
from .observe.look import Look
from .observe.recoveries import UNKNOWN
from .observe.settings import Settings

Seen = TypeVar("Seen")

LONG_POLL = 2.0
"""Seconds for which the server holds the health request until green, so that green is seen at once."""

RECOVERIES, MANAGED = "recoveries", "managed"
"""Questions that are asked only now and then: for the bytes that recoveries have to copy, and for managed indices."""


def polls(moment: str) -> Iterator[float]:
    """The seconds for which the server holds the health request of each look. More requests only slow recoveries.

    A batch may be proven safe before the cluster is green, so the first look before it is not held.
    """
    return chain([0.0] if moment == BEFORE_BATCH else [], repeat(LONG_POLL))


def look(
    client: OpenSearchClient,
    moment: str,
    long_poll: float = LONG_POLL,
    selection: Selection | None = None,
    before: Look | None = None,
    *,
    due: Collection[str] = (),
    snapshot_age: float | None = None,
) -> Look:
    """One look for a gate: health, nodes, state, explanations of unassigned copies, and settings before the upgrade.

    As long as copies are under way no explanation is asked for: it would cost much and change nothing. `before` is the
    gate's previous look. `due` are the questions with long answers whose time has come again (`RECOVERIES`, `MANAGED`).
    `snapshot_age` is the greatest age of a snapshot, in seconds.
    """
    made = (selection or Selection()).at(moment)
    health = observe_health(client, long_poll)
    state = observe(client)
    wanted = unassigned(state)
    if not made & {"unassigned", "progress"}:
        lone = last_copies(state) if "copies" in made else {}
        wanted = tuple(copy for copy in wanted if copy.primary or (copy.index, copy.shard) in lone)
    former = still_true(before.explanations, before.state, state) if before else ()
    explanations = explain(client, state, wanted, former) if still_moving(state, health).passed else former
    settings = read_settings(client) if moment == BEFORE_UPGRADE else Settings({}, {})
    recoveries = before.recoveries if before else UNKNOWN
    if RECOVERIES in due and copies_move(state):
        recoveries = observe_recoveries(client)
    certificates = shown(client.certificates, now_seconds()) if "certificates" in made else ()
    seen = Look(state, health, settings, explanations, recoveries=recoveries, certificates=certificates)
    return _with_rare_answers(client, made, seen, before, snapshot_age, again=MANAGED in due)


def _with_rare_answers(
    client: OpenSearchClient,
    made: Collection[str],
    seen: Look,
    before: Look | None,
    snapshot_age: float | None,
    *,
    again: bool,
) -> Look:
    """The look with the answers to questions that are asked at the first look, which later looks keep.

    Work of others is asked for as long as there is any: tasks each time, managed indices, which change every few
    minutes, only if it is time to ask `again`.
    """
    first = before is None
    kept = before or seen
    disks, tasks, saved, configured, managed = kept.disks, kept.tasks, kept.saved, kept.configured, kept.managed
    if "disk" in made and first:
        disks = unless_denied("disk", lambda: observe_disks(client))
    if "tasks" in made and (first or tasks):
        tasks = unless_denied("tasks", lambda: observe_tasks(client))
    if "last_snapshot" in made and saved is None:
        saved = unless_denied("last_snapshot", lambda: observe_last_snapshot(client, snapshot_age))
    if "settings" in made and configured is None:
        configured = unless_denied("settings", lambda: observe_configured(client, names_for_indices()))
    if "index_management" in made and (managed is None or (again and not judge_managed(managed).passed)):
        managed = unless_denied("index_management", lambda: observe_managed(client, seen.state))
    # They may be corrected while the gate waits.
    filters = observe_filters(client) if "overrides" in made and (first or again) else kept.filters
    return replace(seen, disks=disks, tasks=tasks, saved=saved, configured=configured, managed=managed, filters=filters)


def unless_denied(check: str, ask: Callable[[], Seen]) -> Seen:
    """The answer to a question of one check alone.

    Raises:
        Refusal: there is no answer. If the user may not ask, the remedy says how to go on without the check.
    """
    try:
        return ask()
    except Refusal as error:
        reason = error.verdict.reasons[0]
        if reason.code != "opensearch_rights":
            raise
        remedy = f"Give the user that permission, or leave the check out with skip_checks: [{check}]."
        raise refusal("opensearch_rights", reason.message, remedy) from error
