"""The strategy that a run under another lock has set is put back only where that run is seen to be dead."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import Lease
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Undo, Writer
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.test_pool_image_all import (
    ROLLING,
    SET,
    codes,
    put_pool,
    restored,
    strategy,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import OTHER, Passing

from tests.sandbox.kubernetes.in_process import InProcess

NAME = "stateful-upgrade-1"


def lock_of(run: str, namespace: str, kept_in: str = "kubernetes") -> dict[str, Any]:
    """The option `lock` of a task of that run."""
    return {"run": run, "name": NAME, "kept_in": kept_in, "namespace": namespace, "seconds": 60}


def changed_under(kept_in: str = "kubernetes") -> InProcess:
    """A pool that run night has changed, under a lock in namespace night or in the cluster."""
    api = InProcess(namespaces=("search", "night"))
    place = {"kept_in": kept_in, "namespace": "night" if kept_in == "kubernetes" else "", "name": NAME}
    undo = Undo(Writer("night", "2026-11-21T02:00:00Z", place), SET)
    put_pool(api, "data", undo.text())
    return api


@pytest.mark.parametrize("own", [lock_of("day", "day"), None])
def test_what_a_living_run_has_set_stays(monkeypatch: pytest.MonkeyPatch, own: dict[str, Any] | None) -> None:
    api, clock = changed_under(), Passing()
    lease = Lease(api.client(), "night", NAME)
    held = lease.write(replace(OTHER, run="night", seconds=60), None)

    def renew() -> None:
        lease.write(replace(held, renewed="later"), lease.read())

    clock.on_tick = [renew]
    result = restored(monkeypatch, api, clock=clock, params={"lock": own})
    assert (codes(result), strategy(api, "data"), result["changed"]) == (["locked"], {"type": "OnDelete"}, False)


@pytest.mark.parametrize("holder", ["", "night", "later"])
def test_what_a_dead_run_has_set_is_put_back(monkeypatch: pytest.MonkeyPatch, holder: str) -> None:
    api, clock = changed_under(), Passing()
    if holder:
        Lease(api.client(), "night", NAME).write(replace(OTHER, run=holder, seconds=60), None)
    result = restored(monkeypatch, api, clock=clock, params={"lock": lock_of("day", "day")})
    assert (codes(result), strategy(api, "data"), result["changed"]) == ([], ROLLING, True)


def test_a_dead_run_is_watched_once_however_many_pools_it_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    api, clock = changed_under(), Passing()
    Lease(api.client(), "night", NAME).write(replace(OTHER, run="night", seconds=60), None)
    place = {"kept_in": "kubernetes", "namespace": "night", "name": NAME}
    for name in ("warm", "managers"):
        put_pool(api, name, Undo(Writer("night", f"2026-11-21T03:00:00Z {name}", place), SET).text())
    result = restored(monkeypatch, api, clock=clock, params={"lock": lock_of("day", "day")})
    assert (codes(result), [strategy(api, name) for name in ("data", "warm", "managers")]) == ([], [ROLLING] * 3)
    assert clock.time == 60


def test_under_the_same_lock_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    api = changed_under()
    Lease(api.client(), "night", NAME).write(replace(OTHER, run="night"), None)
    api.asked.clear()
    assert restored(monkeypatch, api, params={"lock": lock_of("day", "night")})["changed"]
    assert not [path for _method, path in api.asked if "leases" in path]


def test_a_lock_that_is_kept_elsewhere_is_named_and_a_person_may_say_that_its_run_is_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = changed_under("opensearch")
    own = lock_of("day", "day")
    result = restored(monkeypatch, api, params={"lock": own})
    assert (codes(result), strategy(api, "data")) == (["undo_lock_not_readable"], {"type": "OnDelete"})
    assert "run night" in result["msg"]
    assert "is kept in opensearch" in result["msg"]
    assert restored(monkeypatch, api, params={"lock": own, "take_over": "night"})["changed"]
    assert strategy(api, "data") == ROLLING


@pytest.mark.parametrize(
    "lock", [7, {"kept_in": "kubernetes"}, {"kept_in": "kubernetes", "namespace": "a/b", "name": "c"}]
)
def test_a_lock_that_no_run_has_makes_an_undo_unreadable(monkeypatch: pytest.MonkeyPatch, lock: Any) -> None:
    api = changed_under()
    annotations = api.objects["/apis/apps/v1/namespaces/search/statefulsets/data"]["metadata"]["annotations"]
    annotations[UNDO] = json.dumps({**json.loads(annotations[UNDO]), "lock": lock})
    assert codes(restored(monkeypatch, api)) == ["undo_not_readable"]


def test_the_pool_of_another_cluster_is_left_to_its_own_run_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    api = changed_under()
    own = {**lock_of("day", "night"), "name": "stateful-upgrade-2"}
    Lease(api.client(), "night", NAME).write(replace(OTHER, run="night"), None)
    result = restored(monkeypatch, api, params={"lock": own})
    assert (codes(result), result["changed"]) == (["undo_of_another_cluster"], False)
    assert (strategy(api, "data"), result["verdict"]["state"]) == ({"type": "OnDelete"}, "passed")
    named = restored(monkeypatch, api, params={"lock": own, "take_over": "night"})
    assert (codes(named), strategy(api, "data")) == ([], ROLLING)
