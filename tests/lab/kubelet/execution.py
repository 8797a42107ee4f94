"""Commands run next to a container's process: exec probes, preStop hooks, and those of `pods/exec`."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from tests.lab import process_namespace
from tests.lab.api import Json
from tests.lab.images import Launch, found_on_host
from tests.lab.kubelet import contained
from tests.lab.kubelet.place import PodPlace
from tests.lab.kubelet.probes import Prober
from tests.lab.processes import Output, Process

HOOK_LIMIT = 3600.0


@dataclass(frozen=True)
class Ended:
    """The end of a command, and what it has written."""

    code: int
    output: bytes
    errors: bytes


class Executor:
    """Runs commands in the namespaces of one container, with its environment, directory, user and control group."""

    def __init__(
        self,
        place: PodPlace,
        launch: Launch,
        process: Process,
        group: Path | None = None,
    ) -> None:
        self._place = place
        self._launch = launch
        self._process = process
        self._group = group

    async def run(self, command: Sequence[str], timeout: float) -> tuple[int, str]:
        """Exit code and output; a command that takes longer than `timeout` seconds is killed."""
        with tempfile.TemporaryFile() as output:
            try:
                code = await self._ended(command, output, timeout)
            except asyncio.TimeoutError:
                return 124, f"command timed out after {timeout:g}s"
            except OSError as error:
                return 126, f"{command[0]}: {error.strerror}"
            return code, _read(output).decode(errors="replace")

    async def for_user(self, command: Sequence[str]) -> Ended:
        """Run a command of a user to its end. It is killed if no one waits for it any more.

        Raises:
            OSError: it cannot be started.
        """
        # Without a namespace of its own, its signals would reach other processes of the same user.
        if why := process_namespace.obstacle():
            raise OSError(1, f"the lab runs commands of users in process namespaces only: {why}")
        words = found_on_host(command, self._launch.folders)
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            code = await self._ended(words, (output, errors), None)
            return Ended(128 - code if code < 0 else code, _read(output), _read(errors))

    async def _ended(self, command: Sequence[str], output: Output, timeout: float | None) -> int:
        place = self._place
        launch, name = replace(self._launch, argv=tuple(command)), "/".join((*place.name, "exec"))
        user = None if launch.as_lab else place.host.user
        process = contained.start_beside(self._process, name, launch, output, user, self._group, place.host.ledger)
        try:
            return await asyncio.wait_for(process.wait(), timeout)
        finally:
            process.signal(signal.SIGKILL)

    async def hook(self, handler: Json, place: PodPlace) -> None:
        """Run a preStop hook to its end."""
        if "sleep" in handler:
            await asyncio.sleep(float(handler["sleep"]["seconds"]))
            return
        if "exec" in handler:
            code, output = await self.run(handler["exec"]["command"], HOOK_LIMIT)
            failed = f"exited with {code}: {output.strip()}" if code else ""
        else:
            look = {**handler, "timeoutSeconds": HOOK_LIMIT}
            result = await Prober(place.host.probing, place.address, {}, self.run).look(look)
            failed = "" if result.success else result.message
        if failed:
            place.report("Warning", "FailedPreStopHook", f"PreStopHook failed: {failed}")


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
