"""The work of the module `upgrade_notice`: a state of an upgrade is noted at its request, and sent to a webhook once.

The notice is sent before its key is noted in the record. After a kill in between it is sent twice with the same key,
but never lost. It needs no lock: the record is written only if it is still the version that was read. The record only
shows whether the notice was sent, so one that is broken, or out of reach for `PATIENCE`, stops no notice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ...common.arguments import CONNECTIONS, RECORD
from ...common.errors import Refusal, refusal
from ...common.task import Contract, Outcome, Task
from ...common.timestamps import now_text
from ...common.verdict import Verdict, remark
from ...common.waiting import Patience
from ...common.web import NoAnswer, send
from ..lock.lock import name_for
from ..record.answers import reporting
from ..record.kept_in import store_of
from ..record.phases import Deed
from ..record.record import Record
from ..record.record_keeping import RecordStore, change_record, unreadable
from ..start.refused_plan import publish_not_begun
from ..start.request import REQUEST_KUBERNETES, Requested
from ..start.upgrade_request import STATES, note_state
from .notices import REPEATED, content_of, is_sent, notice_key, with_notice

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **RECORD,
        **REQUEST_KUBERNETES,
        "namespace": {"type": "str"},
        "url": {"type": "str", "no_log": True},
        "source": {"type": "str"},
        "state": {"type": "str", "required": True},
        "cause": {"type": "str", "default": ""},
        "codes": {"type": "list", "elements": "str", "default": []},
        "plan": {"type": "dict", "default": {}},
        "body": {"type": "dict"},
        "timeout": {"type": "int", "default": 10},
    },
    required_if=[("record_kept_in", "kubernetes", ("namespace",))],
)


NOT_BEGUN = ("waiting", "delayed", "refused", "failed")
"""The states of an upgrade whose run has not begun."""
PATIENCE = Patience(30.0, 2.0)
"""Seconds for which the record is asked for, and between two looks."""


def run(task: Task) -> Outcome:
    """Report the state unless it was reported already, or the plan leaves its notice out.

    No upgrade fails because a notice cannot be sent.
    """
    try:
        reported = _reported(task)
    except Refusal:
        _publish(task)
        raise
    # That the notice was sent is noted in the record, whose figures do not know why this run has not begun.
    _publish(task)
    return reported


def _reported(task: Task) -> Outcome:
    _note(task)
    left_out = task.params["plan"].get("notices_left_out") or ()
    if task.params["url"] and task.params["state"] not in left_out:
        return _notice(task)
    return Outcome(Verdict(), bool(task.journal.as_result()))


def _publish(task: Task) -> None:
    """Publish the figures of a run that has not begun. Those of a run at work are published with its record."""
    plan, state = task.params["plan"], task.params["state"]
    if state in NOT_BEGUN and not task.params["lock"]:
        # A plan that waits is no problem, but a cluster that gives no answer is one.
        codes = task.params["codes"] if state != "waiting" or not plan.get("digest") else None
        publish_not_begun(task, str(plan.get("cluster_uuid") or ""), codes)


def _note(task: Task) -> None:
    """Note the state at the request, if it is one that a request has."""
    source, state = task.params["source"], task.params["state"]
    if source and state in STATES:
        version = str(task.params["plan"].get("target_version") or "")
        note_state(task, Requested(source, ""), state, task.params["cause"], version)


def _notice(task: Task) -> Outcome:
    host = _host_of(task.params["url"])
    if not host:
        unusable = refusal(
            "webhook_unusable",
            "The URL of the webhook is not an HTTP URL.",
            "Give one that starts with https:// (upgrade_webhook).",
        )
        # The task does not fail its run, so this is the only place where a person sees it.
        task.voice.show(f"The notice was not sent. {unusable}")
        raise unusable
    try:
        return _sent(task, host)
    except Refusal as error:
        said = " ".join(reason.message for reason in error.verdict.reasons)
    except NoAnswer as error:
        said = f"{host} does not accept it: {error}."
    shown = f"The notice was not sent. {said}"
    task.voice.show(shown)
    return Outcome(Verdict((remark("notice_not_sent", shown),)), bool(task.journal.as_result()))


def _host_of(url: str) -> str:
    """The host of the webhook; empty if its URL cannot be used."""
    try:
        parts = urlsplit(url)
        # A port that is no number raises only when it is read.
        usable = parts.scheme in ("http", "https") and parts.port != 0
        return parts.hostname or "" if usable else ""
    except ValueError:
        return ""


def _sent(task: Task, host: str) -> Outcome:
    params = task.params
    plan = params["plan"]
    cluster = str(plan.get("cluster_uuid") or "")
    name = (params["lock"] or {}).get("name") or (name_for(cluster) if cluster else "")
    store = reporting(task, store_of(params))
    record = _record(task, store, name) if name else None
    key = notice_key(params["state"], params["codes"], record, str(plan.get("target_version") or ""))
    if is_sent(record, key):
        return Outcome(Verdict(), more={"key": key})
    facts = {each: params[each] for each in ("state", "cause", "codes")}
    facts |= {"target_version": plan.get("target_version") or "", "plan": plan.get("digest") or ""}
    facts |= {"deed": plan.get("deed") or Deed.UPGRADE.value}
    facts |= {"place": params["namespace"] or "", "run": task.run, "at": now_text()}
    content = content_of(facts, record, params["body"], key)
    noted = Verdict()
    if not task.check_mode:
        task.still_wanted()
        _send(params, content, key)
        task.journal.did("sent_notice", host, state=params["state"])
        noted = _noted(task, store, name, key) if record is not None else noted
    return Outcome(noted, True, more={"key": key})


def _record(task: Task, store: RecordStore, name: str) -> Record | None:
    """The record; None if there is none, or it cannot be read.

    Raises:
        Refusal: it is out of reach, and the next pass reports this state as well.
    """
    try:
        kept, _verdict = task.wait_apart(lambda: store.read(name), lambda _kept: Verdict(), PATIENCE)
        return None if kept is None else kept.record()
    except Refusal as error:
        if task.params["state"] in REPEATED:
            unreadable(error)
        return None


def _noted(task: Task, store: RecordStore, name: str, key: str) -> Verdict:
    """Note that the notice was sent. The verdict has a remark if that cannot be noted."""

    def note() -> object:
        return change_record(task, store, name, lambda found: with_notice(found, key, now_text()))

    try:
        task.wait_apart(note, lambda _noted: Verdict(), PATIENCE)
    except Refusal as error:
        said = f"The notice was sent, but not noted, so that it may be sent again. {error.verdict.reasons[0].message}"
        task.voice.show(said)
        return Verdict((remark("notice_not_noted", said),))
    return Verdict()


def _send(params: Mapping[str, Any], content: Mapping[str, Any], key: str) -> None:
    """Raises NoAnswer unless the server takes the notice. The key shows if a killed run has sent it already."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    answer = send(params["url"], json.dumps(content).encode(), float(params["timeout"]), headers)
    if not 200 <= answer.status < 300:
        raise NoAnswer(f"it answers {answer.status}")
