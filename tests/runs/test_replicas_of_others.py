"""Replicas for single copies, and people who make them just before the run, or have set limits for all copies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.test_replicas import FROM, TO, UNDO, given, numbers, undo, with_indices
from tests.runs.world import World, world
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, PLAYBOOK


@pytest.fixture
def here() -> Iterator[World]:
    """A world."""
    with world() as made:
        yield made


@pytest.mark.parametrize("names", [["orders"], ["orders", "never", "closed", ".ds-logs-000001"]], ids=["one", "all"])
def test_a_replica_that_a_person_gives_an_index_just_before_the_run_stays(here: World, names: list[str]) -> None:
    """The run sees it immediately before its own change, which the undo has named by then."""
    cluster = with_indices(here.cluster(FROM))
    before, consent, done = numbers(cluster), here.confirmed(given(cluster)), list[str]()

    def give(request: Request) -> None:
        if request.method == "PUT" and UNDO in str(request.body) and not done:
            done.append(request.path)
            for name in names:
                own = {"number_of_replicas": 1, **({"auto_expand_replicas": "false"} if name == "never" else {})}
                cluster.ask(f"/{name}/_settings", "PUT", {"index": own})

    here.calling.after = give
    ended = here.play(PLAYBOOK, consent)
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    assert done
    cluster.is_upgraded(TO)
    assert (numbers(cluster), undo(cluster)) == ({**before, **dict.fromkeys(names, "1")}, "")


def test_a_limit_of_the_cluster_for_the_copies_on_a_member_refuses_the_plan(here: World) -> None:
    """Each shard alone has a place: seven copies are on three members, of which each may have four."""
    cluster = with_indices(here.cluster(FROM))
    cluster.ask("/safe", "DELETE")
    cluster.ask("/more", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 0}})
    setting = "cluster.routing.allocation.total_shards_per_node"
    cluster.ask("/_cluster/settings", "PUT", {"persistent": {setting: 4}})
    refused = here.play(PLAN, given(cluster))
    assert f"{setting} is 4, and no member that takes it is below that" in refused.message
    cluster.ask("/_cluster/settings", "PUT", {"persistent": {setting: 5}})
    assert here.play(PLAN, given(cluster)).code == 0
