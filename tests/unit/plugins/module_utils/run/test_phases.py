"""The events that lead an upgrade from one phase to another."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import (
    ENDINGS,
    EXPLAINED,
    Phase,
    UpgradeEvent,
    follow,
)

EVENTS = ("scheduled", "agreed", "begun", "stopped", "paused", "completed", "failed", "aborted", "resumed")
GOING = ("Upgrading", "Upgrading", "Paused", "Completed")
NONE = ("",) * 5
TABLE = {
    "New": ("Pending", "Pending", "", "", "", "", "Failed", "", ""),
    "Pending": ("Pending", "Pending", *GOING, "Failed", "Aborted", ""),
    "Upgrading": ("", "Upgrading", *GOING, "Failed", "Aborted", ""),
    "Paused": ("", "Upgrading", *NONE, "Aborted", "Paused"),
    "Failed": ("", "Upgrading", *NONE, "Aborted", ""),
    "Aborted": ("", "Upgrading", *NONE, "", "Paused"),
    "Completed": ("", "", *NONE, "", ""),
}
"""The phase that each event leads to; empty where it cannot happen."""
CASES = [(phase, event, then) for phase, row in TABLE.items() for event, then in zip(EVENTS, row, strict=True)]


def test_the_table_has_every_phase_and_every_event() -> None:
    assert {each.value for each in Phase} == TABLE.keys()
    assert {each.value for each in UpgradeEvent} == {*EVENTS}
    assert {len(row) for row in TABLE.values()} == {len(EVENTS)}


@pytest.mark.parametrize(("phase", "event", "then"), [case for case in CASES if case[2]])
def test_an_event_leads_to_a_phase(phase: str, event: str, then: str) -> None:
    assert follow(Phase(phase), UpgradeEvent(event)) is Phase(then)


@pytest.mark.parametrize(("phase", "event"), [case[:2] for case in CASES if not case[2]])
def test_what_cannot_happen_is_refused_by_its_name(phase: str, event: str) -> None:
    with pytest.raises(Refusal, match=rf"^An upgrade that is {phase} cannot [a-z ]+\. ") as caught:
        follow(Phase(phase), UpgradeEvent(event))
    assert [reason.code for reason in caught.value.verdict.reasons] == ["phase_impossible"]


def test_every_refusal_names_another_event() -> None:
    said = set()
    for event in UpgradeEvent:
        with pytest.raises(Refusal) as caught:
            follow(Phase.COMPLETED, event)
        said.add(str(caught.value))
    assert len(said) == len(UpgradeEvent)


def test_a_run_ends_only_what_is_under_way() -> None:
    for phase in Phase:
        ends = [event for event in ENDINGS if event.value in {end for at, end, then in CASES if at == phase and then}]
        assert (len(ends) == len(ENDINGS)) == (phase in (Phase.PENDING, Phase.UPGRADING))


def test_what_needs_no_reason_is_under_way_new_or_completed() -> None:
    assert {*Phase} - {*EXPLAINED} == {Phase.NEW, Phase.PENDING, Phase.UPGRADING, Phase.COMPLETED}
