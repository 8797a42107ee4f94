"""The worker: claims one task after the other, and runs a command for each, such as ansible-playbook."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from .claims import ClaimLost, Claims
from .documents import NotUnderstood
from .kubernetes_api import Unanswered
from .tasks import Task, done, ended, in_progress

LOG = logging.getLogger("cluster_api_extension")
RESULT = "MACHINE_TASK_RESULT"
"""The variable of the environment with the file into which a command may write its result: a kind and a reason."""
LASTING_CODES = frozenset({1, 5, 126, 127, 250})
"""Exit codes of commands that another attempt does not change: options that are wrong, a program that is not there."""
GRACE = 60.0
"""Seconds that a command has to come to its end after its claim is lost."""
SIGNS_OF_LIFE = 3
"""Signs of life in the time for which a claim holds."""


def placeholders(task: Task) -> dict[str, str]:
    """The words that a command may have in braces; a version is without its v, as `target_version` is."""
    wanted = task.wanted
    return {
        "version": wanted.version.removeprefix("v"),
        "machine": wanted.name,
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


def result_of(code: int, written: str) -> tuple[str, str]:
    """The kind and the reason of a failure: from the file of the command, or from its exit code."""
    try:
        content = json.loads(written or "{}")
    except ValueError:
        content = {}
    kind, reason = (str(content.get(name, "")) if isinstance(content, dict) else "" for name in ("kind", "reason"))
    by_code = "bad_command" if code in LASTING_CODES else "unreachable" if code == 4 else "run_failed"
    return kind or by_code, reason[:500] or f"the command ended with code {code}"


class Worker:
    """Carries out tasks by one command."""

    def __init__(
        self, claims: Claims, command: Sequence[str], claim_seconds: float, now: Callable[[], datetime]
    ) -> None:
        self._claims, self._command, self._seconds, self._now = claims, command, claim_seconds, now

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
        with tempfile.TemporaryDirectory(prefix="machine-task-") as folder:
            result = Path(folder, "result.json")
            words = placeholders(task)
            variables = {f"MACHINE_TASK_{name.upper()}": value for name, value in words.items()}
            environment = {**os.environ, **variables, RESULT: str(result)}
            try:
                process = await asyncio.create_subprocess_exec(
                    *filled(self._command, words), env=environment, start_new_session=True
                )
            except OSError as error:
                problem = f"the command cannot be started ({type(error).__name__})"
                await self._claims.change(task, lambda current: ended(current, "bad_command", problem, self._now()))
                return
            code = await self._watched(task, process)
            written = result.read_text(encoding="utf-8") if result.exists() else ""
        await self._claims.change(task, lambda current: self._judged(current, code, written))

    def _judged(self, task: Task, code: int, written: str) -> Task:
        if code == 0:
            return done(task, self._now())
        kind, reason = result_of(code, written)
        return ended(task, "aborted" if task.abort else kind, reason, self._now())

    async def _watched(self, task: Task, process: asyncio.subprocess.Process) -> int:
        """Shows signs of life until the command has ended. It is asked to end once the claim is lost.

        An abort lets it come to its end, since a machine is worse off in the middle of an upgrade than after it.
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
                        raise ClaimLost(f"There was no sign of life for the claim: {error}") from error
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if not waiting.done():
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, number)
                    await asyncio.wait({waiting}, timeout=GRACE)
