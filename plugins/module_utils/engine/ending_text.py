# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text at the end of a run for people: what became of it, of its members, and of its changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..common.words import duration, shortened
from .pace import longest_absence, moment
from .plan_text import Words

SHORTEST_WAIT = 5.0
"""Seconds of a wait that is worth a word at the end."""
LONGEST_REASON = 120
"""Characters of its reason."""
OUTCOMES = {
    "replaced": "deleted, NOT back",
    "followed": "NOT back",
    "untouched": "not touched",
    "kept": "upgraded by somebody else",
}
"""The words for members that were not brought back by the run, by their action."""
NOTHING_MORE_NOW = (
    "This pass is over, and everything it changed for the time of a batch is put back. Run it again to go on. Waiting:"
)


def ending_lines(end: Mapping[str, Any], words: Words) -> list[str]:
    """The lines of the end of a run; `end` is what the module `tell` documents."""
    return [*end["failures"], *_outcome(end, words), *_members(end), *(f"Note: {one}" for one in _remarks(end))]


def _outcome(end: Mapping[str, Any], words: Words) -> Iterator[str]:
    if end["failed"] or end["failures"]:
        yield from _failed(end, words)
    elif end["check_mode"]:
        yield "Checked only: nothing was changed."
    elif end["waiting"]:
        yield end["waiting_lead"] or NOTHING_MORE_NOW
        yield from (f"  {one['message']}" for one in end["waiting"])
    elif end["planned"]:
        yield _done(end)


def _failed(end: Mapping[str, Any], words: Words) -> Iterator[str]:
    if end["not_put_back"]:
        yield (
            "Not all could be put back. Cure the cause, then run the playbook again, or settle to put everything back "
            "without going on."
        )
    elif end["failed"]:
        put_back = end["put_back"] or "All is as it was before the run."
        yield f"{put_back} Cure the cause and run the playbook again: finished {words.unit}s are left alone."


def _done(end: Mapping[str, Any]) -> str:
    record = end["record"]
    upgraded = _upgraded(end)
    began, ended = moment(str(record.get("started", ""))), moment(str(record.get("updated", "")))
    batches = record.get("batches", [])
    runs = {batch["run"] for batch in batches if batch["run"]}
    parts = [
        f"Done in {duration((ended - began).total_seconds())}" if began and ended else "Done",
        f"{len(upgraded):,} upgraded to {end['target_version']}" + (f" in {len(runs)} runs" if len(runs) > 1 else ""),
        "everything put back",
        *([end["found"]] if end["found"] else []),
        *_longest_wait(batches),
        *([f"record {end['record_name']}"] if record and end["record_name"] else []),
    ]
    return " · ".join(parts)


def _longest_wait(batches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    waits = [wait for batch in batches for wait in batch["waited"] if isinstance(wait.get("seconds"), (int, float))]
    longest = max(waits, key=lambda wait: wait["seconds"], default=None)
    if longest is not None and longest["seconds"] >= SHORTEST_WAIT:
        reason = shortened(str(longest.get("message", "")).rstrip("."), LONGEST_REASON)
        yield f"longest wait {duration(longest['seconds'])}: {reason}"


def _upgraded(end: Mapping[str, Any]) -> set[str]:
    """The members that were upgraded over all runs of the upgrade; in this run if no record tells more."""
    batches = end["record"].get("batches", [])
    told = [one for batch in batches for one in batch["took"]] or end["took"]
    done = [name for batch in batches if batch["state"] == "done" for name in batch["members"]]
    kept = {one["name"] for one in told if one.get("action") == "kept"}
    return {*(one["name"] for one in told), *done} - kept


def _members(end: Mapping[str, Any]) -> Iterator[str]:
    """The members that did not come back, or that others have upgraded. The others were told when they were done."""
    if not end["planned"]:
        return
    this = [
        one
        for batch in end["record"].get("batches", [])
        if batch["run"] == end["record"]["run"]
        for one in batch["took"]
    ]
    told = this if end["record"].get("batches") else list(end["took"])
    odd = [one for one in told if not longest_absence([one])]
    width = max((len(str(one.get("name", ""))) for one in odd), default=0)
    for one in odd:
        action = str(one.get("action", ""))
        yield f"  {one.get('name', ''):<{width}}   {OUTCOMES.get(action, action)}"


def _remarks(end: Mapping[str, Any]) -> Iterator[str]:
    for one in end["remarks"]:
        if one not in end["waiting"]:
            yield " ".join(filter(None, (one.get("message", ""), one.get("remedy", ""))))
