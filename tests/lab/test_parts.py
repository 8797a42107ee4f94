"""The lab's pure parts: status, probes, back-off, addresses, environment, endpoints."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.lab import addresses, images
from tests.lab.addresses import HOST, POD_THIRDS, PORTS, AddressBook, ClaimedPort, Range
from tests.lab.errors import LabError
from tests.lab.kubelet.container import back_off
from tests.lab.kubelet.environment import expand
from tests.lab.kubelet.place import Host, NodePlace
from tests.lab.kubelet.pod import PodWorker
from tests.lab.kubelet.probes import Tally
from tests.lab.kubelet.status import ContainerState, PodView, Running, Terminated, Waiting, phase, pod_status
from tests.lab.proxy import Endpoint, endpoints_of

RUNNING = ContainerState("c", "probe:1", Running("now"), started=True, ready=True, container_id="lab://1")
ENDED = Terminated(1, "Error", "then", "now", "lab://1")
VIEW = PodView("127.9.1.1", "127.9.0.10", "then", True, [RUNNING], [], False)
LATE = 0.1
"""Seconds: more than a pod takes from the end of its containers to the write of its end."""
MANIFEST: dict[str, Any] = {"metadata": {"generation": 3}, "spec": {}}


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in status["conditions"] if item["type"] == kind)
    return found


@pytest.mark.parametrize(
    ("states", "final", "expected"),
    [
        ([RUNNING], False, "Running"),
        ([RUNNING, replace(RUNNING, state=Waiting("ErrImagePull"))], False, "Pending"),
        ([replace(RUNNING, state=Waiting("CrashLoopBackOff"), last=ENDED)], False, "Running"),
        ([replace(RUNNING, state=replace(ENDED, exit_code=0))], True, "Succeeded"),
        ([replace(RUNNING, state=ENDED), replace(RUNNING, state=replace(ENDED, exit_code=0))], True, "Failed"),
    ],
)
def test_phase(states: list[ContainerState], final: bool, expected: str) -> None:
    assert phase(replace(VIEW, containers=states, final=final)) == expected


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cp -r /etc/given/* /etc/given-too/", "cp -r /host/1/* /host/2/"),
        ("chown 7:7 '/etc/given'", "chown 7:7 '/host/1'"),
        ("ls /etc/given.bak /srv/etc/given /etc", "ls /etc/given.bak /srv/etc/given /etc"),
    ],
)
def test_commands_find_the_folders_that_are_mounted(command: str, found: str) -> None:
    folders = {"/etc/given": Path("/host/1"), "/etc/given-too": Path("/host/2")}
    assert images.found_on_host([command], folders) == (found,)
    assert images.found_on_host([command], {}) == (command,)


def test_a_transition_time_changes_only_with_its_status() -> None:
    first = pod_status(VIEW, MANIFEST, {}, "10:00")
    known = {item["type"]: item for item in first["conditions"]}
    unready = pod_status(replace(VIEW, containers=[replace(RUNNING, ready=False)]), MANIFEST, known, "11:00")
    assert _condition(unready, "Ready")["lastTransitionTime"] == "11:00"
    assert _condition(unready, "Initialized")["lastTransitionTime"] == "10:00"
    assert _condition(unready, "Ready")["reason"] == "ContainersNotReady"


def test_a_readiness_gate_holds_ready_but_not_containers_ready() -> None:
    gated = {**MANIFEST, "spec": {"readinessGates": [{"conditionType": "shards/started"}]}}
    status = pod_status(VIEW, gated, {}, "now")
    assert (_condition(status, "ContainersReady")["status"], _condition(status, "Ready")["status"]) == ("True", "False")
    opened = {**gated, "status": {"conditions": [{"type": "shards/started", "status": "True"}]}}
    assert _condition(pod_status(VIEW, opened, {}, "now"), "Ready")["status"] == "True"


def test_back_off_doubles_from_ten_to_three_hundred_seconds() -> None:
    assert [back_off(count) for count in range(1, 9)] == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_tally_needs_its_thresholds_in_a_row() -> None:
    tally = Tally(success_threshold=2, failure_threshold=3)
    verdicts = []
    for success in (True, True, False, False, True, False, False, False, True, True):
        tally = tally.after(success)
        verdicts.append(tally.verdict)
    assert verdicts == [None, True, True, True, True, True, True, False, False, True]


def test_expansion_knows_escapes_and_leaves_unknown_names() -> None:
    assert expand("$(A)-$$(A)-$(B)-$A", {"A": "1"}) == "1-$(A)-$(B)-$A"


def test_an_address_belongs_to_a_name_even_when_checksums_collide() -> None:
    book = AddressBook(9, range(16, 17))
    names = [f"ns/pod-{number}" for number in range(254)]
    given = {book.address(name) for name in names}
    assert len(given) == 254, "254 names share 254 addresses, so most of them collide"
    assert {book.address(name) for name in names} == given
    with pytest.raises(LabError, match="no loopback address left"):
        book.address("one/more")
    assert AddressBook(9, POD_THIRDS).address("ns/a") != AddressBook(9, POD_THIRDS).address("other/a")


def test_claimed_ranges_differ() -> None:
    claimed = [Range.claim([]) for _number in range(3)]
    for one in claimed:
        one.release()
    assert len({one.number for one in claimed}) == 3


def test_a_range_where_something_listens_is_passed_over() -> None:
    free = Range.claim([])
    free.release()
    with socket.socket() as listener:
        listener.bind((free.control_plane, 0))
        listener.listen()
        other = Range.claim([listener.getsockname()[1]])
        other.release()
    assert other.number != free.number


def test_claimed_ports_differ_and_are_none_that_the_kernel_gives_away() -> None:
    claimed = [ClaimedPort.claim() for _number in range(3)]
    with socket.create_server((HOST, claimed[0].number)), socket.create_server((HOST, 0)) as any_port:
        assert any_port.getsockname()[1] not in PORTS
    for one in claimed:
        one.release()
    assert len({one.number for one in claimed}) == len(claimed)


def test_a_port_that_is_claimed_or_at_which_something_listens_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = ClaimedPort.claim()
    monkeypatch.setattr(addresses, "PORTS", range(claimed.number, claimed.number + 1))
    with pytest.raises(LabError, match=f"No port from {claimed.number} to {claimed.number} is free"):
        ClaimedPort.claim()
    claimed.release()
    with socket.create_server((HOST, claimed.number)), pytest.raises(LabError, match="end what listens there"):
        ClaimedPort.claim()


@pytest.mark.parametrize("name", ["probe:3", "nothing:1", "probe", "registry.example:5000/probe:3"])
def test_images_that_do_not_exist(name: str) -> None:
    with pytest.raises(images.ImageNotFound):
        images.resolve(name)


def test_a_registry_with_a_port_is_not_a_tag() -> None:
    assert images.resolve("registry.example:5000/some/probe:2") == images.ProbeImage("2")


def _pod(address: str, *, ready: str = "True", **metadata: Any) -> dict[str, Any]:
    ports = [{"ports": [{"name": "http", "containerPort": 9200}]}]
    return {
        "metadata": {"namespace": "ns", "labels": {"app": "x", "more": "y"}, **metadata},
        "spec": {"containers": ports},
        "status": {"podIP": address, "conditions": [{"type": "Ready", "status": ready}]},
    }


def test_endpoints_are_ready_pods_that_are_not_terminating() -> None:
    port = {"port": 80, "targetPort": "http"}
    service: dict[str, Any] = {"metadata": {"namespace": "ns"}, "spec": {"selector": {"app": "x"}}}
    pods = [
        _pod("127.9.1.2"),
        _pod("127.9.1.1"),
        _pod("127.9.1.3", ready="False"),
        _pod("127.9.1.4", deletionTimestamp="now"),
        _pod("127.9.1.5", namespace="other"),
        _pod("127.9.1.6", labels={"app": "z"}),
    ]
    assert endpoints_of(service, port, pods) == [Endpoint("127.9.1.1", 9200), Endpoint("127.9.1.2", 9200)]
    service["spec"]["publishNotReadyAddresses"] = True
    assert Endpoint("127.9.1.3", 9200) in endpoints_of(service, port, pods)


class SlowServer:
    """An API server that carries out what it was sent, though the client has gone away: the first write last."""

    def __init__(self) -> None:
        self.asked, self.carried_out = asyncio.Event(), asyncio.Event()
        self.phases: list[str] = []
        self._works: list[asyncio.Task[None]] = []

    async def patch(self, _path: str, body: dict[str, Any], _kind: str) -> None:
        self.asked.set()
        self._works.append(asyncio.create_task(self._carry_out(body["status"]["phase"], first=not self._works)))
        await asyncio.shield(self._works[-1])

    async def _carry_out(self, phase: str, *, first: bool) -> None:
        arrived = asyncio.Event()
        asyncio.get_running_loop().call_later(LATE if first else 0.0, arrived.set)
        await arrived.wait()
        self.phases.append(phase)
        if len(self.phases) > 1:
            self.carried_out.set()


class EndsWhileItIsWritten(PodWorker):
    """A pod whose containers end while its status is on the way."""

    async def _live(self) -> None:
        self._changed.set()
        await self.place.host.api.asked.wait()  # type: ignore[attr-defined]


def test_no_write_that_is_under_way_overtakes_the_terminal_phase(tmp_path: Path) -> None:
    async def lived() -> list[str]:
        server, silent = SlowServer(), SimpleNamespace(write=lambda *_, **__: None)
        given: dict[str, Any] = {"api": server, "log": silent, "addresses": SimpleNamespace(address=lambda _: "a")}
        others: Any = dict.fromkeys(("probing", "ledger", "recorder", "faults", "user"))
        metadata = {"namespace": "n", "name": "p", "uid": "u"}
        manifest = {"metadata": metadata, "spec": {"containers": []}}
        worker = EndsWhileItIsWritten(Host(tmp_path, **given, **others), NodePlace("k", "z", "b", tmp_path), manifest)
        life = worker.start(None)
        await server.carried_out.wait()
        life.cancel()
        return server.phases

    assert asyncio.run(lived()) == ["Running", "Succeeded"]
