"""Playbooks that act on the servers of a test, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from tests.playbook_processes.process import PlaybookProcess, program, run


class Playbooks:
    """The playbooks, with the variables and the environment that all of them get."""

    longest = 120
    """Seconds that a playbook may take on a busy machine."""

    def __init__(self, environment: Mapping[str, str], variables: Mapping[str, Any]) -> None:
        self.environment, self.variables = environment, variables

    def start(self, playbook: str, **more: Any) -> PlaybookProcess:
        """A playbook that is at work, in a group of processes of its own."""
        return PlaybookProcess(self._command(playbook, more), self.environment, own_session=True)

    def _command(self, playbook: str, more: Mapping[str, Any]) -> list[str]:
        return [program(), playbook, "-e", json.dumps({**self.variables, **more})]

    def on_a_terminal(self, playbook: str, **more: Any) -> str:
        """All that a playbook writes to a terminal, however it ends."""
        mine, its = os.openpty()
        command = self._command(playbook, more)
        with subprocess.Popen(command, env=dict(self.environment), stdin=its, stdout=its, stderr=its) as process:
            os.close(its)
            written = b""
            with contextlib.suppress(OSError):  # so the end of a terminal is reported
                while more_of_it := os.read(mine, 4096):
                    written += more_of_it
            process.wait(timeout=self.longest)
        os.close(mine)
        return written.decode(errors="replace")

    def play(self, playbook: str, code: int = 0, **more: Any) -> str:
        """The output of a playbook, which ends with this exit code."""
        done = run(self._command(playbook, more), self.environment, timeout=self.longest)
        assert done.returncode == code, done.stdout
        return done.stdout
