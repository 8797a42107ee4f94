"""Plans of restarts by agents: credentials that someone on the network could read are named."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import Room
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.test_restart_plan import (
    codes,
    plan,
    room,
)

__all__ = ["room"]


@pytest.mark.parametrize("verified", [False, True])
def test_a_token_for_agents_whose_certificates_are_not_checked_is_remarked_where_one_is_asked(
    room: Room, verified: bool
) -> None:
    agent = {"token": "hunter2", "validate_certs": verified}
    assert ("credentials_unverified" in codes(plan(room, way="agent", agent=agent))) is not verified
    assert "credentials_unverified" not in codes(plan(room, way="kubelet", agent=agent))
    assert "credentials_unverified" not in codes(plan(room, "", way="agent", agent=agent))
