"""A new content reaches a member once, whenever its run is killed, and one that is wanted later comes after it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import copy, state_answer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.agent_world import AgentWorld
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed

Json = dict[str, Any]
OLD, NEW, OTHER = (
    "cluster.name: one\n" + more for more in ("", "node.attr.box: secret-of-new\n", "node.attr.box: o\n")
)
SECRET = "/api/v1/namespaces/search/secrets/data-configuration"
POOL = "upgrade.stateful/configuration"


def checksum(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


@dataclass
class ConfiguredWorld(AgentWorld):
    """The pool with its Secret, which reaches the pods a short time after each write."""

    data: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, OLD))
    version: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        spec = self.sets["data"]["spec"]["template"]["spec"]
        spec["volumes"] = [{"name": "files", "secret": {"secretName": "data-configuration"}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "files", "mountPath": "/files"}]
        for agent in self.agents.values():
            agent.mounted = agent.runs = checksum(OLD)

    there: bool = True
    """Whether the Secret is."""

    def get(self, path: str) -> Any:
        if path != SECRET:
            return self.pods[path.rpartition("/")[2]]
        if not self.there:
            return None
        coded = {name: base64.b64encode(text.encode()).decode() for name, text in self.data.items()}
        metadata = {"namespace": "search", "name": "data-configuration", "uid": "s", "labels": {POOL: "data"}}
        return {"metadata": {**metadata, "resourceVersion": str(self.version)}, "data": coded}

    def patch(self, path: str, body: Any, kind: str, dry_run: bool = False) -> Json:
        if "labels" in body["metadata"]:
            return self.label(self.pods[path.rpartition("/")[2]]["metadata"], body["metadata"])
        if path != SECRET:
            return super().patch(path, body, kind, dry_run)
        assert body["metadata"]["resourceVersion"] == str(self.version)

        def write() -> None:
            self.version += 1
            for key, coded in body["data"].items():
                self.data.pop(key, None)
                if coded is not None:
                    self.data[key] = base64.b64decode(coded).decode()
            self.on_tick.append(self.mount)

        if not dry_run:
            self.make(write)
        shown: Json = self.get(SECRET)
        return shown

    def label(self, metadata: Json, wanted: Json) -> Json:
        assert (wanted["uid"], wanted["resourceVersion"]) == (metadata["uid"], metadata["resourceVersion"])
        assert not self.agents["data-1"].running

        def merge() -> None:
            self.version += 1
            kept = {**metadata["labels"], **wanted["labels"]}
            labels = {key: value for key, value in kept.items() if value is not None}
            metadata.update(labels=labels, resourceVersion=str(self.version))

        self.make(merge)
        return metadata

    def mount(self) -> None:
        for name, agent in self.agents.items():
            agent.mounted = checksum(self.data[name])


@pytest.fixture
def there() -> ConfiguredWorld:
    world = ConfiguredWorld()
    world.annotate("data-1", restart_phase="schedule-rolling")
    return world


def wish(content: str) -> list[Json]:
    return [{"pool": "data", "contents": {"data-1": content}}]


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def killed(world: ConfiguredWorld, act: int, content: str) -> None:
    world.acts, world.kill_at = 0, act
    with contextlib.suppress(Killed):
        world.restart("data-1", configuration=wish(content))
    world.kill_at = None


def configured(world: ConfiguredWorld) -> str:
    """The checksum that the last restart has brought to the member."""
    return str(world.pods["data-1"]["metadata"]["annotations"]["upgrade.stateful/configuration"])


def test_the_content_is_written_while_the_process_is_stopped_and_to_no_other(there: ConfiguredWorld) -> None:
    result = there.restart("data-1", configuration=wish(NEW))
    assert (codes(result), there.stopped, there.started) == ([], ["data-1/1"], ["data-1/2"])
    assert there.agents["data-1"].runs == checksum(NEW) == configured(there)
    assert {there.data["data-0"], there.data["data-2"]} == {OLD}
    assert there.data["data-1.previous"] == OLD
    assert "secret-of-new" not in json.dumps(result)


def test_a_second_run_with_the_same_wish_does_nothing(there: ConfiguredWorld) -> None:
    there.restart("data-1", configuration=wish(NEW))
    again = there.restart("data-1", configuration=wish(NEW))
    assert (codes(again), again["changed"], there.started) == ([], False, ["data-1/2"])


@pytest.mark.parametrize("kill_at", range(14))
def test_a_run_that_is_killed_goes_on_and_the_process_restarts_once(there: ConfiguredWorld, kill_at: int) -> None:
    """The acts are: the mark `stop`, the stop, the mark `start`, the note, the write, the start, the end."""
    killed(there, kill_at, NEW)
    assert codes(there.restart("data-1", configuration=wish(NEW))) == []
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], ["data-1/2"], {})
    assert (there.agents["data-1"].runs, configured(there)) == (checksum(NEW), checksum(NEW))


def test_every_act_was_killed_at(there: ConfiguredWorld) -> None:
    there.restart("data-1", configuration=wish(NEW))
    assert there.acts * 2 == 14


BACK = [{"pool": "data", "previous": True}]


@pytest.mark.parametrize("kill_at", range(14))
@pytest.mark.parametrize("again_at", [*range(0, 14, 3), None])
def test_what_a_member_had_before_a_run_that_was_killed_comes_back(
    there: ConfiguredWorld, kill_at: int, again_at: int | None
) -> None:
    """Putting it back may be killed as well."""
    killed(there, kill_at, NEW)
    if again_at is not None:
        there.acts, there.kill_at = 0, again_at
        with contextlib.suppress(Killed):
            there.restart("data-1", configuration=BACK)
        there.kill_at = None
    there.annotate("data-1", **({} if there.phases() else {"restart_phase": "schedule-rolling"}))
    assert codes(there.restart("data-1", configuration=BACK)) == []
    assert (there.data["data-1"], there.agents["data-1"].runs, there.phases()) == (OLD, checksum(OLD), {})
    assert "data-1.previous" not in there.data


ROLES = {"role/ingest": True, "role/data": None}


@pytest.mark.parametrize("kill_at", range(16))
def test_the_labels_of_new_roles_are_set_before_a_process_has_them(there: ConfiguredWorld, kill_at: int) -> None:
    there.pods["data-1"]["metadata"]["labels"] |= {"role/data": "true"}
    given = [{**wish(NEW)[0], "labels": ROLES}]
    there.acts, there.kill_at = 0, kill_at
    with contextlib.suppress(Killed):
        there.restart("data-1", configuration=given)
    there.kill_at = None
    assert codes(there.restart("data-1", configuration=given)) == []
    labels = there.pods["data-1"]["metadata"]["labels"]
    assert (labels["role/ingest"], "role/data" in labels) == ("true", False)
    assert there.pods["data-0"]["metadata"]["labels"] == objects.pod_json("data-0", "uid")["metadata"]["labels"]
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], ["data-1/2"], {})


@pytest.mark.parametrize(
    ("labels", "code"), [({"app": "other"}, "label_of_controller"), ({"role": "two words"}, "label_unusable")]
)
def test_a_label_that_no_pod_can_have_is_refused_before_anything(
    there: ConfiguredWorld, labels: Json, code: str
) -> None:
    result = there.restart("data-1", configuration=[{**wish(NEW)[0], "labels": labels}])
    assert (codes(result), there.acts) == ([code], 0)


def test_a_secret_that_vanishes_while_a_process_is_stopped_is_waited_for(there: ConfiguredWorld) -> None:
    """The member stays stopped until then, and starts once the Secret is back."""
    killed(there, 3, NEW)
    assert there.stopped == ["data-1/1"]
    there.there = False
    same = [{"pool": "data", "content": None}]
    result = there.restart("data-1", configuration=same, wait_timeout=60)
    assert (codes(result), there.started) == (["configuration_missing", "timed_out"], [])
    there.on_tick += [lambda: None] * 5 + [lambda: setattr(there, "there", True)]
    assert codes(there.restart("data-1", configuration=same)) == []
    assert there.started == ["data-1/2"]


def test_a_content_that_is_never_mounted_is_named_as_that_and_no_probe_is(
    there: ConfiguredWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there, "mount", lambda: None)
    result = there.restart("data-1", configuration=wish(NEW), wait_timeout=600, wait_sleep=5.0)
    assert (codes(result), there.started) == (["configuration_not_mounted", "timed_out"], [])
    said = result["verdict"]["reasons"][0]
    assert f"the mounted file is {checksum(OLD)[:12]}, and {checksum(NEW)[:12]} is expected" in said["message"]
    assert "probe" not in str(result["verdict"])


@pytest.mark.parametrize("kill_at", range(9))
def test_a_wish_that_is_taken_back_before_it_was_written_restarts_on_the_present_content(
    there: ConfiguredWorld, kill_at: int
) -> None:
    killed(there, kill_at, NEW)
    assert there.data["data-1"] == OLD
    assert codes(there.restart("data-1", configuration=wish(OLD))) == []
    assert (there.stopped, there.started) == (["data-1/1"], ["data-1/2"])
    assert (there.agents["data-1"].runs, configured(there), there.data["data-1"]) == (checksum(OLD), checksum(OLD), OLD)


@pytest.mark.parametrize("kill_at", [11, 12])
@pytest.mark.parametrize("later", [OLD, OTHER])
def test_a_wish_that_changes_once_the_process_runs_waits_for_another_restart(
    there: ConfiguredWorld, kill_at: int, later: str
) -> None:
    """The process was started on the content of before. It is waited for, and then restarted on the later one."""
    killed(there, kill_at, NEW)
    assert there.started == ["data-1/2"]
    assert codes(there.restart("data-1", configuration=wish(later))) == []
    assert (there.stopped, there.started) == (["data-1/1", "data-1/2"], ["data-1/2", "data-1/3"])
    assert (there.agents["data-1"].runs, configured(there)) == (checksum(later), checksum(later))


def test_a_content_that_servers_cannot_read_is_refused_before_anything(there: ConfiguredWorld) -> None:
    result = there.restart("data-1", wait=False, configuration=wish("a: 1\na: 2\n"))
    assert (codes(result), there.acts, there.stopped) == (["configuration_not_valid"], 0, [])


def test_a_content_for_a_stranger_is_refused(there: ConfiguredWorld) -> None:
    given = [{"pool": "data", "contents": {"data-7": NEW}}]
    result = there.restart("data-1", wait=False, configuration=given)
    assert (codes(result), there.stopped) == (["configuration_member_unknown"], [])


def test_a_secret_that_is_not_there_is_waited_for_with_its_name(
    there: ConfiguredWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there, "get", lambda _path: None)
    result = there.restart("data-1", wait=False, configuration=[{"pool": "data"}])
    assert codes(result) == ["configuration_missing"]
    assert "data-configuration" in result["verdict"]["reasons"][0]["message"]
    assert there.stopped == []


def scheduled(there: ConfiguredWorld) -> None:
    """A run starts, and notes what it has found."""
    assert codes(there.restart("data-1", state="scheduled", configuration=wish(NEW))) == []


def edited(there: ConfiguredWorld) -> None:
    """A person writes the key of the member."""
    there.data["data-1"], there.version = OTHER, there.version + 1
    there.mount()


def test_what_a_person_writes_before_a_member_has_its_turn_is_never_written_over(there: ConfiguredWorld) -> None:
    scheduled(there)
    edited(there)
    result = there.restart("data-1", configuration=wish(NEW))
    assert (codes(result), there.stopped, there.data["data-1"]) == (["configuration_edited"], [], OTHER)
    said = result["verdict"]["reasons"][0]["message"]
    assert all(checksum(each)[:12] in said for each in (OLD, OTHER, NEW))
    # The next run shows a plan from what is there, and may write over it by a consent of its own.
    scheduled(there)
    assert codes(there.restart("data-1", configuration=wish(NEW))) == []
    assert (there.data["data-1"], there.data["data-1.previous"]) == (NEW, OTHER)


def test_what_a_person_writes_while_a_process_is_stopped_is_started_and_named(there: ConfiguredWorld) -> None:
    scheduled(there)
    there.on_tick.append(lambda: edited(there))
    result = there.restart("data-1", configuration=wish(NEW))
    assert (codes(result), there.started, there.data["data-1"]) == (["configuration_edited"], ["data-1/2"], OTHER)
    assert (there.agents["data-1"].runs, there.phases()) == (checksum(OTHER), {})
    assert "was started on that content" in result["verdict"]["reasons"][0]["message"]


@pytest.mark.parametrize("kill_at", range(14))
def test_a_run_that_is_killed_takes_its_own_writing_for_nobody_elses(there: ConfiguredWorld, kill_at: int) -> None:
    scheduled(there)
    killed(there, kill_at, NEW)
    assert codes(there.restart("data-1", configuration=wish(NEW))) == []
    assert (there.agents["data-1"].runs, there.phases()) == (checksum(NEW), {})
    assert "upgrade.stateful/restart-found" not in there.pods["data-1"]["metadata"]["annotations"]


@pytest.mark.parametrize("given", [{"configuration": wish(NEW)}, {}])
def test_at_the_end_a_member_is_named_that_does_not_run_what_its_file_holds(
    there: ConfiguredWorld, given: Json
) -> None:
    """With a configuration that the run brings, and without one."""
    assert codes(there.restart("data-1", **given)) == []
    assert codes(there.restart(state="completed", **given)) == []
    runs = there.agents["data-1"].runs
    edited(there)
    result = there.restart(state="completed", **given)
    (reason,) = result["verdict"]["reasons"]
    assert (reason["code"], reason["state"]) == ("configuration_not_run", "passed")
    assert f"data-1 (runs {runs[:12]}, has {checksum(OTHER)[:12]})" in reason["message"]
    assert "data-0" not in reason["message"]


def test_a_look_for_a_remark_fails_no_run_that_has_done_its_work(there: ConfiguredWorld) -> None:
    there.agents["data-0"].reachable = False
    assert codes(there.restart(state="completed")) == []
    there.annotate("data-0", restart_phase="sometime")
    assert codes(there.restart(state="completed")) == []


def test_a_write_that_is_turned_away_at_the_end_is_made_again(
    there: ConfiguredWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert codes(there.restart("data-1", configuration=wish(NEW))) == []
    patch, refused = there.patch, list[str]()

    def busy(path: str, *given: Any, **more: Any) -> Any:
        if "/secrets/" in path and not refused:
            refused.append(path)
            raise Unreachable.because("kubernetes_unreachable", "The Kubernetes API answered 503.", "Wait.")
        return patch(path, *given, **more)

    monkeypatch.setattr(there, "patch", busy)
    assert (codes(there.restart(state="completed", configuration=wish(NEW))), len(refused)) == ([], 1)


def test_a_process_that_settle_has_started_on_the_content_of_before_is_proven_again(there: ConfiguredWorld) -> None:
    # After the mark `start`.
    killed(there, 5, NEW)
    there.restart(state="started", pools=[], expected=[])
    while there.on_tick:
        there.on_tick.pop(0)()
    assert there.agents["data-1"].running
    whole = there.servers.state
    there.servers.state = {**whole, **routing(copy("i", "data-1", primary=True), copy("i", None))}
    result = there.restart("data-1", wait_timeout=20, configuration=wish(NEW))
    assert (result["verdict"]["state"], there.stopped) == ("refused", ["data-1/1"])
    there.servers.state = whole
    assert codes(there.restart("data-1", configuration=wish(NEW))) == []
    assert there.stopped == ["data-1/1", "data-1/2"]


def routing(*copies: Json) -> Json:
    """The part of a cluster state with these copies of all shards."""
    return {"routing_table": state_answer(NAMES, list(copies))["routing_table"]}


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("request_", range(6))
@pytest.mark.parametrize("state", ["scheduled", "restarted"])
def test_an_answer_that_is_lost_fails_no_run(there: ConfiguredWorld, state: str, request_: int, made: bool) -> None:
    del there.data["data-1"]
    asked: list[str] = []

    def losing(name: str) -> Any:
        ask = getattr(there, name)

        def lost(path: str, *rest: Any, **more: Any) -> Any:
            asked.append(path)
            if path == SECRET and asked.count(SECRET) == request_ + 1:
                if made:
                    ask(path, *rest, **more)
                raise Unreachable.because("kubernetes_unreachable", "The answer is lost.", "It passes.")
            return ask(path, *rest, **more)

        return lost

    there.get, there.patch = losing("get"), losing("patch")  # type: ignore[method-assign]
    result = there.restart("data-1", state=state, configuration=wish(NEW))
    assert codes(result) == []
    assert there.data["data-1"] == NEW
    assert there.phases() == ({"data-1": "schedule-rolling"} if state == "scheduled" else {})
