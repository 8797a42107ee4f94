"""The playbooks of scenarios, run in this process: in the place of ansible-playbook in processes of its own."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode, urlsplit

from tests.runs import chosen, executor
from tests.runs.calling import Calling
from tests.runs.prepared import Time
from tests.runs.turns import RUN, Killed, OneRun
from tests.runs.world import world
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Answer, CutOff, Request
from tests.sandbox.webhook import Answering, Served
from tests.scenarios.fault_proxy import FaultProxy, asks
from tests.scenarios.playbook import Here, Played
from tests.scenarios.reverse_proxy import AnswerLost, Passing

KNOWN = {"ANSIBLE_SHOW_CUSTOM_STATS"}
"""Settings that this process has anyway."""
START = 1.0
"""Seconds until a process has come to its first task, during which the servers go on."""
AS_KILLED = -int(signal.SIGKILL)
ACCEPTED = 300
"""Statuses below it are success."""


class BegunHere:
    """A run in a thread that takes its turns. A signal, be it one or the other, kills it before its next request."""

    def __init__(self, run: OneRun, work: Callable[[io.StringIO], Played]) -> None:
        self._run, self._work = run, work
        self._shown = io.StringIO()
        self._code: int | None = None
        self._end = ""
        self._error: BaseException | None = None
        assert Time.clock is not None
        self._turns = Time.clock
        self._turns.queued(self._to_its_end)

    pid = os.getpid()

    @property
    def output(self) -> str:
        """See `tests.scenarios.playbook.Begun`."""
        return self._end or self._shown.getvalue() or "\n".join(self._run.lines)

    def poll(self) -> int | None:
        """See `tests.scenarios.playbook.Begun`."""
        if self._error is not None:
            raise self._error
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """See `tests.scenarios.playbook.Begun`."""
        self._turns.until(lambda: self._error is not None or self._code is not None)
        code = self.poll()
        assert code is not None
        return code

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        """See `tests.scenarios.playbook.Begun`."""
        self._run.killed = self._code is None

    def _to_its_end(self) -> None:
        RUN.set(self._run)
        try:
            time.sleep(START)
            played = self._work(self._shown)
            self._code, self._end = played.code, played.output
        except Killed:
            self._end, self._code = self.output, AS_KILLED
        except BaseException as error:  # noqa: BLE001 - whoever asks for its end gets it
            self._error = error


class DriverHere:
    """See `tests.scenarios.playbook.Driver`."""

    def __init__(self, calling: Calling) -> None:
        self._calling = calling

    def play(self, playbook: str, variables: Mapping[str, Any], own: Mapping[str, str], *more: str) -> Played:
        """See `tests.scenarios.playbook.Driver`."""
        time.sleep(START)
        with patch.dict(os.environ, _beyond_settings(own)):
            return chosen.play(playbook, variables, *more)

    def begin(self, playbook: str, variables: Mapping[str, Any], own: Mapping[str, str], *more: str) -> BegunHere:
        """See `tests.scenarios.playbook.Driver`."""
        assert not _beyond_settings(own), f"A run in this process has its environment: {own}"
        return BegunHere(executor.a_run(), lambda shown: chosen.play(playbook, variables, *more, output=shown))

    @contextlib.contextmanager
    def proxies(self, proxy: Any, cluster: str, kubernetes: str, token: str) -> Iterator[None]:
        """See `tests.scenarios.playbook.Driver`."""
        door = {"Authorization": token}
        served = [
            self._calling.proxy(self._passing(proxy, cluster, {})),
            self._calling.proxy(self._passing(proxy, kubernetes, door)),
        ]
        proxy.opensearch, proxy.kubernetes = (each.url for each in served)
        try:
            yield
        finally:
            for each in served:
                each.close()

    def _passing(self, proxy: FaultProxy, url: str, headers: Mapping[str, str]) -> Callable[[Request], Answer]:
        place = urlsplit(url)

        def answer(request: Request) -> Answer:
            def forward() -> Answer:
                asked = Request(
                    request.method,
                    request.path,
                    request.query,
                    request.body,
                    {**request.headers, **headers},
                    request.repeated,
                    request.secure,
                )
                return self._calling.ask(str(place.hostname), int(place.port or 0), asked)

            return _passed(proxy, request, forward)

        return answer


def _passed(proxy: FaultProxy, request: Request, forward: Callable[[], Answer]) -> Answer:
    """The answer of a proxy, as `FaultProxy.handle` gives it."""
    query = f"?{urlencode(request.repeated)}" if request.repeated else ""
    passing = Passing(request.method, request.path + query, "", b"")
    status = proxy.refused_with(passing)
    if status:
        return Answer(status, "Too busy.")
    if asks(passing):
        return forward()
    body = copy.deepcopy(request.body)
    trap = proxy.caught(passing, body)
    if trap is not None and not trap.after:
        proxy.note(passing, body, None)
        trap.spring()
        return Answer(503, "held up")
    answer = forward()
    proxy.note(passing, body, answer.status)
    if trap is not None:
        trap.spring()
    if answer.status < ACCEPTED:
        try:
            proxy.lose(passing, body)
        except AnswerLost:
            raise CutOff(made=True) from None
    return answer


def _beyond_settings(own: Mapping[str, str]) -> dict[str, str]:
    """The variables of the environment that are no settings of Ansible, of which a process has one set."""
    settings = {name for name in own if name.startswith(("ANSIBLE_", "PYTHON"))} - KNOWN
    assert not settings, f"A test with settings of its own needs a process of its own: {sorted(settings)}"
    return {name: value for name, value in own.items() if name not in KNOWN}


@contextlib.contextmanager
def platform_here() -> Iterator[Sandbox]:
    """The servers in memory for scenarios whose runs are in this process, all on one virtual clock."""
    with world() as here:
        served = patch.object(Served, "by", lambda answering: _served(here.calling, answering))
        with served, patch.object(Here, "driver", DriverHere(here.calling)):
            yield here.sandbox


@contextlib.contextmanager
def _served(calling: Calling, answering: Answering) -> Iterator[str]:
    served = calling.serve(answering)
    try:
        yield served.url
    finally:
        served.close()
