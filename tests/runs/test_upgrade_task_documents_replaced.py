"""A new UpgradeTask as document for the owner of another one, whose upgrade it aborts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs import chosen, executor
from tests.runs.driver import BegunHere
from tests.runs.machines import PLAYBOOK, Machines, serve
from tests.runs.task_documents import agreed, play, record, serving, variables, write
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, OWNER, TO, codes
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import STATUS

TWICE = ("cp-1", "cp-1")


@pytest.fixture
def found() -> Iterator[Machines]:
    """A cluster without the definition of UpgradeTasks."""
    with serving() as made:
        yield made


def at_the_first_machine(found: Machines, source: str, act: Any) -> None:
    """Act once when the run of this request has started with a machine of the control plane."""

    def look(request: Request) -> None:
        started = request.method == "PATCH" and "/nodes/cp-" in request.path
        if started and record(found)["request"]["source"] == source:
            found.here.calling.after = lambda _request: None
            act()

    found.here.calling.after = look


def kill() -> None:
    raise Killed


def killed(found: Machines, given: dict[str, Any]) -> None:
    """Kill a run at its first machine; its lock is dead afterwards."""
    at_the_first_machine(found, given["upgrade_request"], kill)
    with pytest.raises(Killed):
        play(found, given)
    found.here.later(900)


def upgraded(found: Machines) -> list[str]:
    return [name for name, each in found.machines.items() if each.kubelet.version == TO]


def cordoned(found: Machines) -> list[str]:
    return [name for name in found.machines if found.cluster.node(name)["spec"].get("unschedulable")]


def test_a_run_is_aborted_behind_the_machine_at_hand_and_followed(found: Machines, tmp_path: Path) -> None:
    first, second = write(tmp_path / "first.yml"), write(tmp_path / "second.yml", (*EVERY, "worker-2"))
    given = {source: agreed(found, source) for source in (first, second)}
    others: list[BegunHere] = []

    def begin() -> None:
        run = (PLAYBOOK, given[second], *found.arguments)
        others.append(BegunHere(executor.a_run(), lambda _shown: chosen.play(*run)))

    at_the_first_machine(found, first, begin)
    aborted = play(found, given[first])
    assert aborted.code != 0
    assert "stopped_by_request" in codes(aborted), aborted.output
    assert "was aborted on request" in aborted.output
    assert others[0].wait() == 0, others[0].output
    assert f"{first} is asked to abort, since the file {second} has the same owner." in others[0].output
    assert (record(found)["phase"], record(found)["request"]["source"]) == ("Completed", second)
    assert "Aborted" in [each["phase"] for each in record(found)["events"]]
    assert (upgraded(found), cordoned(found)) == ([*found.machines], [])


def begun_at_the_first_machine(found: Machines, first: str, other: str) -> list[Any]:
    """A list that has the run of another document once the run of the first one is at its first machine."""
    begun = list[Any]()

    def begin() -> None:
        run = (PLAYBOOK, variables(found, other), *found.arguments)
        begun.append(BegunHere(executor.a_run(), lambda _shown: chosen.play(*run)))

    at_the_first_machine(found, first, begin)
    return begun


@pytest.mark.parametrize(("names", "code"), [(TWICE, "request_invalid"), (EVERY, "not_confirmed")])
def test_it_is_aborted_even_if_the_new_one_is_declined(
    found: Machines, tmp_path: Path, names: tuple[str, ...], code: str
) -> None:
    first, second = write(tmp_path / "first.yml"), write(tmp_path / "second.yml", names)
    given = agreed(found, first)
    declined = begun_at_the_first_machine(found, first, second)
    aborted = play(found, given)
    assert declined[0].wait() != 0
    assert code in declined[0].output
    assert aborted.code != 0
    assert "stopped_by_request" in codes(aborted), aborted.output
    assert code == "not_confirmed" or f"{first} was replaced by {second}, which has the same owner" in aborted.output
    assert (record(found)["phase"], len(upgraded(found)), cordoned(found)) == ("Aborted", 1, [])


def test_a_document_of_another_owner_aborts_none(found: Machines, tmp_path: Path) -> None:
    first = write(tmp_path / "first.yml")
    other = write(tmp_path / "other.yml", controlPlaneRef={**OWNER, "name": "other"})
    given = agreed(found, first)
    refused = begun_at_the_first_machine(found, first, other)
    ended = play(found, given)
    assert ended.code == 0, ended.output
    assert refused[0].wait() != 0
    assert "locked" in refused[0].output
    assert (record(found)["phase"], upgraded(found)) == ("Completed", [*EVERY])


def test_a_plan_aborts_none(found: Machines, tmp_path: Path) -> None:
    first, second = write(tmp_path / "first.yml"), write(tmp_path / "second.yml")
    killed(found, agreed(found, first))
    before = record(found)
    agreed(found, second)
    assert record(found) == before


def test_the_new_one_takes_the_place_of_a_killed_run_and_the_former_never_comes_back(
    found: Machines, tmp_path: Path
) -> None:
    first, second = write(tmp_path / "first.yml"), write(tmp_path / "second.yml")
    killed(found, agreed(found, first))
    given = agreed(found, second)
    noted = [request for request in record(found)["events"] if request["kind"] == "requested"]
    assert [each["about"] for each in noted] == [first]

    def stop(request: Request) -> None:
        if request.method == "PATCH" and "/configmaps/stateful-upgrade-" in request.path:
            raise Killed

    found.here.calling.after = stop
    with pytest.raises(Killed):
        play(found, given)
    found.here.calling.after = lambda _request: None
    found.here.later(900)
    assert record(found)["request"]["source"] == first, "it was killed between the abort and its own start"
    held = play(found, variables(found, first))
    assert held.code == 0, held.output
    assert codes(held) == ["request_replaced"], held.output
    assert f"{first} was replaced by {second}" in serve(found, STATUS, USER).output
    killed(found, given)
    assert record(found)["request"]["source"] == second
    ended = play(found, agreed(found, second))
    assert ended.code == 0, ended.output
    assert (record(found)["phase"], upgraded(found), cordoned(found)) == ("Completed", [*EVERY], [])
    assert codes(play(found, variables(found, first))) == ["request_replaced"]
    write(tmp_path / "first.yml", (*EVERY, "worker-2"))
    again = play(found, agreed(found, first))
    assert again.code == 0, again.output
    assert upgraded(found) == [*found.machines], "changed, it is a new one"
