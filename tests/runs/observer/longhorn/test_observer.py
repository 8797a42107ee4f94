"""The observer on whole runs of Longhorn: it finds nothing in runs that are right, and each of the bugs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs.observer.longhorn.bugs import BUGS
from tests.runs.random_runs.longhorn.story import NEXT, OUTSIDE, REPLACEMENT, WAYS, LonghornStory
from tests.runs.random_runs.playing import Ending
from tests.runs.random_runs.story import Event
from tests.runs.random_runs.systems import SYSTEMS
from tests.sandbox.longhorn.description import Machine, Recurring, Volume

NODES = ("n01", "n02", "n03")
VOLUMES = (Volume("v1", NODES, "n01", groups=("default",)), Volume("v2", ("n02", "n03"), "n02"))
JOBS = (Recurring("daily", ("default",)),)


def played(
    *events: Event, way: str = OUTSIDE, volumes: tuple[Volume, ...] = VOLUMES, outlive: bool = True, **options: Any
) -> Ending:
    """An upgrade of three Kubernetes nodes, to its end."""
    accepted = {"upgrade_accept_unverified": [REPLACEMENT]} if way == OUTSIDE else {}
    given = {**accepted, "upgrade_member_timeout": 90, "upgrade_gate_timeout": 90, **options}
    machines = tuple(map(Machine, NODES))
    story = LonghornStory(0, way, machines, volumes, outlive, jobs=JOBS, options=given, events=events)
    return SYSTEMS["longhorn"].play(story)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_wrong_in_an_upgrade(way: str) -> None:
    ending = played(way=way)
    assert (ending.faults, ending.refused, ending.runs) == ([], "", 1)


def test_a_frontend_may_be_lost_with_consent_alone() -> None:
    ending = played(outlive=False)
    assert (ending.faults, ending.refused) == ([], "")
    assert ending.runs > 2
    refused = played(outlive=False, upgrade_accept_unverified=[])
    assert "it is not verified" in refused.refused
    assert refused.faults == []


@pytest.mark.parametrize("act", [5, 9, 14, 20])
def test_nothing_is_wrong_in_a_run_that_was_killed_and_the_next_one(act: int) -> None:
    ending = played(Event(act, "kill"))
    assert (ending.faults, ending.refused, ending.runs) == ([], "", 2)


FINDING = {"lock_taken_back": Event(12, "lock_taken", 0, 90.0)}
"""The event without which a bug has no consequence."""
SOONEST = {"jobs_not_awaited": NEXT}
"""The method by which a node is changed soon enough for a bug to have a consequence."""


@pytest.mark.parametrize("name", [each for each in BUGS if each != "copies_not_asked"])
def test_the_observer_finds_a_bug(name: str) -> None:
    put_in, broken = BUGS[name]
    events = [FINDING[name]] if name in FINDING else []
    with put_in():
        ending = played(*events, way=SOONEST.get(name, OUTSIDE))
    assert any(f"[{rule}]" in fault for rule in broken for fault in ending.faults), ending.text()


def test_the_observer_finds_that_copies_are_not_asked_for() -> None:
    """The replica on the second node fails while a snapshot is taken before the first one is changed."""
    put_in, (rule,) = BUGS["copies_not_asked"]
    volume = Volume("v", ("n01", "n02"), "n03")
    with put_in():
        endings = [played(Event(11, "replica_fails", number), volumes=(volume,)) for number in (0, 1)]
    assert any(f"[{rule}]" in fault for each in endings for fault in each.faults), [each.text() for each in endings]
