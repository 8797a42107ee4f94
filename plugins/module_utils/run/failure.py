"""The failure of a task of a run, of this collection or of the user. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..common.verdict import State

HIDDEN = "its result is hidden by no_log"
NO_ANSWER = "-1"
"""The status that `ansible.builtin.uri` reports for a server that does not answer."""

FAILED_STEP = "failed_step"
"""The name of the step in the result of a task that takes several on a host."""


@dataclass(frozen=True)
class FailedTask:
    """A task that has failed."""

    task: str
    message: str
    codes: Sequence[str]
    """The codes of its reasons; those that were given if it has none."""
    unreachable: bool
    """Whether a host or a server gave no answer."""

    def as_result(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def failure_of(task: Mapping[str, Any], result: Mapping[str, Any], otherwise: Sequence[str] = ()) -> FailedTask:
    """The failure from the variables that Ansible gives to a rescue; `otherwise` are the codes if it has none."""
    reasons = (result.get("verdict") or {}).get("reasons", ())
    codes = [each["code"] for each in reasons if each["state"] == State.REFUSED.value]
    hidden = str(task.get("no_log") or "").lower() in ("true", "yes", "1", "on")
    return FailedTask(
        task=str(result.get(FAILED_STEP) or task.get("name") or task.get("action") or ""),
        message=HIDDEN if hidden else str(result.get("msg") or "failed"),
        codes=codes or list(otherwise),
        unreachable=bool(result.get("unreachable"))
        or str(result.get("status", "")) == NO_ANSWER
        or any(code.endswith("unreachable") for code in codes),
    )
