"""The gate of an OpenSearch on Kubernetes nodes of which some are away at once, each time others."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task, attempt
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import gate as gate_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.member_list import Listed
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.look import Look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets, Part
from ansible_collections.stateful.upgrade.plugins.module_utils.workloads import away as gates

from tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    copy,
    health,
    index_metadata,
    info,
)

NAMES = [f"data-{number:02}" for number in range(30)]
VOTERS = ["manager-0", "manager-1", "manager-2"]
WORKLOAD = {"moment": "before_batch", "namespace": "search", "wait": False, "kubernetes_nodes": ["named"]}


class Database:
    """Thirty members with data, each on the Kubernetes node of its number, managers elsewhere, and what is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, copies: list[Json], **indices: Json) -> None:
        roles = {**dict.fromkeys(NAMES, ("data",)), **dict.fromkeys(VOTERS, ("cluster_manager",))}
        members = {name: info(name, roles=own) for name, own in roles.items()}
        state = cluster(members, copies, voting=coordination(VOTERS), elected=VOTERS[0], indices=indices)
        seen = Look(state, health(), Settings({}, {}))
        self.places = {name: f"node-{name[-2:]}" for name in roles}
        self.moves: list[Callable[[], None]] = []
        self.asked: list[str] = []

        def look(*_asked: Any, **_measures: Any) -> Look:
            self.asked.append("look")
            for move in self.moves[:1]:
                self.moves.remove(move)
                move()
            return seen

        def list_members(_params: Any) -> list[Listed]:
            self.asked.append("list")
            return [
                Listed(name, "pool", "a", "2.19.6", own, 1, elected=False, kubernetes_node=self.places[name])
                for name, own in roles.items()
            ]

        monkeypatch.setattr(gates, "connect", lambda *_options: None)
        monkeypatch.setattr(gate_of, "look", look)
        monkeypatch.setattr(health_gate, "list_members", list_members)

    def gate(self, away: AwaySets) -> Outcome:
        """The outcome of the gate."""
        spec = health_gate.CONTRACT.argument_spec
        params = {name: option.get("default") for name, option in spec.items()}
        return attempt(lambda task: gates.members_spared(away, task), Task({**params, **WORKLOAD}))


def some(count: int, at_once: int) -> AwaySets:
    """So many Kubernetes nodes, of which any may be away at once."""
    return AwaySets([[Part(frozenset(f"node-{name[-2:]}" for name in NAMES[:count]), at_once)]])


def ring(*names: str) -> list[Json]:
    """Two copies of each index on two members that follow each other."""
    return [
        copy(f"i{number}", name, primary=first)
        for number, pair in enumerate(pairwise(names))
        for name, first in zip(pair, (True, False), strict=True)
    ]


@pytest.mark.parametrize(("count", "at_once"), [(1, 1), (30, 1), (30, 2), (30, 15)])
def test_the_requests_are_the_same_however_much_may_be_away_at_once(
    monkeypatch: pytest.MonkeyPatch, count: int, at_once: int
) -> None:
    """There are 435 sets of 2 of 30 Kubernetes nodes, and 155 million of 15."""
    database = Database(monkeypatch, ring(*NAMES))
    verdict = database.gate(some(count, at_once)).verdict
    assert database.asked[:2] == ["list", "look"]
    assert database.asked[2:] == (["list"] if verdict.passed else [])
    assert verdict.passed is (at_once == 1)


def test_only_two_that_hold_all_copies_of_a_shard_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(monkeypatch, ring("data-07", "data-21"))
    copies, together = database.gate(some(30, 2)).verdict.deciding()
    assert copies.message == "Every copy of i0[0] is in the batch data-07, data-21."
    assert together.message == (
        "Kubernetes nodes node-07, node-21 may be away at once, and no gate is asked in between."
    )
    assert database.gate(some(21, 2)).verdict.passed


def test_a_refusal_is_not_held_up_by_others_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = [copy("a", "data-00", primary=True), copy("a", "data-05", "INITIALIZING")]
    database = Database(monkeypatch, [*waits, *ring("data-07", "data-21")])
    assert [each.code for each in database.gate(some(1, 1)).verdict.deciding()] == [
        "last_started_copy",
        "recovery_running",
    ]
    assert database.gate(some(30, 2)).verdict.deciding()[0].code == "every_copy_in_batch"


def test_a_remark_on_many_sets_names_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = index_metadata(number_of_replicas="1", write={"wait_for_active_shards": "2"})
    database = Database(monkeypatch, ring(*NAMES), **{f"i{number}": waiting for number in range(len(NAMES) - 1)})
    said = database.gate(some(30, 1)).verdict.reasons
    assert [(each.code, each.message.split(",")[0]) for each in said] == [
        ("writes_wait", f"While data-0{number} is away") for number in range(3)
    ]
    assert [each.message.endswith(" The same is true of 27 other sets of Kubernetes nodes.") for each in said] == [
        False,
        False,
        True,
    ]


def test_members_that_have_moved_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(monkeypatch, ring("data-07", "data-21"))
    database.places["data-21"] = "elsewhere"
    database.moves.append(lambda: database.places.update({"data-21": "node-21"}))
    assert not database.gate(some(30, 2)).verdict.passed
    assert database.asked == ["list", "look", "list", "look"]
