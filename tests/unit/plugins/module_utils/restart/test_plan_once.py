"""Plans of restarts after the same one was agreed to: one consent covers one request once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import restart_plan
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration import checksum
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.restart_plan import SYSTEM
from ansible_collections.stateful.upgrade.plugins.module_utils.run.runs import contract_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import Room, order_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.test_restart_plan import (
    BASE,
    annotate,
    begun,
    codes,
    groups,
    keep,
    plan,
    room,
    ways,
)

__all__ = ["room"]


def test_the_digest_covers_the_contents_that_are_replaced(room: Room) -> None:
    first = plan(room, "http.port: 9201\n")
    begun(room, first)
    keep(room, {"data-0": f"{BASE}edited.by: another\n", "data-1": BASE})
    assert plan(room, "http.port: 9201\n")["digest"] != first["digest"]


def test_the_digest_covers_the_way_and_the_order_of_each_member(room: Room) -> None:
    """Three pods that are replaced are another request than three processes that restart."""
    first = plan(room)
    assert plan(room, order=["clients", "managers", "data"])["digest"] != first["digest"]
    room.pod("data-0", "2.19.6", revision="data-old")
    assert plan(room)["digest"] != first["digest"]


def test_a_consent_is_used_up_once_its_request_was_carried_out(room: Room) -> None:
    first = plan(room)
    begun(room, first, completed="2026-11-25T02:00:00Z")
    again = plan(room, agreed=first["digest"])
    assert (groups(again), codes(again)) == ([], {"restart_carried_out": "passed"})
    # Without that consent it is another request, which is agreed to anew.
    assert (len(order_of(plan(room))), plan(room)["digest"] != first["digest"]) == (6, True)
    # A person who marks a pod wants that one.
    annotate(room, "data-0", restart_phase="schedule")
    marked = plan(room, agreed=first["digest"])
    assert (order_of(marked), marked["digest"] != first["digest"]) == (["data-0"], True)


def test_a_run_that_goes_on_keeps_its_digest_and_one_that_was_killed_at_its_end_has_used_it_up(room: Room) -> None:
    first = plan(room)
    begun(room, first)
    for name in ("data-0", "managers-1"):
        annotate(room, name, restart_phase="schedule-rolling", restart_run="of-before")
    later = plan(room, agreed=first["digest"])
    assert (sorted(order_of(later)), later["digest"]) == (["data-0", "managers-1"], first["digest"])
    for name in ("data-0", "managers-1"):
        annotate(room, name)
    assert groups(plan(room, agreed=first["digest"])) == []


def test_no_pod_is_replaced_by_a_consent_to_restart_its_process(room: Room) -> None:
    annotate(room, "data-0", restart_phase="schedule-rolling", restart_run="of-before")
    first = plan(room)
    begun(room, first)
    room.pod("data-0", "2.19.6", revision="data-old")
    annotate(room, "data-0", restart_phase="schedule-rolling", restart_run="of-before")
    later = plan(room, agreed=first["digest"])
    assert (ways(later), later["digest"] != first["digest"]) == (["pod"], True)


def test_a_run_that_was_killed_while_it_marked_all_pods_has_the_same_plan_and_consent(room: Room) -> None:
    before = plan(room)
    annotate(room, "data-1", restart_phase="schedule-rolling", restart_run="of-before")
    later = plan(room)
    assert (len(order_of(later)), later["digest"]) == (6, before["digest"])
    begun(room, before, completed="2026-11-25T02:00:00Z")
    assert len(order_of(plan(room))) == 6
    # Once the request is noted, those without a mark are done.
    begun(room, before)
    assert order_of(plan(room)) == ["data-1"]


def test_a_person_who_schedules_a_whole_set_has_no_more_restarted(room: Room) -> None:
    """The run takes the phase of the set over to its pods before it notes the request, and they name no run."""
    for name in ("data-0", "data-1"):
        annotate(room, name, restart_phase="schedule-rolling")
    assert sorted(order_of(plan(room))) == ["data-0", "data-1"]


def test_a_run_that_was_killed_after_it_had_marked_a_whole_set_goes_on_with_all(room: Room) -> None:
    before = plan(room)
    for name in ("data-0", "data-1"):
        annotate(room, name, restart_phase="schedule-rolling", restart_run="of-before")
    later = plan(room)
    assert (len(order_of(later)), later["digest"]) == (6, before["digest"])


@pytest.mark.parametrize("lock", ["lock-of-this", "lock-of-another"])
def test_the_end_of_a_run_notes_the_members_of_an_interrupted_one_on_its_cluster(
    room: Room, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    noted: list[list[str]] = []

    def completed(_task: Task, left: Sequence[str]) -> Outcome:
        noted.append([*left])
        return Outcome(Verdict())

    monkeypatch.setattr(restart_plan, "note_completed", completed)
    annotate(room, "data-1", restart_phase="schedule-rolling", restart_run="of-before", restart_cluster=lock)
    given = {name: option.get("default") for name, option in contract_of(SYSTEM).argument_spec.items()}
    given |= {"namespace": "search", "kubernetes": {}, "lock": {"run": "r1", "name": "lock-of-this"}}
    assert SYSTEM.last is not None
    SYSTEM.last(Task(given, clock=room.clock))
    assert noted == [["data-1"] if lock == "lock-of-this" else []]


def test_what_a_limited_run_has_left_is_no_run_that_was_killed_while_it_marked_all_pods(room: Room) -> None:
    annotate(room, "data-0", restart_phase="schedule")
    first = plan(room)
    annotate(room, "data-0")
    annotate(room, "data-1", restart_phase="schedule-rolling", restart_run="of-before")
    begun(room, first, completed="2026-11-25T02:00:00Z", left=["data-1"])
    assert order_of(plan(room)) == ["data-1"]
    # The consent to the limited run covers no other one of the same member.
    annotate(room, "data-0", restart_phase="schedule")
    again = plan(room, members=["data-0"])
    begun(room, again, completed="2026-11-25T02:00:00Z", left=["data-1"])
    assert (order_of(again), plan(room, members=["data-0"])["digest"] != again["digest"]) == (["data-0"], True)


def test_one_consent_covers_the_members_that_people_have_scheduled_until_all_are_done(room: Room) -> None:
    names = ("data-0", "managers-0", "managers-1")
    for name in names:
        annotate(room, name, restart_phase="schedule-rolling")
    first = plan(room)
    begun(room, first)
    annotate(room, "data-0")
    annotate(room, "managers-1", restart_phase="stop", restart_process="one")
    later = plan(room)
    assert (sorted(order_of(later)), later["digest"]) == (["managers-0", "managers-1"], first["digest"])
    # Another member that is scheduled since is another request.
    annotate(room, "data-1", restart_phase="schedule-rolling")
    assert plan(room)["digest"] != first["digest"]
    # So is the same one once it was carried out.
    for name in (*names, "data-1"):
        annotate(room, name, **({"restart_phase": "schedule-rolling"} if name in names else {}))
    begun(room, first, completed="2026-11-25T02:00:00Z")
    assert plan(room)["digest"] != first["digest"]


def test_the_consent_outlasts_the_members_that_people_have_scheduled(room: Room) -> None:
    """The others of the plan are due for a configuration, and were marked by the run."""
    wanted = "http.port: 9201\n"
    annotate(room, "data-0", restart_phase="schedule-rolling")
    first = plan(room, wanted)
    begun(room, first)
    annotate(room, "data-0", configuration=checksum(f"{BASE}{wanted}".encode()))
    annotate(room, "data-1", restart_phase="schedule-rolling", restart_run="of-before")
    keep(room, {"data-0": f"{BASE}{wanted}", "data-0.previous": BASE, "data-1": BASE})
    later = plan(room, wanted)
    assert (order_of(later), later["digest"]) == (["data-1"], first["digest"])
