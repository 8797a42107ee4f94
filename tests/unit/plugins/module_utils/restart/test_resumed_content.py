"""An interrupted restart of all members is brought to its end on its own content, and starts no other restart."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.test_new_content import (
    NEW,
    OLD,
    OTHER,
    ConfiguredWorld,
    checksum,
    codes,
    wish,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed


def interrupted(kill_at: int) -> ConfiguredWorld:
    """All members are to restart at once on a new content, and the run is killed."""
    there = ConfiguredWorld()
    for name in NAMES:
        there.annotate(name, restart_phase="schedule-coordinated")
    there.kill_at = kill_at
    with pytest.raises(Killed):
        there.restart(*NAMES, configuration=wish(NEW), allow_full_restart=True)
    there.kill_at = None
    return there


def test_a_later_wish_waits_for_its_own_plan_and_consent() -> None:
    there = next(found for found in map(interrupted, range(9, 99)) if len(found.started) == len(NAMES))
    stopped = [*there.stopped]
    assert len(stopped) == len(NAMES)
    result = there.restart(state="resumed", pools=[], expected=[], configuration=wish(OTHER))
    assert (codes(result), there.phases(), there.stopped) == ([], {}, stopped)
    assert there.agents["data-1"].runs == checksum(NEW)


@pytest.mark.parametrize("stopped", ["false", "true"])
def test_what_members_had_before_is_kept_while_an_interrupted_run_has_some_left(stopped: str) -> None:
    """A run that is narrowed to other members ends well in between. One that a person has had stopped is done."""
    there = ConfiguredWorld()
    for name in ("data-0", "data-1"):
        there.annotate(name, restart_phase="schedule-rolling")
    there.annotate("data-0", stop=stopped)
    assert codes(there.restart("data-1", configuration=wish(NEW))) == []
    for left in (True, False):
        if not left:
            there.restart("data-0", configuration=wish(NEW))
            assert there.phases() == ({"data-0": "stop"} if stopped == "true" else {})
        there.restart(state="completed", configuration=wish(NEW))
        assert there.data.get("data-1.previous") == (OLD if left else None)
