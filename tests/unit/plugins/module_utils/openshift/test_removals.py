"""The APIs in use that the target no longer has: who asks for them, and which count."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.removals import judge_removed
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.removed_apis import (
    IGNORED,
    removed_api,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import RemovedApi

PRESENT, TARGET = Release.parse("4.18.2"), Release.parse("4.19.0")


def user(name: str, count: int, program: str = "client/1") -> dict[str, Any]:
    """One user of an hour on an instance."""
    return {"username": name, "userAgent": program, "requestCount": count}


def counted(count: int, *hours: list[dict[str, Any]], removed: str = "1.32") -> dict[str, Any]:
    """An APIRequestCount with the users of these hours, each on two instances of the API server."""
    found = [{"requestCount": 1, "byNode": [{"nodeName": name, "byUser": users} for name in "ab"]} for users in hours]
    status = {"removedInRelease": removed, "requestCount": count, "last24h": found, "currentHour": found[-1:]}
    return {"metadata": {"name": "cronjobs.v1beta1.batch"}, "status": {**status, "currentHour": {}}}


def found(item: dict[str, Any]) -> RemovedApi:
    """The API, which is removed."""
    api = removed_api(item)
    assert api is not None
    return api


def test_users_are_summed_over_hours_and_instances_and_those_that_ask_most_come_first() -> None:
    api = found(counted(100, [user("few", 1)], [user("few", 2), user("most", 9), user("few", 1, "other/2")]))
    assert [(each.name, each.program, each.requests) for each in api.users] == [
        ("most", "client/1", 18),
        ("few", "client/1", 6),
        ("few", "other/2", 2),
    ]
    assert (api.removed_in, api.requests) == ((1, 32), 100)


@pytest.mark.parametrize("name", sorted(IGNORED))
def test_users_that_ask_for_every_api_do_not_count(name: str) -> None:
    api = found(counted(12, [user(name, 6)]))
    assert (api.requests, api.users) == (0, ())


def test_requests_of_users_that_are_not_listed_count() -> None:
    api = found(counted(5, [user("system:kube-controller-manager", 2)]))
    (reason,) = judge_removed([api], PRESENT, TARGET).reasons
    assert "is in use (requests in 24 hours: 1)" in reason.message
    assert "Most by" not in reason.message


def test_an_api_that_stays_is_none() -> None:
    assert removed_api({"metadata": {"name": "pods.v1"}, "status": {"requestCount": 7}}) is None
    assert removed_api({"metadata": {"name": "pods.v1"}}) is None


@pytest.mark.parametrize("removed", ["soon", "1", "1.x"])
def test_a_version_that_is_none_is_not_understood(removed: str) -> None:
    with pytest.raises(NotUnderstood):
        removed_api(counted(1, [], removed=removed))


@pytest.mark.parametrize(("removed", "counts"), [("1.31", False), ("1.32", True), ("1.33", False)])
def test_only_what_the_target_is_the_first_without_is_said(removed: str, counts: bool) -> None:
    verdict = judge_removed([found(counted(5, [user("a", 1)], removed=removed))], PRESENT, TARGET)
    assert [each.code for each in verdict.reasons] == (["api_removed"] if counts else [])
    assert verdict.passed
