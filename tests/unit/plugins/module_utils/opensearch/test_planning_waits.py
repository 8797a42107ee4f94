"""Planning waits for an answer as gates do, and reports at once what waiting would not fix."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import both_sides, pool_order
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import cluster, copy, info
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import World

BUSY = Unreachable(refused("opensearch_unavailable", "It cannot answer now (503).", "Wait."))
AWAY = Unreachable(refused("kubernetes_unreachable", "The API is away.", "Wait."))
WRONG = Refusal(refused("opensearch_credentials", "The password is wrong.", "Correct it."))
STATE = cluster({name: info(name) for name in "abc"}, [copy("logs", "a", primary=True), copy("logs", "b")], elected="c")


def with_twin() -> ClusterState:
    """The cluster while it has not noticed that the process before one of another id is gone."""
    before = next(each for each in STATE.members.values() if each.name == "b")
    return replace(STATE, members={**STATE.members, "id-before": replace(before, id="id-before", address="10.8.8.8")})


@dataclass
class Planned:
    """A plan whose looks fail as the lists say, one after the other, and after that no longer."""

    monkeypatch: pytest.MonkeyPatch
    search: list[Refusal] = field(default_factory=list)
    api: list[Refusal] = field(default_factory=list)
    twins: int = 0
    """The number of looks that show two members of one name."""

    def __post_init__(self) -> None:
        for room in (pool_order, both_sides):
            self.monkeypatch.setattr(room, "connect", lambda *_options: None)
            self.monkeypatch.setattr(room, "observe", lambda _client: self._seen())
        self.monkeypatch.setattr(both_sides, "observe_data_paths", lambda _client: dict.fromkeys("abc", ()))
        self.monkeypatch.setattr(kubernetes, "connect", lambda _options: self._reached())

    def _seen(self) -> Any:
        if self.search:
            raise self.search.pop(0)
        self.twins -= 1
        return with_twin() if self.twins >= 0 else STATE

    def _reached(self) -> Any:
        raise self.api.pop(0) if self.api else Refusal(refused("reached", "It is reached.", ""))

    def plan(self, **params: Any) -> dict[str, Any]:
        spec = pool_order.CONTRACT.argument_spec
        given = {name: option.get("default") for name, option in spec.items()}
        clock = World()
        result = perform(
            pool_order.run, Task({**given, "target_version": "3.8.0", "opensearch": {}, **params}, clock=clock)
        )
        return {**result, "took": clock.now()}


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"] if reason["state"] != "passed"]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Planned:
    return Planned(monkeypatch)


HOSTS = {"search": ["a", "b", "c"]}


def test_an_answer_that_comes_late_makes_the_plan(planned: Planned) -> None:
    planned.search = [BUSY, BUSY]
    result = planned.plan(groups=HOSTS)
    assert [name for batch in result["batches"] for name in batch["members"]]
    assert result["took"] >= 2
    assert "opensearch_unavailable" not in codes(result)


def test_an_answer_that_never_comes_is_refused_at_the_end(planned: Planned) -> None:
    planned.search = [BUSY] * 100
    result = planned.plan(groups=HOSTS, wait_timeout=20)
    assert codes(result) == ["opensearch_unavailable", "timed_out"]


def test_one_pass_says_that_it_waits(planned: Planned) -> None:
    planned.search, planned.api = [BUSY], [AWAY]
    for where in ({"groups": HOSTS}, {"namespace": "search"}):
        planned.search = [BUSY]
        result = planned.plan(**where, wait=False)
        assert result["verdict"]["state"] == "waiting"
        assert "failed" not in result


def test_both_sides_are_waited_for_together(planned: Planned) -> None:
    planned.search, planned.api = [BUSY, BUSY], [AWAY]
    assert codes(planned.plan(namespace="search")) == ["reached", "opensearch_unavailable"]
    planned.search, planned.api = [], [AWAY, AWAY]
    result = planned.plan(namespace="search")
    assert (codes(result), result["took"]) == (["reached"], 2.0)


def test_what_waiting_would_not_cure_is_told_at_once_with_the_rest(planned: Planned) -> None:
    planned.search, planned.api = [WRONG], [AWAY]
    result = planned.plan(namespace="search")
    assert (codes(result), result["took"]) == (["kubernetes_unreachable", "opensearch_credentials"], 0.0)


def test_a_machine_in_whose_place_another_has_come_is_waited_for(planned: Planned) -> None:
    """The one before was lost, so that the cluster lists it until its checks have failed."""
    planned.twins = 3
    result = planned.plan(groups=HOSTS)
    assert "member_name_shared" not in codes(result)
    assert planned.twins < 0


def test_one_pass_looks_once_at_a_machine_in_whose_place_another_has_come(planned: Planned) -> None:
    planned.twins = 1000
    result = planned.plan(groups=HOSTS, wait=False)
    assert (codes(result), result["verdict"]["state"]) == (["member_name_shared"], "waiting")
    assert (planned.twins, result["took"]) == (999, 0.0)
    assert "failed" not in result


@pytest.mark.parametrize(("given", "most"), [({}, both_sides.NOTICED), ({"wait_timeout": 20}, 20)])
def test_two_hosts_of_one_name_are_refused_once_the_cluster_would_have_noticed(
    planned: Planned, given: dict[str, int], most: float
) -> None:
    planned.twins = 1000
    result = planned.plan(groups=HOSTS, **given)
    assert "member_name_shared" in codes(result)
    assert result["verdict"]["state"] == "refused"
    assert result["took"] <= most + 5
