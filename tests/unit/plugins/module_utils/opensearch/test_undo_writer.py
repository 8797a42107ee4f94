"""The settings of a run under another lock are put back only if that run is seen to be dead."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act import putting_back
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import ENABLE, UNDO
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.test_waiting import VirtualClock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import Json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers


def lock_of(run: str, namespace: str = "a", kept_in: str = "kubernetes") -> Json:
    """The option `lock` of a task of that run."""
    return {"run": run, "name": "stateful-upgrade-1", "kept_in": kept_in, "namespace": namespace, "seconds": 60}


class Leases:
    """The locks of the namespaces, by namespace; the run of the first one lives or does not."""

    def __init__(self, holder: str = "", *, lives: bool = False, denied: bool = False) -> None:
        self.holder, self.lives, self.denied, self.reads = holder, lives, denied, 0

    def read(self) -> Lock | None:
        self.reads += 1
        if self.denied:
            raise refusal("kubernetes_rights", "me is not allowed to get leases/stateful-upgrade-1.", "Add a rule.")
        renewed = str(self.reads if self.lives else 0)
        return Lock(self.holder, "somebody@elsewhere", "", renewed, 60) if self.holder else None


def act(
    monkeypatch: pytest.MonkeyPatch, servers: Servers, leases: Leases, state: str, lock: Json | None, **given: Any
) -> tuple[Json, float]:
    """One run of the module, and the seconds that it took."""
    clock = VirtualClock()
    monkeypatch.setattr(shard_allocation, "connect", lambda *_options: servers)
    monkeypatch.setattr(putting_back, "store_of", lambda *_asked: leases)
    params = {name: option.get("default") for name, option in shard_allocation.CONTRACT.argument_spec.items()}
    result = perform(shard_allocation.run, Task({**params, "state": state, "lock": lock, **given}, clock=clock))
    return result, clock.time


def test_the_undo_names_the_lock_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = Servers()
    act(monkeypatch, servers, Leases(), "restricted", lock_of("night"))
    undo = json.loads(servers.settings["persistent"][UNDO])
    assert undo["lock"] == {"kept_in": "kubernetes", "namespace": "a", "name": "stateful-upgrade-1"}


OTHER = [lock_of("day", "b"), lock_of("day", "", "opensearch"), None]
"""The locks that another run, which settles, may hold."""


@pytest.mark.parametrize("own", OTHER)
@pytest.mark.parametrize(
    ("leases", "code", "seconds"),
    [
        (Leases("night", lives=True), "locked", 1),
        (Leases("night", denied=True), "undo_lock_not_readable", 0),
        (Leases("night"), None, 60),
        (Leases("later", lives=True), None, 0),
        (Leases(), None, 0),
    ],
)
def test_what_a_living_run_has_set_is_not_put_back_whatever_lock_it_holds(
    monkeypatch: pytest.MonkeyPatch, own: Json | None, leases: Leases, code: str | None, seconds: float
) -> None:
    servers = Servers()
    act(monkeypatch, servers, leases, "restricted", lock_of("night"))
    before = deepcopy(servers.settings)
    result, took = act(monkeypatch, servers, leases, "restored", own)
    stays = ["setting_stays"] if code == "undo_lock_not_readable" else []
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ([code, *stays] if code else [])
    assert (ENABLE in servers.settings["persistent"], took) == (bool(code), seconds)
    assert (servers.settings == before) == bool(code)
    if code == "undo_lock_not_readable":
        assert "in namespace a cannot be read" in result["msg"]
        forced, _took = act(monkeypatch, servers, leases, "restored", own, take_over="night")
        assert (forced["changed"], servers.settings["persistent"]) == (True, {})


@pytest.mark.parametrize("names_lock", [True, False])
def test_under_the_same_lock_and_without_one_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, names_lock: bool
) -> None:
    servers, leases = Servers(), Leases("night", lives=True)
    act(monkeypatch, servers, leases, "restricted", lock_of("night"))
    own = lock_of("day")
    if not names_lock:
        undo = json.loads(servers.settings["persistent"][UNDO])
        del undo["lock"]
        servers.settings["persistent"][UNDO] = json.dumps(undo)
        own = lock_of("day", "b")
    result, _took = act(monkeypatch, servers, leases, "restored", own)
    assert (result["changed"], leases.reads, servers.settings["persistent"]) == (True, 0, {})


@pytest.mark.parametrize(
    "lock",
    [
        7,
        {"kept_in": "kubernetes"},
        {"kept_in": "kubernetes", "namespace": "a/../b", "name": "stateful-upgrade-1"},
        {"kept_in": "elsewhere", "namespace": "a", "name": "stateful-upgrade-1"},
    ],
)
def test_a_lock_that_no_run_has_makes_an_undo_unreadable(monkeypatch: pytest.MonkeyPatch, lock: Any) -> None:
    servers = Servers()
    act(monkeypatch, servers, Leases(), "restricted", lock_of("night"))
    undo = {**json.loads(servers.settings["persistent"][UNDO]), "lock": lock}
    servers.settings["persistent"][UNDO] = json.dumps(undo)
    result, _took = act(monkeypatch, servers, Leases(), "restored", lock_of("day"))
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["undo_not_readable", "setting_stays"]
