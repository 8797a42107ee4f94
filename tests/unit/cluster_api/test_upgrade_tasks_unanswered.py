"""UpgradeTasks whose objects cannot be read: which others wait for them."""

from __future__ import annotations

import pytest

from extensions.cluster_api.cluster_api_extension.kubernetes_api import Unanswered
from tests.unit.cluster_api.test_upgrade_tasks_by_hand import Hand, by_hand


@pytest.mark.parametrize("begun", ["by a person", "by a worker", ""])
def test_one_without_an_answer_keeps_others_waiting_if_it_was_begun(begun: str) -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        if begun == "by a worker":
            assert await place.claimed() == "by-hand"
            await place.end("by-hand", "run_failed")
        place.make("another", "md-1")
        if begun == "by a person":
            place.answered("by-hand", phase="Ongoing")
        place.management.server.faults.answer(503, "GET", "machines/one")
        if begun:
            with pytest.raises(Unanswered, match="machines/one with 503"):
                await place.claimed()
        else:
            assert await place.claimed() == "another"

    by_hand(body)


def test_it_is_an_error_if_there_is_no_answer_for_any() -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        place.management.server.faults.answer(503, "GET", "machines/one")
        with pytest.raises(Unanswered, match="machines/one with 503"):
            await place.claimed()

    by_hand(body)
