# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether members have come back, as other processes than those that were stopped."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.pod_roll import have_come_back
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.state import ClusterMember
from ansible_collections.stateful.upgrade.plugins.module_utils.planning.versions import Version

OLD, NEW = Version(2, 19, 6), Version(3, 8, 0)


def member(process: str, version: Version) -> ClusterMember:
    return ClusterMember("id-of-a", process, "a", "10.0.0.1", version, frozenset({"data"}))


@pytest.mark.parametrize(
    ("process", "version", "target", "back"),
    [
        ("second", NEW, NEW, True),
        ("second", OLD, NEW, False),
        ("second", OLD, None, True),
        ("first", NEW, NEW, False),
        ("first", OLD, None, False),
    ],
)
def test_another_process_on_the_target_version(
    process: str, version: Version, target: Version | None, back: bool
) -> None:
    assert have_come_back({"a": member(process, version)}, ["a"], {"a": "first"}, target) is back


def test_one_that_is_away_or_was_not_seen_before_has_not_come_back() -> None:
    assert not have_come_back({}, ["a"], {"a": "first"}, NEW)
    assert not have_come_back({"a": member("second", NEW)}, ["a"], {}, NEW)
    assert not have_come_back({"a": member("second", NEW)}, ["a", "b"], {"a": "first", "b": "first"}, NEW)
