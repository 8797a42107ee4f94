"""The records as the playbooks status and report show them, from the results of their tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..module_utils.common.verdict import sentence_of
from ..module_utils.run.output.status_text import status_lines
from .run_options import GivenVariables, on_plain_hosts

FORMS = ("html", "md", "json")
"""The file name extensions of a report."""
BROKEN = "record_not_readable"
"""The code of a record that is there, and cannot be read."""
LEFT = "restart_interrupted"
"""The code of a process that an interrupted restart has left."""


def status(given: GivenVariables) -> dict[str, Any]:
    """The lines of the playbook status, and the last words if a server gave no answer."""
    read, lock = given("status_read") or {}, given("status_lock") or {}
    hosts, before = on_plain_hosts(given), lock.get("before") or {}
    lines, unanswered = list[str](), list[Mapping[str, Any]]()
    if "records" in read:
        # The lock of hosts is shown below. If it could not be read, the records of all clusters are shown.
        ours = [each for each in read["records"] if each["name"] == lock["name"]] if "name" in lock else read["records"]
        lines += status_lines(ours, _reasons(read), _place(given), free=_free(given, read, before))
    else:
        unanswered.append(read)
    lines += [sentence_of(each) for each in _reasons(given("status_pods") or {}) if each["code"] == LEFT]
    if hosts and "run" in before and not unanswered:
        lines += [str(each["message"]) for each in _reasons(lock)] or ["No run is active on this cluster."]
    elif hosts and "run" not in before:
        unanswered.append(lock)
    return {"lines": lines, "last_words": _unanswered(unanswered[0]) if unanswered else ""}


def report(given: GivenVariables) -> dict[str, Any]:
    """The `path` and the `form` of a report, with its `record`, or the `refusal`.

    A relative path starts in the folder where the playbook was started.
    """
    read = given("report_read") or {}
    path = os.path.realpath(str(given("upgrade_report_path") or "upgrade-report.html"))
    form = os.path.splitext(path)[1].removeprefix(".")
    records = [each for each in read.get("records", ()) if "phase" in each]
    refusal = ""
    if "records" not in read or (read.get("verdict") or {}).get("state") == "refused":
        refusal = _unanswered(read)
    elif form not in FORMS:
        refusal = f"upgrade_report_path is {path}: let it end with .html, .md or .json, which chooses the form."
    elif not os.path.isdir(folder := os.path.dirname(path)):
        refusal = f"upgrade_report_path is {path}, and there is no folder {folder}: make it, or correct the path."
    elif not records and (broken := [each for each in _reasons(read) if each["code"] == BROKEN]):
        refusal = " ".join(map(sentence_of, broken))
    elif not records:
        refusal = (
            f"There is no record of an upgrade {_place(given)}. Run the upgrade first, or say with "
            "upgrade_record_kept_in and upgrade_record_path where its record is kept."
        )
    return {"path": path, "form": form, "refusal": refusal, "record": records[-1] if records else {}}


def _free(given: GivenVariables, read: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether it is known that no run holds a lock other than those that the records show.

    If the lock of a namespace is kept in its cluster, it is not read, so this is not known.
    """
    if on_plain_hosts(given):
        return "run" in before and before["run"] is None
    seen = "lock_not_seen" not in {each["code"] for each in _reasons(read)}
    return seen and (given("upgrade_lock_kept_in") or "kubernetes") == "kubernetes"


def _place(given: GivenVariables) -> str:
    return "of this cluster" if on_plain_hosts(given) else f"in namespace {given('upgrade_namespace')}"


def _unanswered(result: Mapping[str, Any]) -> str:
    """The last words for a task without an answer. A single look waits and does not fail: it has only reasons."""
    said = [sentence_of(each) for each in _reasons(result)]
    return "\n".join(said) or str(result.get("msg", ""))


def _reasons(result: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = (result.get("verdict") or {}).get("reasons", ())
    return found
