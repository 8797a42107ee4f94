"""Runs the collection's playbooks as users do: with ansible-playbook, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from tests.playbook_processes.process import PlaybookProcess, program, run

PLAYBOOK = "stateful.upgrade.opensearch"
PLAN = "stateful.upgrade.plan"
STATUS = "stateful.upgrade.status"

PATIENCE = 1800
"""Seconds after which a playbook that hangs fails the test; nothing is judged by time."""

_RECAP = re.compile(
    r"^(?P<host>\S+)\s+: ok=\d+\s+changed=(?P<changed>\d+)\s+unreachable=\d+\s+failed=(?P<failed>\d+)", re.M
)


@dataclass(frozen=True)
class Played:
    """The end of a run."""

    code: int
    output: str

    @property
    def changed(self) -> dict[str, int]:
        """Host → number of tasks that changed something."""
        return {found["host"]: int(found["changed"]) for found in _RECAP.finditer(self.output)}

    @property
    def message(self) -> str:
        """The sentence of the last task that failed, but for the one that only points to the report."""
        found = re.findall(r"^fatal: \[[^]]+\]: FAILED! => (\{.*\})$", self.output, re.M)
        said = [str(json.loads(each)["msg"]) for each in found]
        return ([""] + said[:1] + [each for each in said if not re.match(r"The \w+ has failed[.]", each)])[-1]


class Begun(Protocol):
    """A run under way."""

    @property
    def pid(self) -> int:
        """The process of its controller."""

    @property
    def output(self) -> str:
        """The output until now."""

    def poll(self) -> int | None:
        """The exit code; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended."""

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        """Send it a signal, or its whole group, unless it has ended."""


class Driver(Protocol):
    """Runs playbooks in this process."""

    def play(self, playbook: str, variables: Mapping[str, Any], own: Mapping[str, str], *more: str) -> Played:
        """Run a playbook to its end, with variables, an environment and further arguments."""

    def begin(self, playbook: str, variables: Mapping[str, Any], own: Mapping[str, str], *more: str) -> Begun:
        """Start a run."""

    def proxies(self, proxy: Any, cluster: str, kubernetes: str, token: str) -> AbstractContextManager[None]:
        """Serve a `FaultProxy` before the servers at both addresses, and give it its own addresses."""


class Here:
    """The driver of a process that was prepared for runs in it; None: each run is a process of its own."""

    driver: Driver | None = None


def command_of(playbook: str, variables: Mapping[str, Any], *more: str) -> list[str]:
    """The command line that runs a playbook, with the ansible-playbook next to this Python."""
    return [program(), playbook, "-e", json.dumps(dict(variables)), *more]


class Playing:
    """A run that goes on while the test does something else: a controller in a session of its own, as on a terminal."""

    def __init__(self, playbook: str, variables: Mapping[str, Any], environment: Mapping[str, str], *more: str) -> None:
        self._process: Begun = (
            Here.driver.begin(playbook, variables, environment, *more)
            if Here.driver
            else PlaybookProcess(command_of(playbook, variables, *more), environment, own_session=True)
        )

    @property
    def pid(self) -> int:
        """The controller, which also leads its process group."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether the controller is gone."""
        return self._process.poll() is not None

    @property
    def so_far(self) -> str:
        """The output until now."""
        return self._process.output

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        """Send a signal to the controller, or to its whole group, unless it has ended."""
        self._process.signal(number, group=group)

    def wait(self) -> Played:
        """The end of the run; nothing of it is left afterwards, even if it takes too long."""
        try:
            self._process.wait(timeout=PATIENCE)
        finally:
            self.signal(signal.SIGKILL, group=True)
        return self.abandon()

    def abandon(self) -> Played:
        """The end of the controller alone, and what the run has said so far: its workers are left alone."""
        code = self._process.wait(timeout=PATIENCE)
        return Played(code, self._process.output)


def play(
    playbook: str,
    variables: Mapping[str, Any],
    environment: Mapping[str, str],
    *arguments: str,
    live: bool = False,
) -> Played:
    """Run a playbook to its end; `live` also shows the output while it comes."""
    if Here.driver is not None:
        return Here.driver.play(playbook, variables, environment, *arguments)
    command = command_of(playbook, variables, *arguments)
    if live:
        return _shown(PlaybookProcess(command, environment))
    done = run(command, environment, timeout=PATIENCE)
    return Played(done.returncode, done.stdout)


def _shown(process: PlaybookProcess) -> Played:
    """The end of a run whose output is shown while it comes."""
    shown, code = "", None
    try:
        while code is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(timeout=0.1)
            more = process.output[len(shown) :]
            print(more, end="", flush=True)
            shown += more
    finally:
        process.kill()
    return Played(code, shown)


def confirmed(variables: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """The variables with consent to the present plan, as an automation that looked at it would give it.

    Raises:
        AssertionError: there is no plan.
    """
    return {**variables, "upgrade_confirm": digest_of(without_images(variables), environment)}


def without_images(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables with the proof of the images left out, for which a plan makes pods and waits."""
    given = variables.get("upgrade_skip_checks", ())
    return {
        **variables,
        "upgrade_skip_checks": [*(re.split(", *", given) if isinstance(given, str) else given), "images"],
    }


def digest_of(variables: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """The digest of the present plan, as the playbook `plan` hands it on.

    Raises:
        AssertionError: there is no plan.
    """
    return digest_in(play(PLAN, variables, {**environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}))


def digest_in(planned: Played) -> str:
    """The digest among the custom statistics of the playbook `plan`.

    Raises:
        AssertionError: there is no plan.
    """
    found = re.search(r'"?upgrade_confirm"?: "?(?P<digest>p[0-9a-f]{11})', planned.output)
    assert planned.code == 0, planned.message
    assert found is not None, planned.output
    return found["digest"]


def upgrade(
    variables: Mapping[str, Any], environment: Mapping[str, str], *arguments: str, live: bool = False
) -> Played:
    """Look at the plan, consent to it, and carry it out."""
    return play(PLAYBOOK, confirmed(variables, environment), environment, *arguments, live=live)
