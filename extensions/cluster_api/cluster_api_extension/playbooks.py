"""A playbook of stateful.upgrade as the command of a task: its consent, and the kind of its failure. Pure: no I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

CALLBACK = "stateful.upgrade.stats_file"
"""The callback of the collection that writes the custom statistics of a run into a file."""
_CALLBACKS, _FILE = "ANSIBLE_CALLBACKS_ENABLED", "STATEFUL_UPGRADE_STATS_FILE"

KINDS: Mapping[str, frozenset[str]] = {
    "aborted": frozenset({"aborted_on_request", "stopped_by_request"}),
    "drain_timeout": frozenset({"drain_blocked"}),
    "unreachable": frozenset(
        {"hosts_unreachable", "kubernetes_unreachable", "opensearch_unreachable", "proxy_unreachable"}
    ),
    "run_failed": frozenset(
        {
            "kubernetes_conflict",
            "lock_contended",
            "lock_lost",
            "lock_watched",
            "locked",
            "not_confirmed",
            "plan_changed",
            "run_awaited",
        }
    ),
    "gate_timeout": frozenset({"batch_out_of_time", "run_time_over", "timed_out"}),
}
"""The kind of a failure by the codes of `upgrade_reasons`, in their precedence. All of them may pass by themselves:
another run may have the lock, and a plan may have changed since the worker has read its digest."""
DRAIN_TASK = "(Cordon the machines, and evict their pods)"
"""The task of the role `machines` in which pods are asked to leave, as the cause of a failure quotes it."""


def planning(command: Sequence[str]) -> list[str]:
    """The command that shows the plan, and changes nothing."""
    return [*command, "--check"]


def agreeing(command: Sequence[str], digest: str) -> list[str]:
    """The command that carries out the plan of this digest, and no other one."""
    return [*command, "--extra-vars", f"upgrade_confirm={digest}"]


def reporting(environment: Mapping[str, str], file: str) -> dict[str, str]:
    """The variables of the environment with which a playbook writes its statistics into a file."""
    enabled = [each for each in environment.get(_CALLBACKS, "").split(",") if each.strip() not in ("", CALLBACK)]
    return {_CALLBACKS: ",".join([*enabled, CALLBACK]), _FILE: file}


def statistics_in(written: str) -> dict[str, Any]:
    """The statistics in a file; none if it has nothing that can be read."""
    try:
        content = json.loads(written or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def digest_in(statistics: Mapping[str, Any]) -> str:
    """The digest of the plan; empty if none was shown."""
    return str(statistics.get("upgrade_confirm") or "")


def failure_in(code: int, statistics: Mapping[str, Any]) -> dict[str, str]:
    """The kind and the reason of the end of a playbook, as a command writes them; empty if all is done.

    A pass that waits ends with code 0, and its machine is not on the target yet. Without statistics there is no kind,
    so that the exit code decides.
    """
    state, cause = str(statistics.get("upgrade_state") or ""), str(statistics.get("upgrade_cause") or "")
    codes = [str(each) for each in statistics.get("upgrade_reasons") or ()]
    if code == 0 and state == "done":
        return {}
    if state == "waiting":
        sentences = " ".join(str(each) for each in statistics.get("upgrade_waiting_for") or ())
        return {"kind": "gate_timeout", "reason": sentences or "the run waits"}
    if code == 0:
        return {"kind": "run_failed", "reason": f"the playbook did not say that it is done; is {CALLBACK} installed?"}
    kind = kind_of(codes, cause) if codes else "unreachable" if code == 4 else "run_failed" if state else ""
    return {"kind": kind, "reason": cause}


def kind_of(codes: Sequence[str], cause: str) -> str:
    """The kind of a failure with these codes. If a person has to fix one of them, the failure is `refused`."""
    if not codes or not frozenset().union(*KINDS.values()).issuperset(codes):
        return "refused"
    found = next(kind for kind, its in KINDS.items() if its.intersection(codes))
    return "drain_timeout" if found == "gate_timeout" and DRAIN_TASK in cause else found
