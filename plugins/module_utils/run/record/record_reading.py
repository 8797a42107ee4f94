# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record as it was written, also by earlier versions of the collection. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...common.errors import refusal
from ...common.reading import Json, Unreadable, flag, listed, one_of, parsed, part, text, texts, whole
from ..counts import parse_counts
from ..start.approvals import parse_approval, parse_hold, parse_point
from ..start.recorded_start import parse_start
from ..start.request import requested_in
from .batches import BATCH_STATES, BatchRecord
from .conditions import parse_condition
from .figures import figure
from .phases import FORMER, Deed, Phase, phase_of
from .pool_status import pool_record_of
from .record import SCHEMA, Entry, Record
from .upgrades import parse_upgrade

FORMER_BATCH_STATE = "rolling"
"""The word for `upgrading` in records that were written before it was."""
DEEPEST = 8
"""Levels that the results of modules in a record are nested at the most."""


def parse_record(kept: str, where: str, every: str = "it") -> Record:
    """The record that is kept as `kept`; `every` names, for people, all that goes when it is deleted.

    Raises:
        Refusal: it cannot be read.
    """
    try:
        return _record(parsed(kept))
    except Unreadable as error:
        raise refusal(
            "record_not_readable",
            f"The record in {where} is not what this collection writes: {error}.",
            f"Look at it, then delete {every}: nothing but the history of earlier runs is lost.",
        ) from error


def _record(raw: Json) -> Record:
    batches = listed(raw, "batches", _batch)
    word = one_of(raw, "phase", (*FORMER, *(each.value for each in Phase)))
    phase = phase_of(word, any(each.state != "done" for each in batches))
    # Before there was a reason, every transition of the whole had its message here.
    former = field(raw, "message") if "reason" not in raw else field(raw, "reason")
    return Record(
        **{name: field(raw, name) for name in ("cluster", "target_version", "digest", "run", "who")},
        phase=phase,
        reason="" if word in {"rolling", "completed"} else former,
        started=field(raw, "started"),
        updated=field(raw, "updated"),
        batches=batches,
        history=listed(raw, "history", _entry_of),
        upgrades=listed(raw, "upgrades", parse_upgrade, ()),
        pools=listed(raw, "pools", pool_record_of, ()),
        outside=texts(raw, "outside", ()),
        deployed_version=text(raw, "deployed_version", ""),
        system=text(raw, "system", ""),
        deed=Deed(one_of({"deed": Deed.UPGRADE.value, **raw}, "deed", [each.value for each in Deed])),
        acts=listed(raw, "acts", _shallow, ()),
        health=text(raw, "health", ""),
        waited=listed(raw, "waited", _shallow, ()),
        last=listed(raw, "last", _shallow, ()),
        start=parse_start(part(raw, "start", {})),
        conditions=listed(raw, "conditions", parse_condition, ()),
        hold=parse_hold(part(raw, "hold", {})),
        approvals=listed(raw, "approvals", parse_approval, ()),
        points=listed(raw, "points", parse_point, ()),
        skipped=texts(raw, "skipped", ()),
        notices=texts(raw, "notices", ()),
        codes=texts(raw, "codes", ()),
        counts=parse_counts(part(raw, "counts", {})),
        request=requested_in(part(raw, "request", {})),
        schema=whole(raw, "schema", SCHEMA),
    )


def _batch(raw: Json) -> BatchRecord:
    return replace(_one_try(raw), tries=listed(raw, "tries", _one_try, ()))


def _one_try(raw: Json) -> BatchRecord:
    state = one_of(raw, "state", (*BATCH_STATES, FORMER_BATCH_STATE))
    return BatchRecord(
        name=field(raw, "name"),
        pools=texts(raw, "pools"),
        members=texts(raw, "members"),
        state="upgrading" if state == FORMER_BATCH_STATE else state,
        run=field(raw, "run"),
        started=field(raw, "started"),
        ended=field(raw, "ended"),
        took=listed(raw, "took", _shallow),
        waited=listed(raw, "waited", _shallow),
        cures=flag(raw, "cures", default=False),
        health=text(raw, "health", ""),
        health_away=text(raw, "health_away", ""),
        outdated=texts(raw, "outdated", ()),
        green_seconds=figure(raw, "green_seconds"),
    )


def field(raw: Json, name: str) -> str:
    """A text that is always written, and may be empty."""
    if name not in raw:
        raise Unreadable("is missing", name)
    return text(raw, name, "")


def _shallow(raw: Json) -> Json:
    """The result of a module, which is nested but a little: what is not could neither be shown nor written again."""
    level: list[Any] = [raw]
    for _depth in range(DEEPEST):
        inner = [each for one in level for each in (one.values() if isinstance(one, dict) else one)]
        level = [each for each in inner if isinstance(each, (dict, list))]
    if level:
        raise Unreadable("is nested too deep")
    return raw


def _entry_of(raw: Mapping[str, Any]) -> Entry:
    at, run, phase, message = (field(raw, name) for name in ("at", "run", "phase", "message"))
    return Entry(at, run, phase, message, texts(raw, "more", ()))
