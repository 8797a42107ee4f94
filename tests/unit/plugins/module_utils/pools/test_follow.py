"""Following members: what explains a slow one is read seldom, since members are looked at several times a second."""

from __future__ import annotations

from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.follow import EXPLANATION_AGE, Follower
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.hand_over_case import VirtualClock


def follower() -> tuple[Follower, VirtualClock]:
    clock = VirtualClock()
    return Follower(cast(Any, None), clock), clock


def test_what_explains_a_member_is_read_again_once_it_is_old_and_for_each_thing_by_itself() -> None:
    following, clock = follower()
    answers = iter(range(10))
    assert following.explained("events", "one", lambda: next(answers)) == 0
    assert following.explained("events", "two", lambda: next(answers)) == 1
    clock.time += EXPLANATION_AGE / 2
    assert following.explained("events", "one", lambda: next(answers)) == 0
    clock.time += EXPLANATION_AGE / 2
    assert following.explained("events", "one", lambda: next(answers)) == 2
    assert following.explained("node", "one", lambda: next(answers)) == 3


def test_an_answer_that_did_not_come_is_not_kept() -> None:
    following, _clock = follower()

    def unreachable() -> int:
        raise Unreachable.because("kubernetes_unreachable", "No answer.", "")

    with pytest.raises(Unreachable):
        following.explained("events", "one", unreachable)
    assert following.explained("events", "one", lambda: 7) == 7
