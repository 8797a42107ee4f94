"""Whether restarted members have joined: what is waited for, and what time will not fix."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.back import judge_back
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterMember
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

OLD, NEW = Version(2, 19, 6), Version(3, 8, 0)


def member(name: str, process: str, version: Version) -> ClusterMember:
    return ClusterMember(f"id-of-{name}", process, name, "10.0.0.1", version, frozenset({"data"}))


@pytest.mark.parametrize(
    ("seen", "former", "state", "codes"),
    [
        (member("a", "second", NEW), {"a": "first"}, State.PASSED, []),
        (None, {"a": "first"}, State.WAITING, ["not_joined"]),
        # The old process is still listed: it runs the old version, and that is not the fault of the package.
        (member("a", "first", OLD), {"a": "first"}, State.WAITING, ["not_restarted"]),
        (member("a", "second", OLD), {"a": "first"}, State.REFUSED, ["wrong_version"]),
        # It was not there before, so that any process is another.
        (member("a", "first", NEW), {}, State.PASSED, []),
        (member("a", "second", OLD), {}, State.REFUSED, ["wrong_version"]),
        (None, {}, State.WAITING, ["not_joined"]),
    ],
)
def test_one_member(seen: ClusterMember | None, former: dict[str, str], state: State, codes: list[str]) -> None:
    verdict = judge_back({"a": seen} if seen else {}, ["a"], NEW, former)
    assert (verdict.state, [reason.code for reason in verdict.reasons]) == (state, codes)


def test_every_member_of_the_batch_is_waited_for() -> None:
    seen = {"a": member("a", "second", NEW), "b": member("b", "first", OLD)}
    verdict = judge_back(seen, ["a", "b", "c"], NEW, {"a": "first", "b": "first", "c": "first"})
    assert [(r.code, r.message.split()[0]) for r in verdict.reasons] == [("not_restarted", "b"), ("not_joined", "c")]


def test_without_a_target_any_version_is_the_right_one() -> None:
    assert judge_back({"a": member("a", "second", OLD)}, ["a"], None, {"a": "first"}).passed
    assert not judge_back({"a": member("a", "first", OLD)}, ["a"], None, {"a": "first"}).passed
