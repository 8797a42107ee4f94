"""Control by the agent, with a real one: it ends exactly the process that was seen, and starts wanted content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod as pod_of
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.by_agent import ByAgent
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import Process
from ansible_collections.stateful.upgrade.tests.unit.agent.agents import TOKEN, Agent, Place, agent
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects


@pytest.fixture
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(Place(tmp_path_factory.mktemp("agent"))) as found:
        found.await_log("begun")
        yield found


def way_to(of: Agent) -> ByAgent:
    """The process control of an agent at its own address, which asks nothing of Kubernetes."""
    options = {"port": of.port, "token": TOKEN, "ca_cert": str(of.place.folder / "ca.pem"), "through": "pod_address"}
    return ByAgent(cast(KubernetesClient, None), options)


def pod(address: str = "127.0.0.1", **changes: Any) -> Pod:
    found = objects.pod_json(**changes)
    found["status"]["podIP"] = address
    return pod_of(found)


def until_stopped(of: Agent, way: ByAgent) -> Process:
    return of.await_that("the end", lambda: None if (seen := way.look(pod())).running else seen)


def test_the_process_that_was_seen_ends_and_one_that_was_started_since_does_not(running: Agent) -> None:
    way, there = way_to(running), pod()
    first = way.look(there)
    assert (first.running, first.checksum) == (True, running.place.checksum())
    way.stop(there, first)
    way.stop(there, first)
    assert until_stopped(running, way).identity == ""
    way.start(there, "")
    second = way.look(there)
    assert second.running
    assert second.identity != first.identity
    # A stale look asks once more for the end of the first one.
    way.stop(there, first)
    assert way.look(there) == second


def test_the_process_starts_only_on_the_wanted_content(running: Agent) -> None:
    way, there = way_to(running), pod()
    way.stop(there, way.look(there))
    until_stopped(running, way)
    wanted = b"cluster.name: two\n"
    expected = hashlib.sha256(wanted).hexdigest()
    way.start(there, expected)
    assert not way.look(there).running
    running.place.config.write_bytes(wanted)
    way.start(there, expected)
    way.start(there, expected)
    seen = way.look(there)
    assert (seen.running, seen.checksum) == (True, expected)
    # The content that a process has read stays, whatever is mounted afterwards.
    running.place.config.write_bytes(b"cluster.name: three\n")
    later = way.look(there)
    assert (later.identity, later.checksum) == (seen.identity, seen.checksum)
    assert later.mounted == hashlib.sha256(b"cluster.name: three\n").hexdigest()


def test_a_container_that_is_down_has_no_process_and_its_agent_is_not_asked(running: Agent) -> None:
    way = way_to(running)
    down = pod(containers=[objects.waiting("CrashLoopBackOff", "back-off", 3, {"exitCode": 1})])
    assert not way.look(down).running
    way.start(down, "")
    assert "Requests" in running.log()
    assert running.ask("GET", "/es/status").said["last_start"] is None


def test_a_pod_without_an_address_is_refused(running: Agent) -> None:
    with pytest.raises(Refusal) as caught:
        way_to(running).look(pod(""))
    assert caught.value.verdict.reasons[0].code == "agent_without_address"
