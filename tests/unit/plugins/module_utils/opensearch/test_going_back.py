"""The way back is named only while nothing has started on the new version."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason, Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.going_back import with_former_version
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.replacement import NEVER_STARTED

OLD, NEW, OLDER = Version.parse("2.19.6"), Version.parse("3.8.0"), Version.parse("2.11.1")
PULL = refused("image_not_pulled", "Image a of pod b cannot be pulled.", "Correct the image.")
LATE = refused("timed_out", "This did not change within 9 s.", "Run again.")
CRASH = refused("container_crashes", "The container a ended with exit code 1.", "Read its log.")


def named(*reasons: Reason, running: tuple[Version, ...] = (OLD, OLD)) -> list[bool]:
    """Whether each reason names the way back."""
    verdict = with_former_version(Verdict(reasons), NEVER_STARTED, running, NEW)
    assert [each.message for each in verdict.reasons] == [each.message for each in reasons]
    return ["run again with target_version=2.19.6." in each.remedy for each in verdict.reasons]


def test_it_is_in_the_remedy_of_each_pod_that_has_not_started() -> None:
    assert named(PULL, LATE) == [True, False]
    assert named(CRASH, PULL) == [False, True]


@pytest.mark.parametrize(
    ("reason", "running"),
    [
        (CRASH, (OLD, OLD)),
        (PULL, (OLD, NEW)),
        (PULL, (OLD, OLDER)),
        (PULL, ()),
        (waiting("image_not_pulled", "Image a of pod b cannot be pulled."), (OLD, OLD)),
    ],
)
def test_it_is_not_named(reason: Reason, running: tuple[Version, ...]) -> None:
    """A process that has started may have written data that the older version cannot read."""
    assert named(reason, running=running) == [False]
