# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands run beside a container's process: exec probes and preStop hooks."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from pathlib import Path

from tests.lab.api import Json
from tests.lab.images import Launch
from tests.lab.kubelet.place import PodPlace
from tests.lab.kubelet.probes import Prober
from tests.lab.processes import Process, record_of, spawn

HOOK_LIMIT = 3600.0


class Executor:
    """Runs commands with the environment, the directory, the user and the control group of one container."""

    def __init__(self, place: PodPlace, launch: Launch, group: Path | None) -> None:
        self._place = place
        self._launch = launch
        self._group = group

    async def run(self, command: list[str], timeout: float) -> tuple[int, str]:
        """Exit code and output; a command that takes longer than `timeout` seconds is killed."""
        with tempfile.TemporaryFile() as output:
            try:
                user, group = self._place.host.user, self._group
                popen = spawn(command, self._launch.env, self._launch.cwd, output, user=user, group=group)
            except OSError as error:
                return 126, f"{command[0]}: {error.strerror}"
            record = record_of("/".join((*self._place.name, "exec")), popen.pid)
            self._place.host.ledger.add(record)
            process = Process(popen, record)
            try:
                code = await asyncio.wait_for(process.wait(), timeout)
            except asyncio.TimeoutError:
                return 124, f"command timed out after {timeout:g}s"
            finally:
                process.signal(signal.SIGKILL)
            output.seek(0)
            return code, output.read().decode(errors="replace")

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
