"""The options of tasks in the playbooks that serve every upgrade, such as settle and pause, from their variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..module_utils.common.verdict import sentence_of
from .of_run import Run
from .records_shown import status
from .registered import of_system
from .run_options import GivenVariables

SAYING = ("approved", "paused", "resumed")
"""The states with which a person decides about an upgrade under way."""


def options_of_playbook(module: str, arguments: Mapping[str, Any], given: GivenVariables, run: Run) -> dict[str, Any]:
    """The options of a task; empty for a task of a run itself."""
    state = arguments.get("state")
    if module == "upgrade_lock":
        # A run that was asked to stop has given its lock back, or is dead.
        take_over = given("upgrade_take_over") if state == "held" and given("abort_stopped") is None else None
        return {"cluster_uuid": of_system(given, "identity"), "take_over": take_over}
    if module == "upgrade_record" and state in SAYING:
        reason = given("upgrade_pause_reason") if state == "paused" else None
        return {"record": given("upgrade_record_name"), "approval": given("upgrade_approval"), "summary": reason}
    if module == "upgrade_record" and state == "settled":
        return {"acts": run.end().acts, "summary": run.end().summary}
    if module == "upgrade_record" and arguments.get("event") == "aborted":
        return {"acts": run.end().acts}
    if module == "tell" and "lines" not in arguments and not run.plan:
        return status(given) if given("status_read") is not None else settled(given, run)
    return {}


def settled(given: GivenVariables, run: Run) -> dict[str, Any]:
    """The lines that say what became of the changes of runs, and the last words if some could not be put back."""
    end, said = run.end(), (given("abort_ended") or {}).get("verdict") or {}
    # A run that stopped on request has put everything back itself.
    put_back = end.acts or (given("abort_stopped") or {}).get("changed")
    stays = [sentence_of(one) for one in end.stays]
    if put_back and given("ansible_check_mode"):
        stays.append(
            "Checked only: nothing was changed. Without --check, what runs have left is put back (--diff shows it)."
        )
    elif put_back and not end.not_put_back:
        stays.append("All else is put back." if stays else "Everything is put back.")
    elif not stays and not end.not_put_back:
        stays.append("Nothing to put back.")
    lines = [sentence_of(one) for one in said.get("reasons", ())] + stays
    return {"lines": lines, "last_words": "\n".join(end.not_put_back)}
