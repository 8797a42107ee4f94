"""The phases that the seconds of an upgrade went into, from hand-made events, looks and samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.benchmarks.phases import Course, Look, Phases, course, joined, true_from
from tests.figures import MemberTime, member_times
from tests.lab.traffic.records import Health

B = MemberTime("b", asked=10.0, stopped=12.0, ready=20.0)
A = MemberTime("a", asked=30.0, stopped=33.0, ready=40.0)
BOTH = {"a": "1", "b": "1"}


def looks(*seen: tuple[float, Mapping[str, str], bool]) -> list[Look]:
    return [Look(at, members, restricted) for at, members, restricted in seen]


def samples(*seen: tuple[float, str]) -> list[Health]:
    return [Health(at, status) for at, status in seen]


CAREFUL = looks(
    (5.0, BOTH, False),
    (9.0, BOTH, True),
    (13.0, {"a": "1"}, True),
    (21.0, {"a": "1", "b": "2"}, True),
    (23.0, {"a": "1", "b": "2"}, False),
    (29.0, {"a": "1", "b": "2"}, True),
    (34.0, {"b": "2"}, True),
    (39.0, {"a": "2", "b": "2"}, True),
    (44.0, {"a": "2", "b": "2"}, False),
)
HEALED = samples((1.0, "green"), (11.0, "yellow"), (26.0, "green"), (31.0, "yellow"), (41.0, "yellow"), (45.0, "green"))


def test_a_careful_upgrade_is_cut_without_rest() -> None:
    found = course([B, A], CAREFUL, HEALED, 4.0, 50.0)
    assert found == Course(
        before=6.0,
        members={
            "b": Phases(stop=2.0, start=8.0, join=1.0, allocation=2.0, green=3.0, rest=4.0),
            # Joined before it was Ready: no time of its own.
            "a": Phases(stop=3.0, start=7.0, join=0.0, allocation=4.0, green=1.0, rest=0.0),
        },
        after=5.0,
    )
    assert sum(found.a_member().values()) * 2 == pytest.approx(46.0)


def test_what_had_not_happened_when_the_next_one_was_taken_lasts_until_then() -> None:
    seen = looks((5.0, BOTH, False), (35.0, {"b": "2"}, False), (42.0, {"a": "2", "b": "2"}, False))
    found = course([B, A], seen, samples((1.0, "green"), (11.0, "yellow"), (31.0, "red"), (60.0, "green")), 4.0, 70.0)
    assert found.members["b"] == Phases(2.0, 8.0, join=10.0, allocation=0.0, green=0.0, rest=0.0)
    assert found.members["a"] == Phases(3.0, 7.0, join=2.0, allocation=0.0, green=18.0, rest=0.0)
    assert found.after == 10.0


def test_a_cluster_that_is_never_whole_again_heals_until_the_end() -> None:
    found = course([B], CAREFUL, samples((1.0, "green"), (11.0, "red")), 4.0, 25.0)
    assert found.members["b"] == Phases(2.0, 8.0, 1.0, 2.0, green=2.0, rest=0.0)
    assert found.after == 0.0


def test_an_upgrade_that_replaced_nothing_is_all_before() -> None:
    found = course([], CAREFUL, HEALED, 4.0, 50.0)
    assert found == Course(46.0, {}, 0.0)
    assert sum(found.a_member().values()) == 46.0


def test_a_member_has_joined_when_it_is_there_under_a_new_id() -> None:
    assert joined(CAREFUL, "b", 10.0) == 21.0
    assert joined(CAREFUL[:3], "b", 10.0) is None
    # Still listed for a short time after it was asked to stop: that is the old process.
    assert joined(looks((9.0, BOTH, False), (10.5, BOTH, False)), "b", 10.0) is None
    # Away already before: whatever comes is new.
    assert joined(looks((9.0, {"a": "1"}, False), (12.0, BOTH, False)), "b", 10.0) == 12.0


def test_what_was_true_at_the_last_look_is_true_at_once() -> None:
    states = [(1.0, True), (5.0, False), (9.0, True)]
    assert [true_from(states, since) for since in (0.5, 3.0, 5.0, 9.5)] == [1.0, 3.0, 9.0, 9.5]
    assert true_from(states[:2], 6.0) is None


def event(at: float, what: str, pod: str, namespace: str = "search") -> dict[str, Any]:
    return {"monotonic": at, "event": what, "pod": pod, "namespace": namespace}


def test_members_are_found_in_the_kubelets_log() -> None:
    events = [
        {"monotonic": 1.0, "event": "lab-starting"},
        event(2.0, "pod-ready", "b"),
        event(10.0, "pod-stop-requested", "b"),
        event(11.0, "pod-stop-requested", "b", "other"),
        event(12.0, "pod-stopped", "b"),
        event(20.0, "pod-ready", "b"),
        event(25.0, "pod-ready", "b"),
        event(30.0, "pod-stop-requested", "a"),
    ]
    (found,) = member_times(events, "search")
    assert found == B
    assert (found.stop, found.start, found.away) == (2.0, 8.0, 10.0)
