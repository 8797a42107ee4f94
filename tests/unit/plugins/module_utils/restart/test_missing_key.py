"""A member without a key in the Secret of its pool, and a run that is killed while it is scheduled."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.test_new_content import (
    NEW,
    ConfiguredWorld,
    codes,
    edited,
    scheduled,
    there,
    wish,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import Killed

__all__ = ["there"]


def test_a_member_without_a_key_is_marked_before_it_gets_one(there: ConfiguredWorld) -> None:
    """A run that is killed in between would find the wanted content, and not restart the member for it."""
    del there.data["data-1"], there.pods["data-1"]["metadata"]["annotations"]
    there.kill_at = 1
    with pytest.raises(Killed):
        scheduled(there)
    there.kill_at = None
    assert (there.phases(), "data-1" in there.data) == ({"data-1": "schedule-rolling"}, False)
    scheduled(there)
    assert there.data["data-1"] == NEW
    edited(there)
    assert codes(there.restart("data-1", configuration=wish(NEW))) == ["configuration_edited"]
