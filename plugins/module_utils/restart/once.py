"""The note of the last restart in the cluster: read for a plan, written when a run starts and when it is completed.

Without a note and marks a killed run looks like a new request, so the note comes last at the start of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ..common.task import Outcome, Task
from ..common.timestamps import now_text
from ..common.verdict import Verdict, combine
from ..opensearch.act.settings_change import removed_remarks, removing, to_remove, write
from ..opensearch.observe.client import OpenSearchClient, connect
from ..opensearch.observe.cluster import cluster_uuid, read_settings
from ..opensearch.observe.settings import Settings
from ..run.start.approvals import covered, points_in
from ..run.undo.undo import document_of
from .judge.once import REQUEST, Carried, carried_in, judge_used_up, request_of_plan


def settings_of(task: Task) -> Settings:
    """The settings of the cluster now."""
    search = connected(task)
    return task.ask(lambda: read_settings(search))


def agreed_to(task: Task, last: Carried | None) -> bool:
    """Whether the user has agreed to the plan of the last request, with the points to approve."""
    agreed = task.params["agreed"]
    return bool(last and agreed) and agreed == covered(last.digest if last else "", points_in(task.params["approvals"]))


def once(
    planned: Outcome, last: Carried | None, *, goes_on: bool, used_up: bool, scheduled: Sequence[str] = ()
) -> Outcome:
    """The plan with the digest of its request, see `judge.once`."""
    more = planned.more
    request = request_of_plan(str(more["digest"]), more["batches"], last, goes_on=goes_on, scheduled=scheduled)
    if used_up and last is not None:
        request = last
    own = {"digest": request.digest, "restart_request": asdict(request)}
    verdict = combine((planned.verdict, judge_used_up(last, used_up=used_up)))
    return replace(planned, verdict=verdict, more={**more, **own})


def note_request(task: Task, order: Outcome) -> Outcome:
    """Note the request of a plan that is about to be carried out, once all its members are marked."""
    # The digest of the plan also covers the points to approve, which are no part of the request.
    noted = order.more["restart_request"]
    lists: dict[str, Any] = {name: tuple(noted[name]) for name in ("replaced", "scheduled", "members")}
    request = Carried(noted["digest"], noted["base"], **lists)
    if task.check_mode or not order.more["batches"]:
        return Outcome(Verdict())
    return _note(task, lambda last: None if last == request else request)


def note_completed(task: Task, left: Collection[str] = ()) -> Outcome:
    """Note that the last request was carried out, unless some of its members are `left`, which are marked still."""
    return _note(task, lambda last: last.ended(now_text(), left) if last else None)


def _note(task: Task, change: Callable[[Carried | None], Carried | None]) -> Outcome:
    search = connected(task)
    settings, uuid = task.ask(lambda: (read_settings(search), cluster_uuid(search)))
    request = change(carried_in(settings, uuid))
    if request is None:
        return Outcome(Verdict())
    return write_note(task, search, settings, (REQUEST, request.text(uuid)), {"plan": request.digest})


def write_note(
    task: Task, search: OpenSearchClient, settings: Settings, note: tuple[str, str | None], details: Mapping[str, Any]
) -> Outcome:
    """Write one note into the settings of the cluster, without archived settings, which would have it refused."""
    name, value = note
    removed = to_remove(task, settings)
    gone: dict[tuple[str, ...], Any] = {each.path: None for each in removed}
    body = document_of({("persistent", name): value, **gone})
    write(task, search, body, [("set", f"persistent {name}", details), *removing(removed)])
    return Outcome(Verdict(removed_remarks(removed)), changed=True)


def connected(task: Task) -> OpenSearchClient:
    """The client of the cluster that a task is about."""
    return connect(task.params["opensearch"], task.params["kubernetes"])
