"""A machine in memory, with the service of one member of a cluster of three."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.opensearch.rooms import FROM, TO, Room
from tests.sandbox.plain_hosts.host import PlainHost
from tests.sandbox.plain_hosts.jobs import CHECKS, JOBS, PATH, UNDER_WAY
from tests.sandbox.plain_hosts.service import RESTART, START_TIMEOUT, Service
from tests.sandbox.web import CutOff, Request

NAME = "m-0"


class Machine:
    """A host whose member runs, and ways to ask it."""

    def __init__(self, *, restarts: bool = False) -> None:
        self.room = Room()
        self.room.cluster.kill(NAME)
        self.service = Service(self.room.clock, self.room.cluster, self.room.spec(NAME), restarts=restarts)
        self.host = PlainHost("opensearch", self.service)
        self.service.start()
        self.room.clock.advance(10.0)
        assert self.runs(FROM)

    def runs(self, version: str) -> bool:
        """Whether the member is in the cluster, on a version."""
        member = self.room.cluster.members[NAME]
        return self.room.cluster.ready(NAME) and member.spec.version == version

    def begin(self, module: str, **options: Any) -> str:
        """The job of a module that was started."""
        return str(self.host(Request("POST", f"{PATH}h/modules/{module}", body=options)).body["job"])

    def ended(self, job: str) -> Any:
        """The result of a job; None while it goes on."""
        answer = self.host(Request("GET", f"{PATH}h/{JOBS}/{job}"))
        return None if answer.status == UNDER_WAY else answer.body

    def do(self, module: str, **options: Any) -> Any:
        """The result of a module, once it has ended."""
        job = self.begin(module, **options)
        for _look in range(1_000):
            result = self.ended(job)
            if result is not None:
                return result
            self.room.clock.advance(0.25)
        raise AssertionError(f"{module} does not end")

    def systemd(self, state: str) -> Any:
        """The result of a start or a stop."""
        return self.do("systemd", name="opensearch", state=state)


def test_a_member_is_stopped_gets_a_new_version_and_is_started() -> None:
    machine = Machine()
    assert machine.do("apt", name=f"opensearch={TO}", **{CHECKS: True}) == {"changed": True}
    assert machine.service.installed == FROM
    assert [machine.systemd("stopped")["changed"] for _time in range(2)] == [True, False]
    assert [machine.do("apt", name=f"opensearch={TO}")["changed"] for _time in range(2)] == [True, False]
    assert [machine.systemd("started")["changed"] for _time in range(2)] == [True, False]
    assert machine.runs(TO)


def test_a_stop_goes_on_without_its_controller_and_a_start_waits_for_its_end() -> None:
    machine = Machine()
    machine.service.slow = 20.0
    job = machine.begin("systemd", name="opensearch", state="stopped")
    assert machine.ended(job) is None
    assert not machine.service.runs
    start = machine.begin("systemd", name="opensearch", state="started")
    machine.room.clock.advance(19.0)
    assert (machine.ended(start), machine.service.runs) == (None, False)
    machine.room.clock.advance(10.0)
    assert machine.ended(start) == {"changed": True}
    assert machine.runs(FROM)


@pytest.mark.parametrize(("restarts", "comes_back"), [(True, True), (False, False)])
def test_a_killed_process_comes_back_only_where_its_unit_says_so(restarts: bool, comes_back: bool) -> None:
    machine = Machine(restarts=restarts)
    machine.service.end()
    assert machine.service.has_failed is not restarts
    machine.room.clock.advance(RESTART + 10.0)
    assert machine.runs(FROM) is comes_back


def test_a_service_that_fails_is_started_until_it_is_stopped() -> None:
    machine = Machine(restarts=True)
    machine.systemd("stopped")
    machine.service.fails = True
    assert "exited with error code" in machine.systemd("started")["msg"]
    # While systemd keeps trying, a start has nothing to do.
    assert machine.systemd("started") == {"changed": False}
    machine.systemd("stopped")
    machine.service.fails = False
    machine.room.clock.advance(RESTART + 10.0)
    assert not machine.service.runs


def test_a_start_ends_when_its_time_is_over() -> None:
    machine = Machine()
    machine.systemd("stopped")
    for name in ("m-1", "m-2"):
        machine.room.cluster.kill(name)
    machine.room.cluster.state.durations = type(machine.room.cluster.state.durations)(no_manager=2 * START_TIMEOUT)
    assert "a timeout was exceeded" in machine.systemd("started")["msg"]
    assert not machine.service.runs


def test_without_a_repository_only_what_was_fetched_is_installed() -> None:
    machine = Machine()
    machine.host.repository_away = True
    fetch = ["apt-get", "--download-only", "install", f"opensearch={TO}"]
    assert machine.do("command", argv=fetch)["rc"] == 100
    assert machine.do("apt", name=f"opensearch={TO}")["failed"]
    machine.host.repository_away = False
    assert machine.do("command", argv=fetch)["rc"] == 0
    machine.host.repository_away = True
    assert machine.do("apt", name=f"opensearch={TO}") == {"changed": True}


def test_with_the_power_the_modules_go_and_the_service_comes_back() -> None:
    machine = Machine()
    machine.service.slow = 20.0
    job = machine.begin("systemd", name="opensearch", state="stopped")
    machine.host.power_off()
    with pytest.raises(CutOff):
        machine.ended(job)
    machine.host.power_on()
    machine.room.clock.advance(30.0)
    assert machine.runs(FROM)
