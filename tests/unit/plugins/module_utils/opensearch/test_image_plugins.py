"""A throw-away pod lists the plugins of an image on an API server in memory, and leaves nothing behind."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import image_plugins
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.plugins import END
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool_json

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import PODS, STATEFUL_SETS
from tests.sandbox.kubernetes.kubelet.behaviour import Behaviour
from tests.sandbox.opensearch.rest.looks import HOME

Json = dict[str, Any]
ICU = "analysis-icu"


class Turning:
    """The clock of the servers, as a task waits by it."""

    def __init__(self, clock: Clock) -> None:
        self.now, self.sleep = clock.now, clock.advance


class Searching:
    """Stands for the client of OpenSearch: two members of the pool, each with a plugin."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.members: dict[str, list[str]] = {f"data-{number}": [ICU] for number in range(2)}

    def get(self, path: str, **_params: Any) -> Json:
        self.asked.append(path)
        own = {"settings": {"path": {"home": HOME}}}
        return {
            "nodes": {
                name: {"name": name, "plugins": [{"name": each} for each in plugins], **own}
                for name, plugins in self.members.items()
            }
        }


class Place:
    """The servers, and what the pods write that list the plugins of the image."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written, self.code = f"{ICU} 3.8.0\n{END}\n", 0
        behaviour = Behaviour(
            exit_code=lambda pod, _container: self.code if "command" in pod["spec"]["containers"][0] else None,
            message=lambda _pod, _container: self.written,
        )
        self.kubernetes = Kubernetes(Clock(), behaviour)
        InProcess(self.kubernetes.server)
        pool = pool_json(replicas=2)
        for name in ("resourceVersion", "uid", "generation"):
            pool["metadata"].pop(name)
        self.kubernetes.server.resources.create(STATEFUL_SETS, "search", pool)
        self.kubernetes.clock.advance(20)
        self.search = Searching()
        api = InProcess(self.kubernetes.server, token=TOKENS["admin"])
        monkeypatch.setattr(kubernetes, "connect", lambda _options: api.client())
        monkeypatch.setattr(image_plugins, "connect", lambda *_options: self.search)

    def result(self, **more: Any) -> Json:
        """The result of the part of the plan."""
        given = {name: option.get("default") for name, option in image_plugins.CONTRACT.argument_spec.items()}
        own = {"namespace": "search", "pool": "data", "image": "opensearch:3.8.0", "target_version": "3.8.0", **more}
        return perform(image_plugins.run, Task({**given, **own}, clock=Turning(self.kubernetes.clock)))

    def pods(self) -> list[str]:
        """The names of the pods that are there after a while."""
        self.kubernetes.clock.advance(120)
        return sorted(str(each["metadata"]["name"]) for each in self.kubernetes.server.store.list(PODS, "search"))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(monkeypatch)


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_an_image_with_all_plugins_passes_and_nothing_stays(place: Place) -> None:
    result = place.result()
    assert result["verdict"] == {"state": "passed", "reasons": []}
    made = [each["action"] for each in result["actions"]]
    assert made.count("create_pod") == made.count("delete_pod") == 2, "on each Kubernetes node of a member"
    assert place.pods() == ["data-0", "data-1"]
    assert place.search.asked == ["/_nodes/data-*/plugins,settings"]


def test_an_image_without_a_plugin_is_refused_once(place: Place) -> None:
    place.written = f"{END}\n"
    result = place.result()
    assert (result["failed"], codes(result)) == (True, ["plugin_missing"])
    assert "data-0, data-1" in result["msg"]
    assert place.pods() == ["data-0", "data-1"]


@pytest.mark.parametrize("written", ["", "exec: sh: not found in $PATH"])
def test_an_image_that_lists_nothing_is_a_remark(place: Place, written: str) -> None:
    place.written, place.code = written, 128
    result = place.result()
    assert (result["verdict"]["state"], codes(result)) == ("passed", ["plugins_unknown"])
    assert ICU in result["verdict"]["reasons"][0]["message"]


def test_without_a_member_that_tells_the_image_is_pulled_all_the_same(place: Place) -> None:
    place.search.members = {"data-x": [ICU], "other-0": [ICU]}
    result = place.result()
    assert (result["verdict"]["state"], codes(result)) == ("passed", ["plugins_unknown"])
    assert "create_pod" in [each["action"] for each in result["actions"]]


def test_on_hosts_all_members_are_asked(place: Place) -> None:
    given = {name: option.get("default") for name, option in image_plugins.CONTRACT.argument_spec.items()}
    result = perform(image_plugins.run_on_hosts, Task({**given, "target_version": "3.8.0"}))
    assert codes(result) == ["plugins_on_hosts"]
    assert place.search.asked == ["/_nodes/_all/plugins,settings"]
