"""Commands in containers in memory, their files that follow Secrets, and the restarts in place that follow."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.execution import ContainerCommand, execute
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.execution import Ended as Told

from tests.lab.kubelet.execution import Ended
from tests.lab.namespace import probe_pod
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import MERGE
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import EVENTS, PODS
from tests.sandbox.kubernetes.objects import is_ready

Json = dict[str, Any]
SECRETS = "/api/v1/namespaces/search/secrets"
AT = "/mounted/one"


class Room:
    """A pod with a Secret, in which commands are run by the client of the collection."""

    def __init__(self, *, sub_path: bool = False, there: bool = True) -> None:
        self.kubernetes = Kubernetes(Clock())
        self.api = InProcess(self.kubernetes.server, TOKENS["admin"])
        self.client = self.api.client()
        if there:
            self.create("before")
        mount = {"mountPath": AT, "subPath": "one"} if sub_path else {"mountPath": "/mounted"}
        volumes = [{"name": "own", "secret": {"secretName": "own"}}]
        pod = probe_pod("one", spec={"volumes": volumes}, volumeMounts=[{"name": "own", **mount}])
        self.kubernetes.apply([{**pod, "metadata": {**pod["metadata"], "namespace": "search"}}])

    def create(self, content: str) -> None:
        self.kubernetes.ask("POST", SECRETS, {"metadata": {"name": "own"}, "stringData": {"one": content}})

    def change(self, content: str) -> None:
        body = {"data": {"one": base64.b64encode(content.encode()).decode()}}
        assert self.kubernetes.ask("PATCH", f"{SECRETS}/own", body, media_type=MERGE).status == 200

    def pod(self) -> Json:
        found = self.kubernetes.server.store.get(PODS, "search", "one")
        assert found is not None
        return found

    def ready(self) -> None:
        assert self.kubernetes.until(lambda: is_ready(self.pod())), self.pod()["status"]

    def restarts(self) -> int:
        return int(self.pod()["status"]["containerStatuses"][0]["restartCount"])

    def run(self, *words: str) -> Told:
        return execute(self.client, ContainerCommand("search", "one", "probe", words), 10)

    def content(self) -> str:
        return self.run("cat", AT).output


def test_a_command_tells_what_it_says_and_how_it_ends() -> None:
    room = Room()
    room.ready()
    assert room.run("true") == Told(0, "", "")
    assert room.run("cat", AT) == Told(0, "before", "")
    checksum = hashlib.sha256(b"before").hexdigest()
    assert room.run("sh", "-c", f"sha256sum {AT}") == Told(0, f"{checksum}  {AT}\n", "")
    assert room.run("cat", "/nowhere") == Told(1, "", "cat: /nowhere: No such file or directory\n")
    assert room.run("sh", "-c", "exit 3").code == 3
    with pytest.raises(Refusal, match=r"could not run nonsense in container probe of pod one .* not found in \$PATH"):
        room.run("nonsense")


def test_the_files_of_a_secret_follow_it_after_a_delay_that_can_be_set() -> None:
    room = Room()
    room.ready()
    room.change("after")
    assert room.content() == "before"
    room.kubernetes.clock.advance(room.kubernetes.durations.mounted)
    assert room.content() == "after"
    room.kubernetes.faults.slow_mounts("search", "one", 60)
    room.change("late")
    room.kubernetes.clock.advance(59)
    assert room.content() == "after"
    room.kubernetes.clock.advance(1)
    assert room.content() == "late"


def test_a_file_mounted_by_sub_path_stays_until_the_container_starts_again() -> None:
    room = Room(sub_path=True)
    room.ready()
    room.change("after")
    room.kubernetes.clock.advance(10)
    assert room.content() == "before"
    room.run("kill", "1")
    assert room.kubernetes.until(lambda: room.restarts() == 1)
    room.ready()
    assert room.content() == "after"


def test_a_pod_without_its_secret_waits_for_it() -> None:
    room = Room(there=False)
    room.kubernetes.clock.advance(10)
    assert room.pod()["status"]["phase"] == "Pending"
    waiting = room.pod()["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "ContainerCreating"
    reasons = [each["reason"] for each in room.kubernetes.server.store.list(EVENTS, "search")]
    assert "FailedMount" in reasons
    with pytest.raises(Refusal, match="container not found"):
        room.run("true")
    room.create("now")
    room.ready()
    assert room.content() == "now"


def test_sigterm_to_the_first_process_restarts_the_container_in_its_place() -> None:
    room = Room()
    room.ready()
    before = room.pod()
    assert room.run("sh", "-c", "kill -TERM 1").code == 0
    assert room.kubernetes.until(lambda: not is_ready(room.pod()), step=0.01)
    assert room.kubernetes.until(lambda: room.restarts() == 1)
    room.ready()
    after = room.pod()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["podIP"] == before["status"]["podIP"]
    ended = after["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert ended["exitCode"] == 143
    assert room.run("kill", "-9", "1").code == 0
    room.kubernetes.clock.advance(10)
    assert room.restarts() == 1, "the kernel keeps a first process from SIGKILL of its own children"
    assert room.run("kill", "2").code == 1


def test_a_container_that_is_not_alive_is_started_again_and_waits_longer_each_time() -> None:
    room = Room()
    alive = True
    room.kubernetes.behaviour.alive = lambda _pod, _container: alive
    probe = {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1, "failureThreshold": 2}
    pod = probe_pod("one", livenessProbe=probe)
    room.kubernetes.ask("DELETE", "/api/v1/namespaces/search/pods/one", {"gracePeriodSeconds": 0})
    room.kubernetes.apply([{**pod, "metadata": {**pod["metadata"], "namespace": "search"}}])
    room.ready()
    room.kubernetes.clock.advance(10)
    assert room.restarts() == 0
    alive = False
    assert room.kubernetes.until(lambda: room.restarts() == 1, 5)
    reasons = [each["reason"] for each in room.kubernetes.server.store.list(EVENTS, "search")]
    assert {"Unhealthy", "Killing"} <= set(reasons)
    room.kubernetes.clock.advance(5)
    waiting = room.pod()["status"]["containerStatuses"][0]["state"]["waiting"]
    assert (waiting["reason"], room.restarts()) == ("CrashLoopBackOff", 1)
    assert room.kubernetes.until(lambda: room.restarts() == 2, 10)
    room.kubernetes.faults.back_off("search", "one", 0)
    assert room.kubernetes.until(lambda: room.restarts() == 5, 15), "the pause can be set"


def test_a_container_that_ran_long_waits_for_nothing() -> None:
    room = Room()
    room.ready()
    for number in range(1, 4):
        room.run("kill", "1")
        assert room.kubernetes.until(lambda number=number: room.restarts() == number, 5)  # type: ignore[misc]
        room.ready()
        room.kubernetes.clock.advance(601)


def test_a_test_may_say_what_its_commands_do() -> None:
    room = Room()
    room.kubernetes.behaviour.execute = lambda pod, container, words, inside: (
        Ended(4, pod["metadata"]["name"].encode(), container.encode() + (inside.read(AT) or b""))
        if words == ["mine"]
        else None
    )
    room.ready()
    assert room.run("mine") == Told(4, "one", "probebefore")
    assert room.run("true").code == 0
