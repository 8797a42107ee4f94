"""The record of an upgrade comes to the same end whatever happens to its runs: to that of one undisturbed run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import (
    FailureClass,
    StepState,
    after_step,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record, begun, ended
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.plugins.module_utils.run.test_record import NEW, changed, plan

MEMBERS = "abc"
BEFORE, AFTER = ("dependencies", "silences"), ("alerts_after",)
HAPPENINGS = ("not done", "fails", "is not reached", "killed before", "killed after")
DISTURBANCES = st.lists(
    st.tuples(st.sampled_from([*BEFORE, *MEMBERS, *AFTER]), st.sampled_from(HAPPENINGS)), max_size=8
)
"""For each run the place at which it is disturbed, and the way."""


class Upgrade:
    """An upgrade of three members, one after the other, between steps that every run takes again."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self.upgraded: set[str] = set()
        self._moments = 0

    def run(self, place: str = "", happening: str = "") -> None:
        """One run, which is disturbed at a step or a member."""
        planned = plan(*(each for each in MEMBERS if each not in self.upgraded))
        self.record = begun(self.record, planned, "run", "ops", self._now()) or self.record
        for name in (*BEFORE, *(each["name"] for each in planned["batches"]), *AFTER):
            member = name.rpartition(".")[2]
            take = self._batch if member != name else self._step
            if not take(name, happening if place == member else ""):
                return
        self._end(UpgradeEvent.COMPLETED)

    def _now(self) -> str:
        self._moments += 1
        return f"2026-11-24T00:{self._moments // 60:02d}:{self._moments % 60:02d}Z"

    def _end(self, event: UpgradeEvent) -> None:
        self.record = ended(self.record, event, f"It has {event.value}.", self._now()) or self.record

    def _condition(self, name: str, state: StepState, failure: FailureClass | None = None) -> None:
        assert self.record is not None
        conditions = after_step(self.record.conditions, name, state, "", self._now(), failure)
        self.record = replace(self.record, conditions=conditions)

    def _step(self, name: str, happening: str) -> bool:
        """Whether the run continues after the step."""
        if happening != "killed before":
            self._condition(name, StepState.STARTED)
        if happening in ("fails", "is not reached"):
            failure = FailureClass.FAILED if happening == "fails" else FailureClass.UNREACHABLE
            self._condition(name, StepState.IN_PROGRESS, failure)
            self._end(UpgradeEvent.STOPPED)
        elif happening == "not done":
            self._condition(name, StepState.IN_PROGRESS)
            self._end(UpgradeEvent.PAUSED)
        elif not happening:
            self._condition(name, StepState.COMPLETED)
        return not happening

    def _batch(self, name: str, happening: str) -> bool:
        """Whether the run continues after the batch. A member may be upgraded although its run was killed."""
        member = name.rpartition(".")[2]
        if happening == "not done":
            self._end(UpgradeEvent.PAUSED)
        if happening in ("not done", "killed before"):
            return False
        self.record = changed(self.record, name, "upgrading", self._now())
        if happening in ("fails", "is not reached"):
            self.record = changed(self.record, name, "failed", self._now())
            self._end(UpgradeEvent.STOPPED)
            return False
        self.upgraded.add(member)
        if happening == "killed after":
            return False
        self.record = changed(self.record, name, "done", self._now())
        return True


def told(upgrade: Upgrade) -> dict[str, Any]:
    """All that the record has but for its times, its history, and the numbers of its batches."""
    record = upgrade.record
    assert record is not None
    return {
        "phase": record.phase,
        "reason": record.reason,
        "versions": (record.target_version, record.deployed_version),
        "batches": sorted((each.members, each.state) for each in record.batches),
        "pools": record.pools,
        "conditions": [
            (each.type, each.status, each.reason, each.failed, each.unreachable) for each in record.conditions
        ],
    }


@given(DISTURBANCES)
def test_any_disturbed_runs_and_one_more_end_as_one_undisturbed_run(disturbances: list[tuple[str, str]]) -> None:
    undisturbed, disturbed = Upgrade(), Upgrade()
    undisturbed.run()
    for place, happening in disturbances:
        disturbed.run(place, happening)
    disturbed.run()
    assert told(disturbed) == told(undisturbed)
    assert told(disturbed)["phase"] is Phase.COMPLETED
    assert told(disturbed)["versions"] == (NEW, NEW)


@given(DISTURBANCES)
def test_the_phase_on_the_way_is_that_of_an_upgrade_under_way(disturbances: list[tuple[str, str]]) -> None:
    """One that stopped continues with the next run, and none that has started comes back to Pending."""
    upgrade, commenced = Upgrade(), False
    for place, happening in disturbances:
        upgrade.run(place, happening)
        assert upgrade.record is not None
        phase, commenced = upgrade.record.phase, commenced or upgrade.record.phase is Phase.UPGRADING
        assert phase in {Phase.PENDING, Phase.UPGRADING, Phase.PAUSED, Phase.COMPLETED}
        assert phase is not Phase.PENDING or not commenced
        assert bool(upgrade.record.reason) == (phase is Phase.PAUSED) or phase is Phase.UPGRADING
