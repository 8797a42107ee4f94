"""A plan for two members that can be elected, of which one votes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import (
    PODS,
    Room,
    Said,
    said,
)


@pytest.mark.parametrize(
    ("away", "params", "expected"),
    [
        ("", {}, [("only_voter_hands_over", "passed")]),
        ("", {"hand_over": False}, [("no_majority", "refused")]),
        ("", {"hand_over": False, "allow_quorum_loss": True}, [("no_majority", "passed")]),
        ("managers-1", {}, []),
        ("managers-1", {"hand_over": False}, [("no_majority", "refused")]),
    ],
)
@pytest.mark.parametrize("ephemeral", [False, True])
def test_two_managers_need_no_consent_where_one_hands_over(
    room: Room, away: str, params: Mapping[str, Any], expected: Said, ephemeral: bool
) -> None:
    """Without volumes no consent helps: its copy of the cluster state would be lost with the one that alone votes."""
    room.add("managers", 2, volume={"emptyDir": {}} if ephemeral else {"hostPath": {"path": "/data"}})
    del room.versions["managers-2"], room.api.objects[f"{PODS}/managers-2"]
    room.voters = ["managers-0"]
    if away:
        room.out(away)
    result = room.plan(**params)
    lost = [("ephemeral_pool", "refused")] if ephemeral and params else []
    assert said(result) == [*expected, *lost]
    assert result["batches"][-1]["reason"].endswith("hands over first") is params.get("hand_over", True)
    assert (result["digest"] == room.plan()["digest"]) is (not params)
