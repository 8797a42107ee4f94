# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `upgrade_lock`: one run at a time on one cluster."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from ..common import ancestry
from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import Conflict
from ..common.moments import now_text
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, remark, waiting
from ..engine.held_lock import processes_of
from ..engine.lock import Lock, held_sentence, judge_free, name_for
from ..engine.lock_watch import Watch, shown
from ..opensearch.observe.client import connect
from ..opensearch.observe.cluster import cluster_uuid
from .guard import store_of

STATES = ("free", "held", "stopped", "released")

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "state": {"type": "str", "required": True, "choices": list(STATES)},
        "kept_in": {"type": "str", "choices": ["kubernetes", "opensearch"], "default": "kubernetes"},
        "namespace": {"type": "str"},
        "cluster_uuid": {"type": "str"},
        "lease_duration": {"type": "int", "default": 60},
        "take_over": {"type": "str", "default": ""},
    },
    required_if=[("kept_in", "kubernetes", ("namespace",))],
    guarded=False,
)


def run(task: Task) -> Outcome:
    """Bring the lock into the wanted state. A second run changes nothing."""
    state = task.params["state"]
    if state == "released":
        return _release(task)
    lock = _wanted(task)
    watch = Watch(task, store_of({**task.params, "lock": lock}))
    step = {"free": _free, "held": _hold, "stopped": _stop}[state]
    seen, verdict = task.wait(lambda: step(task, watch, lock), lambda done: done.verdict)
    return replace(seen, verdict=verdict)


def _wanted(task: Task) -> dict[str, Any]:
    """The lock in the form of the option `lock` of the other modules."""
    params = task.params
    if params["lock"]:
        return dict(params["lock"])
    return {
        "run": f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}",
        "name": name_for(params["cluster_uuid"] or _uuid(task)),
        "kept_in": params["kept_in"],
        "namespace": params["namespace"],
        "lease_duration": params["lease_duration"],
    }


def _uuid(task: Task) -> str:
    client = connect(task.params["opensearch"], task.params["kubernetes"])
    uuid, _verdict = task.wait(lambda: cluster_uuid(client), lambda _uuid: Verdict())
    return uuid


def _free(task: Task, watch: Watch, lock: Mapping[str, Any]) -> Outcome:
    sight = watch.look()
    verdict = judge_free(sight, lock["run"], task.params["take_over"])
    return Outcome(verdict, before=shown(sight.lock), more={"name": lock["name"]})


def _hold(task: Task, watch: Watch, wanted: Mapping[str, Any]) -> Outcome:
    sight = watch.look()
    verdict = judge_free(sight, wanted["run"], task.params["take_over"])
    before = shown(sight.lock)
    if not verdict.passed:
        return Outcome(verdict, before=before)
    ours = sight.lock is not None and sight.lock.run == wanted["run"]
    fresh = _fresh(task, wanted)
    following, more = "plan again, then act", {"lock": dict(wanted)}
    if ours:
        return Outcome(verdict, False, before, before, following, more)
    try:
        with task.journal.doing(("take_lock", wanted["name"], {"run": wanted["run"]})):
            if not task.check_mode:
                watch.store.write(fresh, sight.lock)
    except Conflict:
        return Outcome(_contended(), before=before)
    return Outcome(verdict, True, before, shown(fresh), following, more)


def _stop(task: Task, watch: Watch, lock: Mapping[str, Any]) -> Outcome:
    """Ask the holder of the lock to stop, and wait until the lock is free, or its holder turns out to be dead."""
    sight = watch.look()
    held, before = sight.lock, watch.before or {}
    verdict = judge_free(sight, "", "")
    if held is None or verdict.passed:
        reasons = [remark("run_is_dead", reason.message) for reason in verdict.reasons]
        return Outcome(Verdict(tuple(reasons)), bool(task.journal.as_result()), before)
    if sight.renewed_meanwhile:
        watch.begin(held)  # the holder may die later, so the watch begins again at its last renewal
    if not held.stop:
        asked = replace(held, stop=f"by {who()} at {now_text()}")
        try:
            with task.journal.doing(("ask_to_stop", held.run, {})):
                if not task.check_mode:
                    watch.store.write(asked, held)
        except Conflict:
            task.progress("the lock was renewed at this moment; asking again")
    if task.check_mode:
        return Outcome(Verdict(), not held.stop, before)
    said = f"Run {held.run} of {held.who} is asked to stop and finishes what it has begun"
    doing = f" ({held.doing.rstrip('.')})" if held.doing else ""
    return Outcome(Verdict((waiting("run_is_stopping", f"{said}{doing}."),)), bool(task.journal.as_result()), before)


def _release(task: Task) -> Outcome:
    lock = task.params["lock"]
    if not lock:
        return Outcome(Verdict())

    def attempt() -> Outcome:
        store = store_of(task.params)
        held = store.read()
        before = shown(held)
        if held is None or held.run != lock["run"]:
            text = f"Run {lock['run']} no longer holds the lock. {held_sentence(held) if held else ''}".rstrip()
            return Outcome(Verdict((remark("lock_not_ours", text),)), before=before, after=before)
        with task.journal.doing(("release_lock", lock["name"], {"run": lock["run"]})):
            if not task.check_mode:
                store.remove(held)
        return Outcome(Verdict(), True, before, shown(None))

    def looked() -> Outcome:
        try:
            return attempt()
        except Conflict:
            return Outcome(_contended())

    outcome, verdict = task.wait(looked, lambda done: done.verdict)
    return replace(outcome, verdict=verdict)


def _contended() -> Verdict:
    return Verdict((waiting("lock_contended", "Another run writes the lock at this moment."),))


def _fresh(task: Task, wanted: Mapping[str, Any]) -> Lock:
    now = now_text("microseconds")
    processes = processes_of(task)
    return Lock(
        run=wanted["run"],
        who=who(),
        since=now,
        renewed=now,
        seconds=wanted["lease_duration"],
        place=ancestry.place() if processes else "",
        processes=processes,
    )


def who() -> str:
    """The person and the machine behind this run, for others to read."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"
