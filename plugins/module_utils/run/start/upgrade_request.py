"""The work of the module `upgrade_request`: it reads the request, or notes its state next to it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from ...common.arguments import CONNECTIONS, RECORD, WAIT
from ...common.errors import Refusal, refusal
from ...common.task import Contract, Outcome, Task
from ...common.timestamps import now_text
from ...common.verdict import State, Verdict, remark
from ...kubernetes.client import connect
from ..lock.lock import name_for
from ..record.measures import measures_of_request
from ..record.metrics import publisher_of
from .claims import claim_owner
from .request import REQUEST_KUBERNETES, Request, Requested, judge_unchanged, read_document
from .request_sources import ClaimingSource, RequestUrl, Source, source_of

STATES = (
    "invalid",
    "waiting",
    "delayed",
    "refused",
    "started",
    "scale_skipped",
    "paused",
    "completed",
    "failed",
    "cancelled",
)
"""The states of a request that are noted."""
OF_REQUESTS = "request_"
"""How the codes of causes start for which a request cannot be read."""
SUPERSEDE = {"upgrade_supersede": "true"}
"""The variable of a request that takes the place of another one."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **RECORD,
        **WAIT,
        **REQUEST_KUBERNETES,
        "source": {"type": "str", "required": True},
        "namespace": {"type": "str"},
        "wait_timeout": {"type": "int", "default": 120},
        "state": {"type": "str", "default": "read", "choices": ["read", "noted"]},
        "expected": {"type": "str"},
        "claims": {"type": "bool", "default": False},
        "request_state": {"type": "str", "choices": list(STATES)},
        "cause": {"type": "str", "default": ""},
    },
    required_if=[("state", "noted", ("request_state",))],
)


def run(task: Task) -> Outcome:
    """Read the request, or note its state in its place."""
    source = source_of(task.params["source"], connect, task.params, task.request_kinds)
    if task.params["state"] == "read":
        return _read(task, source)
    return _note(task, source, task.params["request_state"], task.params["cause"])


def unchanged(task: Task, requested: Requested) -> Verdict:
    """Whether the request that the run carries out is still there, unchanged. One that cannot be read is waited for.

    Raises:
        Refusal: something else has failed, such as the lock.
    """
    source = source_of(requested.source, connect, task.params, task.request_kinds)
    try:
        found = _found(task, source)
    except Refusal as error:
        if not error.verdict.reasons[0].code.startswith(OF_REQUESTS):
            raise
        # Someone may be editing it, or its server may be away: neither is a failure of the upgrade.
        own = (each for each in error.verdict.reasons if each.code.startswith(OF_REQUESTS))
        return Verdict(tuple(replace(each, state=State.WAITING) for each in own))
    aborted = found is not None and found.aborted
    # A page is missing, too, while its server is wrong.
    owned = bool(requested.owner) and not isinstance(source, RequestUrl)
    aborts = aborted or owned or isinstance(source, ClaimingSource)
    return judge_unchanged(None if aborted else found, requested.digest, source.where, aborts=aborts)


def note_state(task: Task, requested: Requested, state: str, cause: str, version: str = "") -> Verdict:
    """Note the state of the request that a run carries out. The verdict has a remark if it cannot be noted.

    `version` is that of the plan, which a request need not name; empty without a plan.
    """
    try:
        source = source_of(requested.source, connect, task.params, task.request_kinds)
        return _note(task, source, state, cause, version).verdict
    except Refusal as error:
        return _not_noted(error)


def _found(task: Task, source: Source) -> Request | None:
    def look() -> Request | None:
        document = source.read()
        if not isinstance(document, str):
            return document
        return read_document(document, source.where, task.request_documents)

    return task.ask(look)


def _read(task: Task, source: Source) -> Outcome:
    found, expected = _found(task, source), task.params["expected"]
    if found is not None and found.aborted:
        found = None
    if expected:
        verdict = judge_unchanged(found, expected, source.where)
        return Outcome(verdict, more={"request": found.as_result() if found else {}})
    if found is None:
        said = f"There is no request in {source.where}."
        raise refusal("request_missing", said, "Request the upgrade there, or correct upgrade_request.")
    verdict = source.judge()
    _claim(task, source)
    acts = task.params["claims"] and not task.check_mode
    run = claim_owner(task, found, source.where, acts=acts) if found.owner else ""
    if run:
        found = replace(found, variables={**found.variables, **SUPERSEDE})
    awaits, replaces = False, [run] if run else []
    if isinstance(source, ClaimingSource):
        awaits, replaces = True, list(source.replaced())
    for reason in verdict.reasons:
        # The result of reading a request is not shown.
        task.voice.show(reason.message)
    return Outcome(verdict, more={"request": {**found.as_result(), "replaces": replaces, "awaits": awaits}})


def _claim(task: Task, source: Source) -> None:
    """Let a run that acts supersede others, even if its request is refused later."""
    if not (isinstance(source, ClaimingSource) and task.params["claims"]) or task.check_mode:
        return
    task.still_wanted()
    for name in source.claim():
        task.voice.show(f"{name} is asked to abort, since {source.where} has the same owner.")


def _note(task: Task, source: Source, state: str, cause: str, version: str = "") -> Outcome:
    """The state is only for the requester, so no upgrade fails if it cannot be noted."""
    answer = {"state": state, "message": cause, "run": task.run, "at": now_text()}
    answer |= {"target_version": version} if version else {}
    if task.check_mode:
        return Outcome(Verdict())
    task.still_wanted()
    publish = publisher_of(task)
    if publish is not None:
        publish(name_for(source.where), partial(measures_of_request, state, STATES))
    try:
        noted = source.note(json.dumps(answer))
    except Refusal as error:
        return Outcome(_not_noted(error))
    if noted:
        task.journal.did("noted_request", source.where, state=state)
    return Outcome(Verdict(), changed=noted)


def _not_noted(error: Refusal) -> Verdict:
    said = " ".join(reason.message for reason in error.verdict.reasons)
    return Verdict((remark("request_not_noted", f"The state of the request was not noted. {said}"),))
