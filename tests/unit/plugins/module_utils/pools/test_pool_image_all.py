"""Restoring every pool of a namespace that carries an undo, without being given their names."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import path_of
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import pool_image
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pool_changes import STRATEGY
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import Passing

from tests.sandbox.kubernetes.in_process import InProcess

Json = dict[str, Any]
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
SET = (Change(STRATEGY, ROLLING, {"type": "OnDelete"}),)
CARRIED = Undo(Writer("night", "2026-11-21T02:00:00Z"), SET).text()


def put_pool(api: InProcess, name: str, undo: str | None = CARRIED, outdated: bool = False) -> None:
    notes = {UNDO: undo} if undo is not None else {}
    api.put_there(path_of("search", name), objects.pool_json(name, annotations=notes, replicas=1))
    revision = {"revision": "old"} if outdated else {}
    pod = objects.pod_json(f"{name}-0", labels={"app": name}, **revision)
    api.put_there(f"/api/v1/namespaces/search/pods/{name}-0", pod)


def restored(monkeypatch: pytest.MonkeyPatch, api: InProcess, **surroundings: Any) -> Json:
    monkeypatch.setattr(pool_image, "connect", lambda _options: api.client())
    params: Json = {"kubernetes": {}, "namespace": "search", "pool": None, "state": "restored", "container": None}
    params |= {"wait": True, "wait_timeout": 10, "wait_sleep": 1.0, **surroundings.pop("params", {})}
    clock = surroundings.pop("clock", Passing())
    return perform(pool_image.run, Task(params=params, clock=clock, diff_mode=True, **surroundings))


def strategy(api: InProcess, name: str) -> Any:
    return api.objects[path_of("search", name)]["spec"]["updateStrategy"]


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_every_pool_that_carries_an_undo_is_restored_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    for name, undo in {"data": CARRIED, "warm": CARRIED, "managers": None}.items():
        put_pool(api, name, undo)
    untouched = api.objects[path_of("search", "managers")]
    result = restored(monkeypatch, api)
    assert (result["changed"], codes(result)) == (True, [])
    assert [strategy(api, name) for name in ("data", "warm")] == [ROLLING] * 2
    assert api.objects[path_of("search", "managers")] == untouched
    assert [each["target"] for each in result["actions"]] == ["data", "warm"]
    for when, seen in {"before": {"type": "OnDelete"}, "after": ROLLING}.items():
        shown = result["diff"][when]
        assert {name: each["strategy"] for name, each in shown.items()} == {"data": seen, "warm": seen}
    assert result["before"] == result["diff"]["before"]
    again = restored(monkeypatch, api)
    assert (again["changed"], again["before"], again["actions"]) == (False, {}, [])


def test_check_mode_shows_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    put_pool(api, "data")
    planned = restored(monkeypatch, api, check_mode=True)
    assert strategy(api, "data") == {"type": "OnDelete"}
    done = restored(monkeypatch, api)
    assert (planned["changed"], planned["diff"]) == (done["changed"], done["diff"])


def test_a_pool_that_is_not_finished_keeps_its_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    put_pool(api, "data", outdated=True)
    put_pool(api, "warm")
    result = restored(monkeypatch, api)
    assert (codes(result), result["changed"]) == (["strategy_kept"], True)
    assert (strategy(api, "data"), strategy(api, "warm")) == ({"type": "OnDelete"}, ROLLING)


def test_a_pool_whose_undo_cannot_be_read_does_not_hinder_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    put_pool(api, "data", undo="no json")
    put_pool(api, "warm")
    result = restored(monkeypatch, api)
    assert (result["failed"], codes(result), result["changed"]) == (True, ["undo_not_readable"], True)
    assert strategy(api, "warm") == ROLLING
    assert [each["target"] for each in result["actions"]] == ["warm"]


def test_what_was_done_is_told_where_the_api_went_out_of_reach_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    put_pool(api, "data")
    put_pool(api, "warm", outdated=True)
    requests_of_the_first = 4  # list, get, list of pods, patch

    def goes() -> None:
        api.away = True

    def back() -> None:
        api.away = False

    api.before = [lambda: None] * requests_of_the_first + [goes]
    result = restored(monkeypatch, api, clock=Passing(on_tick=[back]))
    assert strategy(api, "data") == ROLLING
    assert (result["changed"], codes(result)) == (True, ["strategy_kept"])
    assert set(result["before"]) == {"data", "warm"}
    assert [each["target"] for each in result["actions"]] == ["data"]


def test_a_pool_that_changes_meanwhile_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    put_pool(api, "data")
    theirs = {"spec": {"updateStrategy": {"type": "RollingUpdate"}}, "metadata": {}}

    def changes() -> None:
        api.before.clear()
        api.client().patch(path_of("search", "data"), theirs, "merge")

    api.before = [lambda: None] * 3 + [changes]
    result = restored(monkeypatch, api)
    assert codes(result) == ["strategy_changed_by_another"]
    assert strategy(api, "data") == {"type": "RollingUpdate"}
    assert "annotations" not in api.objects[path_of("search", "data")]["metadata"]


def test_one_pool_by_its_name_is_shown_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    put_pool(api, "data")
    put_pool(api, "warm")
    result = restored(monkeypatch, api, params={"pool": "warm"})
    assert result["before"]["strategy"] == {"type": "OnDelete"}
    assert (strategy(api, "data"), strategy(api, "warm")) == ({"type": "OnDelete"}, ROLLING)


def test_a_pool_whose_last_pods_are_on_their_way_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    put_pool(api, "data")
    put_pool(api, "warm")
    path = "/api/v1/namespaces/search/pods/data-0"
    ready, starting = api.objects[path], objects.pod_json("data-0", ready=False, labels={"app": "data"})
    api.put_there(path, starting)
    result = restored(monkeypatch, api, clock=Passing(on_tick=[lambda: api.put_there(path, ready)]))
    assert (result["verdict"]["state"], result["changed"]) == ("passed", True)
    assert [strategy(api, name) for name in ("data", "warm")] == [ROLLING] * 2
    assert [each["code"] for each in result["waited"]] == ["strategy_waits"]


def test_a_pool_whose_last_pods_do_not_come_back_is_refused_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict that still waits would end the run as a single pass ends, with exit code 0."""
    api = InProcess()
    put_pool(api, "data")
    api.put_there(
        "/api/v1/namespaces/search/pods/data-0", objects.pod_json("data-0", ready=False, labels={"app": "data"})
    )
    result = restored(monkeypatch, api, clock=Passing())
    assert (result["verdict"]["state"], result["failed"]) == ("refused", True)
    assert codes(result) == ["strategy_waits", "timed_out"]
    assert strategy(api, "data") == {"type": "OnDelete"}
