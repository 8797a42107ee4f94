"""The gate of a Cluster, written by a command that looks at its database, such as ansible-playbook."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from .gates import GateAnswer
from .kubernetes_api import Conflict, Unanswered
from .store import Store
from .worker import LOG, RESULT, Begin, Process, as_process, content_of, end, result_of


class GateRuns:
    """Asks a command whether a Cluster is fit, and writes its answer into the gate. Exit code 0 is fit."""

    def __init__(
        self,
        store: Store,
        cluster: tuple[str, str],
        command: Sequence[str],
        limit: float,
        now: Callable[[], datetime],
        begin: Begin = as_process,
    ) -> None:
        """`cluster` is its namespace and name, and `limit` the seconds within which the command has to end."""
        self._store, self._cluster, self._command = store, cluster, command
        self._limit, self._now, self._begin = limit, now, begin

    async def look_once(self) -> GateAnswer:
        """The answer as it was written, with the time at which the command was started.

        Raises:
            Unanswered: it could not be written, so that the one before counts until it is too old.
        """
        seen = self._now()
        cause = await self._cause()
        answer = GateAnswer(not cause, cause, seen)
        try:
            await self._store.keep_gate(*self._cluster, answer)
        except Conflict as error:
            raise Unanswered("The gate is being written by others.") from error
        LOG.info("%s: %s", "/".join(self._cluster), "fit" if answer.fit else f"not fit: {cause!r}")
        return answer

    async def _cause(self) -> str:
        """The reason why it is not fit; empty if it is."""
        namespace, name = self._cluster
        with tempfile.TemporaryDirectory(prefix="gate-") as folder:
            result = Path(folder, "result.json")
            more = {"GATE_NAMESPACE": namespace, "GATE_CLUSTER": name, RESULT: str(result)}
            try:
                process = await self._begin(self._command, {**os.environ, **more})
            except OSError as error:
                return f"The command of the gate cannot be started ({type(error).__name__})."
            code = await self._code(process)
            if code is None:
                return f"The command of the gate has not ended within {self._limit:g} s."
            return "" if code == 0 else result_of(code, content_of(result))[1]

    async def _code(self, process: Process) -> int | None:
        """The exit code of the command; None if it had to be ended."""
        waiting = asyncio.ensure_future(process.wait())
        try:
            ready, _rest = await asyncio.wait({waiting}, timeout=self._limit)
            return waiting.result() if ready else None
        finally:
            await end(process, waiting)
