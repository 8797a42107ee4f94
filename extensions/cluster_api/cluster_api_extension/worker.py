"""The worker: claims one task after the other, and runs a command for each, such as ansible-playbook."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from . import playbooks
from .claims import ClaimLost, Claims
from .documents import NotUnderstood
from .holds import MachineGone
from .kubernetes_api import Unanswered
from .tasks import Task, done, ended, in_progress

LOG = logging.getLogger("cluster_api_extension")
RESULT = "MACHINE_TASK_RESULT"
"""The variable of the environment with the file into which a command may write its result: a kind and a reason."""
LASTING_CODES = frozenset({1, 5, 126, 127, 250})
"""Exit codes that another attempt does not change: wrong options, a missing program."""
GRACE = 60.0
"""Seconds that a command has to end after its claim is lost."""
SIGNS_OF_LIFE = 3
"""Renewals in the time for which a claim holds."""
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def placeholders(task: Task) -> dict[str, str]:
    """The words that a command may have in braces; a version is without its v, as `target_version` is."""
    wanted = task.wanted
    return {
        "version": wanted.version.removeprefix("v"),
        "machine": "" if wanted.upgrade_task else wanted.name,
        "upgrade_task": wanted.name if wanted.upgrade_task else "",
        "namespace": wanted.namespace,
        "cluster": wanted.cluster,
        "kubernetes_node": wanted.kubernetes_node,
        "uid": wanted.uid,
        "role": "control-plane" if wanted.control_plane else "worker",
    }


def filled(command: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """The command with its placeholders filled; other braces stay."""
    made = list(command)
    for name, value in words.items():
        made = [each.replace(f"{{{name}}}", value) for each in made]
    return made


def missing(command: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """The placeholders of a command for which a task has no value: an empty word could mean all machines."""
    return [name for name, value in words.items() if not value and any(f"{{{name}}}" in each for each in command)]


def result_of(code: int, written: str) -> tuple[str, str]:
    """The kind and the reason of a failure: from the file of the command, or from its exit code."""
    try:
        content = json.loads(written or "{}")
    except ValueError:
        content = {}
    kind, reason = (str(content.get(name, "")) if isinstance(content, dict) else "" for name in ("kind", "reason"))
    by_code = "bad_command" if code in LASTING_CODES else "unreachable" if code == 4 else "run_failed"
    return kind or by_code, reason[:500] or f"the command ended with code {code}"


class NotStarted(Exception):
    """A command cannot be started: the kind of the failure, and the reason."""

    def __init__(self, reason: str, kind: str = "bad_command") -> None:
        super().__init__(reason)
        self.kind = kind


class Process(Protocol):
    """A command that was started, in a group of processes of its own."""

    pid: int

    async def wait(self) -> int:
        """The exit code, once it has ended."""


Begin = Callable[[Sequence[str], Mapping[str, str]], Awaitable[Process]]
"""Starts a command with the variables of its environment."""
Ended = tuple[int, str]
"""The exit code of a command, and what it has written as its result."""


async def as_process(command: Sequence[str], environment: Mapping[str, str]) -> Process:
    """Starts a command as a process, which is asked to end (SIGTERM) if the worker is killed.

    Raises:
        OSError: it cannot be started.
    """
    return await asyncio.create_subprocess_exec(
        *command, env=environment, start_new_session=True, preexec_fn=end_with_parent
    )


def end_with_parent() -> None:
    """Asks the kernel for SIGTERM once the parent has ended, so that the next attempt does not meet this one."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


async def end(process: Process, waiting: asyncio.Future[int]) -> None:
    """Ends a command and all that it has started, if it has not ended: first it is asked to, then it is killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not waiting.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            await asyncio.wait({waiting}, timeout=GRACE)


def content_of(file: Path) -> str:
    """The text of a file; empty if there is none."""
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


class Worker:
    """Carries out tasks by one command."""

    def __init__(
        self,
        claims: Claims,
        command: Sequence[str],
        claim_seconds: float,
        now: Callable[[], datetime],
        begin: Begin = as_process,
        *,
        confirms: bool = False,
    ) -> None:
        """`confirms` is for a playbook of stateful.upgrade: its plan is shown first, and the task consents to it."""
        self._claims, self._command, self._seconds, self._now = claims, command, claim_seconds, now
        self._begin, self._confirms = begin, confirms

    async def work_once(self) -> bool:
        """Claims the next task and carries it out; gives whether there was one.

        Raises:
            Unanswered: there was no answer before anything was claimed.
        """
        task = await self._claims.claim_next()
        if task is None:
            return False
        LOG.info("%s/%s to %s: claimed", task.wanted.namespace, task.wanted.name, task.wanted.version)
        try:
            task = await self._claims.change(task, lambda current: in_progress(current, self._now()))
            await self._carried_out(task)
        except (ClaimLost, NotUnderstood, Unanswered) as error:
            # The claim ends by itself, and the service counts the attempt as lost.
            LOG.warning("%s/%s: %s", task.wanted.namespace, task.wanted.name, error)
        with contextlib.suppress(Unanswered):
            await self._claims.give_back(task)
        return True

    async def _carried_out(self, task: Task) -> None:
        words = placeholders(task)
        command = filled(self._command, words)
        with tempfile.TemporaryDirectory(prefix="machine-task-") as folder:
            try:
                if empty := missing(self._command, words):
                    kind = "UpgradeTask" if task.wanted.upgrade_task else "Machine"
                    raise NotStarted(f"the {kind} has no {' and no '.join(empty)}, so nothing was started")
                if not task.wanted.upgrade_task:
                    await self._held(task)
                ending = self._agreed(task, command, folder) if self._confirms else self._run(task, command, folder)
                code, written = await ending
            except NotStarted as error:
                code, written = 1, json.dumps({"kind": error.kind, "reason": str(error)})
        if code == 0 and not task.wanted.upgrade_task:
            # Before the end of the task is written: after that no one would look for a hold that is left.
            await self._claims.holds.release(task.wanted)
        await self._claims.change(task, lambda current: self._judged(current, code, written))

    async def _held(self, task: Task) -> None:
        try:
            await self._claims.holds.hold(task.wanted)
        except MachineGone as error:
            raise NotStarted(str(error), "gone") from error
        except Unanswered as error:
            reason = f"the Machine could not be kept from being replaced, so nothing was started: {error}"
            raise NotStarted(reason, "run_failed") from error

    async def _agreed(self, task: Task, command: Sequence[str], folder: str) -> Ended:
        """The end of a playbook whose plan is shown first. An abort after that ends it before anything was done."""
        file = Path(folder, "statistics.json")
        reporting = playbooks.reporting(os.environ, str(file))
        code, _written = await self._run(task, playbooks.planning(command), folder, reporting)
        digest = playbooks.digest_in(playbooks.statistics_in(content_of(file)))
        if code == 0 and digest:
            if (await self._claims.renew(task)).abort:
                return 1, json.dumps({"kind": "aborted", "reason": "nothing was begun"})
            code, _written = await self._run(task, playbooks.agreeing(command, digest), folder, reporting)
        failure = playbooks.failure_in(code, playbooks.statistics_in(content_of(file)))
        return (code or 1, json.dumps(failure)) if failure else (0, "")

    async def _run(
        self, task: Task, command: Sequence[str], folder: str, more: Mapping[str, str] | None = None
    ) -> Ended:
        """Runs a command to its end; gives its exit code, and what it has written as its result."""
        result = Path(folder, "result.json")
        variables = {f"MACHINE_TASK_{name.upper()}": value for name, value in placeholders(task).items()}
        environment = {**os.environ, **variables, RESULT: str(result), **(more or {})}
        try:
            process = await self._begin(command, environment)
        except OSError as error:
            raise NotStarted(f"the command cannot be started ({type(error).__name__})") from error
        return await self._watched(task, process), content_of(result)

    def _judged(self, task: Task, code: int, written: str) -> Task:
        if code == 0:
            return done(task, self._now())
        kind, reason = result_of(code, written)
        return ended(task, "aborted" if task.abort else kind, reason, self._now())

    async def _watched(self, task: Task, process: Process) -> int:
        """Renews the claim until the command has ended. It is asked to end once the claim is lost.

        After an abort it still finishes, because a half-upgraded machine is worse than an upgraded one.
        """
        loop = asyncio.get_running_loop()
        last = loop.time()
        waiting = asyncio.ensure_future(process.wait())
        try:
            while True:
                ready, _rest = await asyncio.wait({waiting}, timeout=self._seconds / SIGNS_OF_LIFE)
                if ready:
                    return waiting.result()
                try:
                    await self._claims.renew(task)
                    last = loop.time()
                except Unanswered as error:
                    if loop.time() - last >= self._seconds * (SIGNS_OF_LIFE - 1) / SIGNS_OF_LIFE:
                        raise ClaimLost(f"The claim could not be renewed: {error}") from error
        finally:
            await end(process, waiting)
