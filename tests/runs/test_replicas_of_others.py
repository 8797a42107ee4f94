"""Replicas that a person gives an index when a run is about to do the same: they are no change of the run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.test_replicas import FROM, TO, UNDO, given, numbers, undo, with_indices
from tests.runs.world import World, world
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAYBOOK


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
