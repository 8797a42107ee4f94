"""An upgrade of real servers with the security plugin, by users who have exactly the documented permissions, or fewer.

The tests are of one cluster, and in the order of an upgrade: the last ones change its version.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.homes import fetch_home
from tests.lab.waiting import until
from tests.scenarios.cluster import BOOT, USER
from tests.scenarios.interruptions import VOTING
from tests.scenarios.playbook import PLAYBOOK, Played, confirmed, play, upgrade
from tests.scenarios.secured.cluster import DOCUMENTED, Secured
from tests.scenarios.tasks import Step, Tasks, step

FROM, TO = "2.19.1", "3.4.0"
OTHER = "3.8.0"
"""A version whose image in the lab has no security plugin."""
INDEX, SINGLE = "orders", "single"
DOCUMENTS = 200
ROLE, LOCK_ROLE, REPLICAS_ROLE, _SNAPSHOT_ROLE = DOCUMENTED
READING = [each for each in DOCUMENTED[ROLE]["cluster_permissions"] if each.startswith("cluster:monitor/")]
ON_SHARDS = "indices:admin/flush[s]"
FLUSH, CHANGE = "indices:admin/flush", "cluster:admin/settings/update"
EXPLAIN = "cluster:monitor/allocation/explain"
COUNT = "indices:monitor/stats"
REPLICAS = "indices:admin/settings/update"
EXCLUDE, INCLUDE = (f"cluster:admin/voting_config/{each}_exclusions" for each in ("add", "clear"))
CHECKED = {"cluster:monitor/nodes/stats", "cluster:monitor/tasks/lists"}
"""The permissions that only one check needs, which can be skipped."""


def without(*permissions: str) -> dict[str, Any]:
    """The documented role but for these permissions."""
    role = deepcopy(DOCUMENTED[ROLE])
    for each in (role["cluster_permissions"], role["index_permissions"][0]["allowed_actions"]):
        each[:] = [permission for permission in each if permission.rstrip("*") not in permissions]
    return dict(role)


def user_without(permission: str) -> str:
    """The user who lacks this one."""
    return f"without-{re.sub(r'[^a-z]+', '-', permission)}"


FEWER = {
    **{user_without(each): without(each) for each in (*READING, FLUSH, CHANGE, INCLUDE)},
    # No upgrade needs the documents to be counted.
    user_without(EXCLUDE): without(EXCLUDE, COUNT),
    user_without(ON_SHARDS): {
        **without(),
        "index_permissions": [{"index_patterns": ["*"], "allowed_actions": [FLUSH]}],
    },
    "unchecked": without(*CHECKED),
}
"""User → a role of the same name, which the user has alone."""


@pytest.fixture(scope="module")
def cluster(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    users = {USER: [ROLE], **{name: [name] for name in FEWER}}
    users[user_without(EXCLUDE)].append(LOCK_ROLE)
    users[user_without(INCLUDE)].append(REPLICAS_ROLE)
    cluster = Secured.begin(lab, "secured", FROM, tmp_path_factory.mktemp("secured"), users, {**DOCUMENTED, **FEWER})
    cluster.ask(f"/{INDEX}", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
    for number in range(DOCUMENTS):
        cluster.ask(f"/{INDEX}/_doc/{number}", "PUT", {"number": number})
    # Documents that no refresh has shown are not counted yet.
    cluster.ask(f"/{INDEX}/_refresh", "POST")
    cluster.until_green()
    yield cluster
    cluster.remove()


@contextlib.contextmanager
def index(cluster: Secured, name: str, shards: int, replicas: int) -> Iterator[None]:
    """An index until the block ends."""
    cluster.ask(f"/{name}", "PUT", {"settings": {"number_of_shards": shards, "number_of_replicas": replicas}})
    try:
        yield
    finally:
        cluster.ask(f"/{name}", "DELETE")


@pytest.fixture
def tasks(cluster: Secured, tmp_path: Path, ansible_environment: Mapping[str, str]) -> Tasks:
    """Plays tasks against the cluster."""
    return Tasks(cluster, tmp_path, ansible_environment)


def planned(cluster: Secured, way: Mapping[str, Any], **more: Any) -> Step:
    """The plan as it looks by this connection."""
    options: dict[str, Any] = {"namespace": cluster.namespace, "target_version": TO, "skip_checks": ["images"]}
    return step("upgrade_plan", **{**options, **more}, opensearch=dict(way))


def test_each_permission_to_read_that_is_missing_is_named_in_the_plan(cluster: Secured, tasks: Tasks) -> None:
    asked = [planned(cluster, cluster.by_password(user_without(permission))) for permission in READING]
    # With more replicas than members the allocation has to be explained.
    with index(cluster, "wide", shards=1, replicas=3):
        results = tasks.play(*asked)
    for permission, result in zip(READING, results, strict=True):
        assert result["failed"]
        assert permission in result["msg"]


def test_whoever_has_the_permissions_plans_by_password_or_certificate_and_those_of_a_check_can_be_left_out(
    cluster: Secured, tasks: Tasks
) -> None:
    ways = (cluster.by_certificate(), cluster.by_password())
    *plans, unchecked = tasks.play(
        *(planned(cluster, way) for way in ways),
        planned(cluster, cluster.by_password("unchecked"), skip_checks=["disk", "images", "tasks"]),
    )
    assert not any(each["failed"] for each in (*plans, unchecked)), [each.get("msg") for each in (*plans, unchecked)]
    assert len({each["digest"] for each in plans}) == 1


@pytest.mark.soak
def test_the_image_holds_the_security_plugin_and_without_it_the_plan_would_be_refused(
    cluster: Secured, tasks: Tasks
) -> None:
    """The throw-away pod lists the plugins of a real installation with a real shell."""
    fetch_home(OTHER)
    way, wrong = cluster.by_password(), f"opensearch:{OTHER}"
    holds, lacks = tasks.play(planned(cluster, way, skip_checks=[]), planned(cluster, way, skip_checks=[], image=wrong))
    assert not holds["failed"], holds.get("msg")
    found = {reason["code"]: reason["message"] for reason in holds["verdict"]["reasons"]}
    assert not {code for code in found if code.startswith("plugin")}, found
    assert "no repository for snapshots is registered" in found["no_snapshot"]
    assert lacks["failed"]
    assert "does not hold plugin opensearch-security" in lacks["msg"]


@pytest.mark.soak
def test_each_permission_to_act_that_is_missing_is_named_before_any_member_goes(
    cluster: Secured, ansible_environment: Mapping[str, str]
) -> None:
    before = cluster.fingerprint()
    way: dict[str, Any] = {"upgrade_opensearch": cluster.by_password(), "upgrade_skip_checks": ["images"]}
    consented = confirmed(cluster.variables(TO, **way), ansible_environment)
    for permission in (FLUSH, ON_SHARDS, CHANGE):
        theirs = {**consented, "upgrade_opensearch": cluster.by_password(user_without(permission))}
        played = play(PLAYBOOK, theirs, ansible_environment)
        print(played.output)
        assert played.code != 0
        assert permission in played.message
        assert cluster.fingerprint() == before


def counts(cluster: Secured, tasks: Tasks) -> dict[str, Any]:
    """The documents before and after the last upgrade, as its record has them."""
    (read,) = tasks.play(step("upgrade_record", namespace=cluster.namespace))
    return dict(read["records"][-1]["counts"])


def outdated(cluster: Secured) -> Iterator[str]:
    """The members that are not upgraded."""
    return (name for name, version in cluster.versions().items() if version == FROM)


def elect(cluster: Secured, member: str) -> None:
    """That member becomes the elected manager, and all vote."""
    everybody = cluster.versions().keys()
    cluster.ask(f"{VOTING}?node_names={','.join(everybody - {member})}", "POST")
    until(f"{member} to be elected", lambda: cluster.elected() == member, BOOT)
    cluster.ask(f"{VOTING}?wait_for_removal=false", "DELETE")
    until("all to vote", lambda: len(cluster.voting()["last_committed_config"]) == len(everybody), BOOT)


def of_elected(cluster: Secured, **more: Any) -> tuple[str, dict[str, Any]]:
    """A member that becomes the elected manager, and the variables of an upgrade of it alone."""
    elected = next(outdated(cluster))
    elect(cluster, elected)
    narrowed: dict[str, Any] = {"upgrade_members": [elected], "upgrade_allow_left_behind": True}
    return elected, cluster.variables(TO, **narrowed, **more)


def goes_as_it_is(cluster: Secured, elected: str, played: Played, permission: str) -> None:
    """Fails unless the elected manager was upgraded without a hand-over, for want of this permission."""
    print(played.output)
    assert played.code == 0, played.message
    lines = [line for line in played.output.splitlines() if "No hand-over: " in line]
    assert lines
    assert all(permission in line for line in lines)
    assert cluster.excluded() == []
    assert cluster.versions()[elected] == TO


@pytest.mark.soak
def test_who_may_not_vote_back_in_and_may_set_replicas_raises_them_for_the_time_of_the_upgrade(
    cluster: Secured, tasks: Tasks, ansible_environment: Mapping[str, str]
) -> None:
    with index(cluster, SINGLE, shards=3, replicas=0):
        elected, variables = of_elected(cluster, upgrade_raise_replicas=True)
        before = cluster.fingerprint()
        denied = upgrade({**variables, "upgrade_opensearch": cluster.by_password()}, ansible_environment)
        print(denied.output)
        assert denied.code != 0
        assert REPLICAS in denied.message
        assert cluster.fingerprint() == before
        way = cluster.by_password(user_without(INCLUDE))
        played = upgrade({**variables, "upgrade_opensearch": way}, ansible_environment)
        goes_as_it_is(cluster, elected, played, INCLUDE)
        assert "Indices with a replica for the time of the upgrade" in played.output
        settings = json.loads(cluster.ask(f"/{SINGLE}/_settings?flat_settings=true"))[SINGLE]["settings"]
        assert settings["index.number_of_replicas"] == "0"
        assert cluster.fingerprint().settings == before.settings
    assert [counts(cluster, tasks)[moment]["missing"] for moment in ("before", "after")] == ["", ""]


@pytest.mark.soak
def test_who_may_not_vote_out_goes_on_with_the_elected_manager_as_it_is(
    cluster: Secured, tasks: Tasks, ansible_environment: Mapping[str, str]
) -> None:
    elected, variables = of_elected(cluster, upgrade_lock_kept_in="opensearch")
    way = cluster.by_password(user_without(EXCLUDE))
    played = upgrade({**variables, "upgrade_opensearch": way}, ansible_environment)
    goes_as_it_is(cluster, elected, played, EXCLUDE)
    missing = [counts(cluster, tasks)[moment]["missing"] for moment in ("before", "after")]
    assert all(COUNT in each for each in missing), missing


def test_the_documented_permissions_are_enough(
    cluster: Secured, tasks: Tasks, ansible_environment: Mapping[str, str]
) -> None:
    last = next(outdated(cluster))
    elect(cluster, last)
    before = cluster.fingerprint()
    way = {**cluster.by_password(), "hosts": [cluster.named_url]}
    way["port_forward"] = {"namespace": cluster.namespace, "service": cluster.name}

    played = upgrade(cluster.variables(TO, upgrade_opensearch=way), ansible_environment)

    print(played.output)
    assert played.code == 0, played.message
    assert f"{last} has handed over to " in played.output
    assert set(cluster.versions().values()) == {TO}
    assert cluster.health()["status"] == "green"
    assert cluster.fingerprint().settings == before.settings
    cluster.ask(f"/{INDEX}/_refresh", "POST")
    assert json.loads(cluster.ask(f"/{INDEX}/_count"))["count"] == DOCUMENTS
    found = counts(cluster, tasks)
    assert [found[moment]["each"][INDEX] for moment in ("before", "after")] == [DOCUMENTS] * 2, found
    assert (found["before"]["missing"], found["after"]["missing"]) == ("", "")
