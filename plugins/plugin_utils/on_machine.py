"""Modules of Ansible on the machine of a task, carried out one after the other."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..module_utils.common.ancestry import ancestors, controller
from ..module_utils.common.timestamps import now_text
from ..module_utils.common.waiting import pause
from ..module_utils.run.failure import FAILED_STEP

Json = Mapping[str, Any]
Execute = Callable[[str, dict[str, Any], bool], dict[str, Any]]
"""Carries out a module by its name, its options, and whether it only checks."""
Call = Callable[[str, dict[str, Any], bool], dict[str, Any]]
"""Carries out an action of Ansible by its name, its options, and whether on the controller."""
TRIES, PAUSE = 3, 10.0
"""A fetch changes nothing that runs, so a network that fails for a short time does not end the run."""
TIMED_OUT = "timedout"


class StepFailed(Exception):
    """A step on the machine has failed, by its name and the result of its module."""

    def __init__(self, name: str, result: Json) -> None:
        super().__init__(f"{name}: {result.get('msg')}")
        self.name, self.result = name, result


class Refused(Exception):
    """The work does not go on, for a reason that is a whole sentence with its remedy."""


@dataclass
class TaskMachine:
    """The machine of a task."""

    execute: Execute
    call: Call
    say: Callable[[str], None]
    """Shows a line."""
    checks: bool
    """Whether nothing may be changed."""
    acts: list[dict[str, str]] = field(default_factory=list)
    """The changes in their order."""

    def result(self, name: str, /, *, checks: bool | None = None, **options: Any) -> dict[str, Any]:
        """The result of a module, also if it has failed. Without `checks` it checks if the run does.

        Raises:
            Refused: the controller has ended. Its workers outlive it, and start nothing more.
        """
        _go_on()
        return self.execute(name, options, self.checks if checks is None else checks)

    def called(self, name: str, /, *, on_controller: bool, **options: Any) -> dict[str, Any]:
        """The result of an action of Ansible, also if it has failed.

        Raises:
            Refused: the controller has ended.
        """
        _go_on()
        return self.call(name, options, on_controller)

    def looked(self, step: str, name: str, /, **options: Any) -> dict[str, Any]:
        """The result of a module that changes nothing, whatever it says of that.

        Raises:
            StepFailed: it has failed.
        """
        return proven(step, self.result(name, **options))

    def did(self, step: str, name: str, /, **options: Any) -> dict[str, Any]:
        """The result of a module that may change something.

        Raises:
            StepFailed: it has failed.
        """
        result = self.looked(step, name, **options)
        if result.get("changed"):
            self.changed(step)
        return result

    def changed(self, step: str) -> None:
        """Note a change."""
        self.acts.append({"action": step, "at": now_text("milliseconds")})

    def answer(self, step: str, argv: Sequence[str], *, checks: bool | None = None) -> dict[str, Any]:
        """The result of a command that may fail, but has to end.

        Raises:
            StepFailed: it has not ended within the time limit of the task.
        """
        result = self.result("command", argv=[*argv], checks=checks)
        if TIMED_OUT in result:
            raise StepFailed(step, result)
        return result

    def ran(self, step: str, argv: Sequence[str], **options: Any) -> dict[str, Any]:
        """The result of a command that changes nothing of the machine that matters.

        Raises:
            StepFailed: it has failed.
        """
        return self.looked(step, "command", argv=[*argv], **options)

    def exists(self, step: str, path: str) -> bool:
        """Whether there is a file.

        Raises:
            StepFailed: that cannot be seen.
        """
        return bool(self.looked(step, "stat", path=path)["stat"]["exists"])


def ended(machine: TaskMachine, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of the task: what its work on the machine gives, or its failure."""
    try:
        more = work()
    except (StepFailed, Refused) as failure:
        more = as_failed(failure)
    verdict: dict[str, Any] = {"state": "refused" if more.get("failed") else "passed", "reasons": []}
    shared: dict[str, Any] = {"verdict": verdict, "before": {}, "waited": [], "next": ""}
    return {**shared, **more, "actions": machine.acts, "changed": bool(machine.acts)}


def as_failed(failure: StepFailed | Refused) -> dict[str, Any]:
    """The failure as a part of a result."""
    if isinstance(failure, StepFailed):
        return {**failure.result, "failed": True, FAILED_STEP: failure.name}
    return {"failed": True, "msg": str(failure)}


def _go_on() -> None:
    if ancestors(1) != controller():
        raise Refused(
            "The controller process that started this task is gone, so the task stops without acting."
            " Run the playbook again: it continues where it was."
        )


def proven(step: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result.

    Raises:
        StepFailed: it is that of a failure.
    """
    if result.get("failed"):
        raise StepFailed(step, result)
    return result


def again(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of something that is tried again after a failure. What takes too long is not."""
    for _try in range(TRIES - 1):
        result = work()
        if not result.get("failed") or TIMED_OUT in result:
            return result
        pause(PAUSE)
    return work()


class ModuleTimeLimit:
    """The time limit of a task, which counts from the start of each module that the task carries out.

    Ansible has set its alarm for the whole task (`alarm_timeout` in `_internal/_errors/_alarm_timeout.py`, before
    ansible-core 2.19 `_execute` in `executor/task_executor.py`). Its handler stays until the task ends.
    """

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        # Without an alarm there is no handler for it.
        self._alarm = seconds if signal.alarm(0) else 0

    def within(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of a module; one that has taken longer is that of a failure."""
        try:
            signal.alarm(self._alarm)
            return work()
        except BaseException as error:
            if type(error).__name__ != "TaskTimeoutError":  # its module differs by the version of ansible-core
                raise
            said = f"Timed out after {self._seconds} second(s)."
            return {"failed": True, "changed": False, "msg": said, TIMED_OUT: {"period": self._seconds}}
        finally:
            signal.alarm(0)
