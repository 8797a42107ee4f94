"""The volumes of a member that was added for the time of an upgrade go only if nothing can be lost with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import (
    extra_member,
    removal,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe import cluster
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.extra_case import (
    EXTRA,
    HERE,
    NOTHING,
    Room,
    actions,
    codes,
    only_replicas,
)

from tests.sandbox.kubernetes.kinds import CLAIMS, PODS
from tests.sandbox.web import CutOff, Request


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(monkeypatch)


def only_there(room: Room) -> None:
    """Makes the member, with shards of which it has the only copy."""
    room.run()
    room.ask("PUT", "/only", {"settings": {"number_of_shards": 6, "number_of_replicas": 0}})
    assert room.kubernetes.until(lambda: room.health() == "green")
    assert EXTRA in room.holders("only")


def test_its_volumes_stay_if_another_has_removed_it_with_the_only_copy_of_a_shard(room: Room) -> None:
    """GitOps may put the number in its repository back, whatever the member holds."""
    only_there(room)
    room.kubernetes.apply([{**only_replicas(room.pool(), 2)}])
    early = room.run("absent", wait_timeout=5)
    room.clock.advance(60.0)
    late = room.run("absent", wait_timeout=5)
    for left in (early, late):
        assert (left["verdict"]["state"], left["changed"]) == ("refused", False)
        assert "extra_member_last_copy" in codes(left)
    kept = room.left()
    assert (kept["claims"], kept["mark"], kept["pods"]) == ([f"data-{EXTRA}"], True, [])
    # With its replica the member is back, and all that it holds.
    room.kubernetes.apply([{**only_replicas(room.pool(), 3)}])
    assert room.kubernetes.until(lambda: room.health() == "green")
    room.ask("DELETE", "/only")
    assert codes(room.run("absent")) == []
    assert room.left() == NOTHING


def test_it_stays_if_it_is_not_in_the_cluster_and_has_the_only_copy_of_a_shard(room: Room) -> None:
    only_there(room)
    room.kubernetes.faults.crash_loop(HERE, EXTRA)
    room.kubernetes.ask("DELETE", f"/api/v1/namespaces/{HERE}/pods/{EXTRA}")
    room.clock.advance(60.0)
    left = room.run("absent", wait_timeout=5)
    assert (left["verdict"]["state"], codes(left), left["changed"]) == ("refused", ["extra_member_last_copy"], False)
    kept = room.left()
    assert (kept["claims"], kept["mark"], kept["replicas"]) == ([f"data-{EXTRA}"], True, 3)
    assert codes(room.run("absent", allow_red_indices=["only"])) == []
    given_up = room.left()
    assert (given_up["claims"], given_up["mark"], given_up["replicas"]) == ([], False, 2)


def test_its_volumes_stay_if_another_gives_the_pool_its_replica_back_before_they_are_deleted(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.run()
    judged = removal.judge_gone

    def gone(*given: Any) -> Verdict:
        verdict: Verdict = judged(*given)
        if verdict.passed:
            room.kubernetes.apply([{**only_replicas(room.pool(), 3)}])
            assert room.kubernetes.until(lambda: EXTRA in room.names(PODS))
        return verdict

    monkeypatch.setattr(removal, "judge_gone", gone)
    left = room.run("absent")
    assert (codes(left), left["verdict"]["state"]) == (["extra_member_changed_by_another"], "passed")
    assert "deleted_claim" not in actions(left)
    claim = room.kubernetes.server.store.get(CLAIMS, HERE, f"data-{EXTRA}")
    assert claim is not None
    assert "deletionTimestamp" not in claim["metadata"]
    assert not room.left()["mark"]


@pytest.mark.parametrize("joined", [True, False])
def test_after_an_outage_it_is_proven_again_that_the_member_may_go(
    room: Room, monkeypatch: pytest.MonkeyPatch, joined: bool
) -> None:
    """While the API server was away, the member may have got the only copy of a shard."""
    room.run()
    answer, until, proofs, acted = room.api.answer, list[float](), list[float](), list[float]()

    def looked(*given: Any) -> Any:
        proofs.append(room.clock.now())
        state = cluster.observe(*given)
        members = {each: member for each, member in state.members.items() if joined or member.name != EXTRA}
        return replace(state, members=members)

    def without_answer(request: Request) -> Any:
        shrinks = request.method == "PATCH" and (request.body or {}).get("spec", {}).get("replicas") == 2
        if shrinks and not until:
            until.append(room.clock.now() + 60.0)
        if until and room.clock.now() < until[0]:
            raise CutOff(made=False)
        if shrinks:
            acted.append(room.clock.now() - proofs[-1])
        return answer(request)

    for module in (extra_member, removal):
        monkeypatch.setattr(module, "observe", looked)
    monkeypatch.setattr(room.api, "answer", without_answer)
    assert codes(room.run("absent", wait_timeout=200)) == []
    # The client itself repeats a request for a second.
    assert [seconds < 7.0 for seconds in acted] == [True]
    assert {**room.left(), "health": "green"} == NOTHING
