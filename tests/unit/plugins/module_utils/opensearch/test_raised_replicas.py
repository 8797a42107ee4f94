"""Replicas for single copies: proven before, made with their undo, waited for, put back where they are still ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import raised_replicas, shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.index_replicas import (
    UNDO_OF_REPLICAS,
    carried_replicas,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings

from tests.sandbox.opensearch.client import client_of
from tests.sandbox.opensearch.rooms import THREE, Room
from tests.sandbox.web import Answer, CutOff, Pending, Request

Json = dict[str, Any]
BEFORE, LOST, BEHIND, DENIED = "before", "lost", "behind", "denied"
KINDS = ("orders", "never", "closed", ".ds-logs-000001")


class Killed(BaseException):
    """The run is gone, at this very instruction."""


class Single:
    """A cluster with single copies of every kind, and the tasks that give them a replica and put it back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **room: Any) -> None:
        self.room = Room(**room)
        self.room.index("orders", shards=2, replicas=0)
        self.room.index("never", replicas=0, more={"auto_expand_replicas": "0-0"})
        self.room.index("closed", replicas=0)
        self.room.index(".ds-logs-000001", replicas=0, more={"hidden": True})
        self.room.index("safe", replicas=1)
        self.room.ask("POST", "/closed/_close")
        self.room.clock.advance(10)
        self.acts: list[str] = []
        self.fault: tuple[str, str] | None = None
        """The fault, and a part of the path of the request that it strikes."""
        for each in (raised_replicas, shard_allocation):
            monkeypatch.setattr(each, "connect", lambda *_options: client_of(self._answer, self.room.clock))
        self.before = self.replicas()

    def _answer(self, request: Request) -> Answer | Pending:
        struck = request.method == "PUT" and self.fault is not None and self.fault[1] in request.path
        kind = self.fault[0] if struck and self.fault else ""
        if kind == BEFORE:
            raise Killed
        if kind == DENIED:
            return Answer(403, {"error": {"type": "security_exception", "reason": "no permissions"}, "status": 403})
        answer = self.room.cluster.handler()(request)
        if request.method == "PUT":
            self.acts.append(request.path)
        if kind == BEHIND:
            raise Killed
        if kind == LOST:
            self.fault = None
            raise CutOff(made=True)
        return answer

    def up(self, *, check_mode: bool = False, **params: Any) -> Json:
        """The task that gives replicas."""
        own = {"raise_replicas": ["*"], "batch": [*self.room.layout], "wait_timeout": 60, "lock": None}
        given = {**raised_replicas.CONTRACT.arguments({}), **own, **params}
        return perform(raised_replicas.run, Task(params=given, clock=self.room.clock, check_mode=check_mode))

    def back(self, **params: Any) -> Json:
        """The task that puts back."""
        own = {"state": "restored", "lock": None, "wait_timeout": 30}
        given = {**shard_allocation.CONTRACT.arguments({}), **own, **params}
        return perform(shard_allocation.run, Task(params=given, clock=self.room.clock))

    def replicas(self) -> Json:
        """The settings of all indices about their replicas."""
        found = self.room.ask("GET", "/_settings?flat_settings=true&expand_wildcards=all").body
        wanted = ("index.number_of_replicas", "index.auto_expand_replicas")
        return {name: tuple(index["settings"].get(each) for each in wanted) for name, index in found.items()}

    def undo(self) -> str:
        """The undo that the cluster carries."""
        found = self.room.ask("GET", "/_cluster/settings?flat_settings=true").body["persistent"]
        return str(found.get(UNDO_OF_REPLICAS, ""))


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> Single:
    return Single(monkeypatch)


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def said(result: Json) -> str:
    return " ".join(reason["message"] for reason in result["verdict"]["reasons"])


def test_each_kind_gets_one_and_has_it_back(single: Single) -> None:
    done = single.up()
    assert (codes(done), done["changed"], done["raised"]) == (["replicas_raised"], True, sorted(KINDS))
    assert {name: own[0] for name, own in single.replicas().items()} == dict.fromkeys((*KINDS, "safe"), "1")
    assert single.acts[0] == "/_cluster/settings", "the undo comes first"
    assert {tuple(each["path"][::2]) for each in json.loads(single.undo())["changes"]} == {
        *((name, "index.number_of_replicas") for name in KINDS),
        ("never", "index.auto_expand_replicas"),
    }
    again = single.up()
    assert (again["changed"], len(single.acts)) == (False, 3)
    back = single.back()
    assert (back["changed"], codes(back)) == (True, [])
    assert (single.replicas(), single.undo()) == (single.before, "")
    assert single.back()["changed"] is False


def test_only_those_of_members_that_go_and_that_are_named(single: Single) -> None:
    assert single.up(raise_replicas=["orders", "closed", "-closed"])["raised"] == ["orders"]
    assert {name for name, own in single.replicas().items() if own != single.before[name]} == {"orders"}
    (holder,) = single.room.places("never")
    assert single.up(raise_replicas=["never"], batch=[n for n in single.room.layout if n != holder])["raised"] == [
        "orders"
    ]
    assert single.up(raise_replicas=["never"], batch=[holder])["raised"] == ["never", "orders"]


@pytest.mark.parametrize("place", ["/_cluster/settings", "orders/_settings", "never/_settings"])
@pytest.mark.parametrize("fault", [BEFORE, BEHIND])
@pytest.mark.parametrize("way", ["up", "back"])
def test_a_kill_at_each_act_is_gone_on_with_and_put_back(single: Single, place: str, fault: str, way: str) -> None:
    if way == "back":
        single.up()
    single.fault = (fault, place)
    with pytest.raises(Killed):
        single.up() if way == "up" else single.back()
    single.fault = None
    assert single.undo() or single.replicas() == single.before
    if way == "up":
        assert codes(single.up()) == ["replicas_raised"]
    assert codes(single.back()) == []
    assert (single.replicas(), single.undo()) == (single.before, "")


@pytest.mark.parametrize("place", ["/_cluster/settings", "orders/_settings", "never/_settings"])
def test_a_lost_answer_is_looked_for(single: Single, place: str) -> None:
    single.fault = (LOST, place)
    assert codes(single.up()) == ["replicas_raised"]
    single.fault = (LOST, place)
    assert single.back()["verdict"]["state"] == "passed"
    assert (single.replicas(), single.undo()) == (single.before, "")


def test_one_that_the_server_refuses_keeps_no_other_from_it_and_is_named(single: Single) -> None:
    single.fault = (DENIED, "closed")
    done = single.up()
    assert (done["verdict"]["state"], codes(done)) == ("refused", ["replica_refused", "replicas_starting"])
    assert "closed did not get a replica" in said(done)
    assert "no permissions" in said(done)
    single.fault = None
    assert single.replicas()["orders"] == ("1", None)
    assert single.back()["verdict"]["state"] == "passed"
    assert (single.replicas(), single.undo()) == (single.before, "")
    single.up()
    single.fault = (DENIED, "closed")
    stays = single.back()
    assert codes(stays) == ["replica_stays"]
    changes = json.loads(single.undo())["changes"]
    assert [each["path"][0] for each in changes] == ["closed"], "the undo keeps what is left"
    single.fault = None
    assert (single.back()["verdict"]["state"], single.replicas(), single.undo()) == ("passed", single.before, "")


def test_what_another_has_set_since_stays_and_is_named(single: Single) -> None:
    single.up()
    change: Mapping[str, Json] = {
        "orders": {"number_of_replicas": 2},
        "never": {"auto_expand_replicas": "0-1"},
        "closed": {"number_of_replicas": 0},
    }
    for name, settings in change.items():
        single.room.ask("PUT", f"/{name}/_settings", {"index": settings})
    single.room.ask("DELETE", "/.ds-logs-000001")
    single.room.index(".ds-logs-000001", replicas=1)
    back = single.back()
    assert set(codes(back)) == {"changed_by_another"}
    assert "index.number_of_replicas of index orders to '1', and something else has changed it to '2'" in said(back)
    assert single.replicas() == {
        "orders": ("2", None),
        "never": ("1", "0-1"),
        "closed": ("0", None),
        ".ds-logs-000001": ("1", None),
        "safe": ("1", None),
    }
    assert single.undo() == ""


def test_an_index_that_was_made_of_one_with_a_replica_is_named(single: Single) -> None:
    """Index management shrinks an index, which copies its settings, and deletes it."""
    single.up()
    uuid = single.room.ask("GET", "/orders/_settings?flat_settings=true").body["orders"]["settings"]["index.uuid"]
    for name, replicas in {"shrink-orders": 1, "clone-orders": 2}.items():
        single.room.index(name, replicas=replicas)
        # The server alone sets it.
        single.room.cluster.state.indices[name].settings["resize.source.uuid"] = uuid
    single.room.ask("DELETE", "/orders")
    back = single.back()
    assert codes(back) == ["replica_copied"]
    assert said(back).startswith("Index shrink-orders was made of orders (by a shrink, split or clone), to which run")
    assert single.replicas()["shrink-orders"] == ("1", None)
    assert (codes(single.back()), single.undo()) == ([], "")


def test_they_stay_as_long_as_a_run_goes_on(single: Single) -> None:
    single.up()
    kept = single.back(keep_replicas=True, before={})
    assert codes(kept) == ["replicas_stay"]
    assert codes(single.back(keep_replicas=True)) == []
    assert single.replicas()["orders"] == ("1", None)
    single.back(part="batch")
    assert single.undo()


def test_no_index_loses_its_replica_while_its_primary_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = {**THREE, "d-0": ("data",), "d-1": ("data",)}
    single = Single(monkeypatch, layout=layout)
    single.room.index("there", replicas=0, more={"routing.allocation.include._name": "d-*"})
    single.up(raise_replicas=["there"])
    assert set(single.room.places("there")) == {"d-0", "d-1"}
    for name in ("d-0", "d-1"):
        single.room.cluster.kill(name)
    single.room.clock.advance(5)
    waits = single.back(wait=False)
    assert (waits["verdict"]["state"], codes(waits)) == ("waiting", ["replicas_needed"])
    assert single.replicas()["there"] == ("1", None)
    single.room.start(["d-0", "d-1"])
    assert single.back()["verdict"]["state"] == "passed"
    assert (single.replicas()["there"], single.undo()) == (("0", None), "")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"run":"r","at":"t","cluster":"c","changes":[{"path":["a","u","index.number_of_replicas"],"was":"3","set_to":"1"}]}',
        '{"run":"r","at":"t","cluster":"c","changes":[{"path":["a","u","index.blocks.write"],"was":null,"set_to":"true"}]}',
    ],
)
def test_an_undo_that_no_run_writes_is_never_believed(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        carried_replicas(Settings({UNDO_OF_REPLICAS: text}, {}))
    assert refused.value.verdict.reasons[0].code == "undo_not_readable"


def test_an_undo_of_another_cluster_is_refused(single: Single) -> None:
    single.up()
    foreign = {**json.loads(single.undo()), "cluster": "another"}
    single.room.ask("PUT", "/_cluster/settings", {"persistent": {UNDO_OF_REPLICAS: json.dumps(foreign)}})
    assert codes(single.back()) == ["undo_of_another_cluster"]
    assert single.replicas()["orders"] == ("1", None)


def test_in_check_mode_nothing_is_changed(single: Single) -> None:
    done = single.up(check_mode=True)
    assert (done["verdict"]["state"], done["changed"], single.acts) == ("passed", True, [])
    assert (single.replicas(), single.undo()) == (single.before, "")


def test_all_that_stands_in_the_way_is_said_at_once_and_nothing_is_changed(single: Single) -> None:
    only = {"routing.allocation.include._name": "m-0"}
    kinds: Mapping[str, Mapping[str, Any]] = {
        "pinned": only,
        "follows": {**only, "auto_expand_replicas": "0-1"},
        "blocked": {"blocks.read_only": True},
        "closely": {"routing.allocation.enable": "primaries"},
    }
    for name, more in kinds.items():
        single.room.index(name, replicas=0, more=more)
    refused = single.up()
    assert codes(refused) == ["replica_impossible"] * 4
    for name in ("pinned", "follows", "blocked", "closely"):
        assert f"{name} cannot get a replica for the time of the upgrade" in said(refused)
    assert (single.acts, single.undo()) == ([], "")
    allowed = single.up(allow_single_copy=["pinned", "follows", "blocked", "closely"])
    assert allowed["verdict"]["state"] == "passed"
    assert allowed["raised"] == sorted(KINDS)
