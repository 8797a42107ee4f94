"""Configurations in a Secret: each write is guarded, is made once, can be put back, and shows no content."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Denied, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.act.configuration import (
    Place,
    add_missing,
    collect,
    complete,
    remove_unwanted,
    write,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration import MOST_BYTES, checksum
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.secrets import secrets_in
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.secret_room import (
    COLLECTING,
    PATH,
    PLACE,
    RESTART,
    SECRETS,
    UPGRADE,
    contents,
    pod,
    put_secret,
    role,
    room,
    task_of,
)

from tests.sandbox.kubernetes.in_process import TOKEN, InProcess

OLD, NEW = b"node.attr.zone: hunter1\n", b"node.attr.zone: hunter2\npath.repo: hunter3\n"
NOW = datetime(2026, 11, 23, 3, 0, tzinfo=timezone.utc)
LATER = NOW + timedelta(minutes=15)
SINCE = "upgrade.stateful/unused-since"


def version(api: InProcess) -> str:
    return str(api.objects[PATH]["metadata"]["resourceVersion"])


def test_a_secret_is_made_with_its_label_and_then_only_gets_the_keys_that_it_lacks() -> None:
    api, task = room(), task_of()
    assert add_missing(task, api.client(), PLACE, {"data-0": OLD})
    made = api.objects[PATH]
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "stateful.upgrade",
        "upgrade.stateful/configuration": "data",
    }
    assert add_missing(task, api.client(), PLACE, {"data-0": NEW, "data-1": NEW})
    assert contents(api) == {"data-0": OLD, "data-1": NEW}
    before = version(api)
    assert not add_missing(task, api.client(), PLACE, {"data-0": NEW, "data-1": NEW})
    assert version(api) == before


def test_a_content_is_written_put_back_or_completed_and_the_second_time_nothing_is_done() -> None:
    api, task = room(), task_of()
    put_secret(api, {"data-0": OLD, "data-1": OLD})
    assert write(task, api.client(), PLACE, {"data-0": NEW})
    assert contents(api) == {"data-0": NEW, "data-0.previous": OLD, "data-1": OLD}
    before = version(api)
    assert not write(task, api.client(), PLACE, {"data-0": NEW})
    assert version(api) == before
    assert write(task, api.client(), PLACE, {"data-0": OLD})
    assert contents(api) == {"data-0": OLD, "data-1": OLD}
    assert write(task, api.client(), PLACE, {"data-0": NEW})
    assert complete(task, api.client(), PLACE, ["data-0"])
    assert contents(api) == {"data-0": NEW, "data-1": OLD}
    assert not complete(task, api.client(), PLACE, ["data-0"])


def test_a_key_is_removed_after_its_pod_with_what_was_kept_for_it() -> None:
    api, task = room(), task_of()
    put_secret(api, {"data-0": OLD, "data-1": NEW, "data-1.previous": OLD, "data-2": OLD})
    assert remove_unwanted(task, api.client(), PLACE, ["data-0"], ["data-0", "data-2"])
    assert contents(api) == {"data-0": OLD, "data-2": OLD}
    assert not remove_unwanted(task, api.client(), PLACE, ["data-0"], ["data-0", "data-2"])


def test_nothing_is_there_to_complete_or_to_remove_where_there_is_no_secret() -> None:
    api, task = room(), task_of()
    assert not complete(task, api.client(), PLACE, ["data-0"])
    assert not remove_unwanted(task, api.client(), PLACE, [], [])
    assert PATH not in api.objects


@pytest.mark.parametrize("there", [True, False])
def test_somebody_who_writes_between_the_look_and_the_write_is_seen(there: bool) -> None:
    api, task = room(), task_of()
    if there:
        put_secret(api, {"data-0": OLD})

    def writes() -> None:
        api.before.clear()
        put_secret(api, {"data-0": b"theirs"})

    api.before = [lambda: None, writes]
    assert write(task, api.client(), PLACE, {"data-0": NEW})
    assert contents(api) == {"data-0": NEW, "data-0.previous": b"theirs"}
    assert len(task.journal.as_result()) == 1


def test_an_answer_that_is_lost_is_noted_and_the_next_run_finds_it_done() -> None:
    api, task = room(), task_of()
    put_secret(api, {"data-0": OLD})
    api.lose_answers = 1
    with pytest.raises(Unreachable):
        write(task, api.client(), PLACE, {"data-0": NEW})
    assert [each["answer"] for each in task.journal.as_result()] == ["lost"]
    assert not write(task_of(), api.client(), PLACE, {"data-0": NEW})
    assert contents(api)["data-0.previous"] == OLD


@pytest.mark.parametrize("there", [True, False])
def test_in_check_mode_the_server_is_asked_and_nothing_is_written(there: bool) -> None:
    api = room()
    if there:
        put_secret(api, {"data-0": OLD})
    before = deepcopy(dict(api.objects))
    task = task_of(check_mode=True)
    assert write(task, api.client(), PLACE, {"data-0": NEW})
    assert dict(api.objects) == before
    assert [each["action"] for each in task.journal.as_result()] == ["changed"]


def test_what_is_told_has_the_checksum_and_the_names_of_settings_and_no_content() -> None:
    api, task = room(), task_of(diff_mode=True)
    put_secret(api, {"data-0": OLD, "data-2": b"\xff\xfe"})
    write(task, api.client(), PLACE, {"data-0": NEW, "data-1": NEW, "data-2": b"{"})
    (did,) = task.journal.as_result()
    assert did["members"] == {
        "data-0": {"checksum": checksum(NEW), "settings": ["node.attr.zone", "path.repo"]},
        "data-1": {"checksum": checksum(NEW)},
        "data-2": {"checksum": checksum(b"{"), "settings": []},
    }
    told = json.dumps(Outcome(task_verdict(task)).as_result(task))
    for content in (OLD, NEW, b"hunter"):
        assert content.decode() not in told
        assert base64.b64encode(content).decode() not in told


def task_verdict(_task: Task) -> Any:
    return Refusal().verdict


@pytest.mark.parametrize(
    ("labels", "more", "code"),
    [
        ({}, {}, "configuration_of_another"),
        ({"upgrade.stateful/configuration": "hot"}, {}, "configuration_of_another"),
        (None, {"immutable": True}, "configuration_immutable"),
    ],
)
def test_a_secret_that_is_not_ours_or_cannot_change_is_left(
    labels: dict[str, str] | None, more: dict[str, Any], code: str
) -> None:
    api = room()
    put_secret(api, {"data-0": OLD}, labels, **more)
    before = version(api)
    acts: list[Callable[[], bool]] = [
        lambda: write(task_of(), api.client(), PLACE, {"data-0": NEW}),
        lambda: add_missing(task_of(), api.client(), PLACE, {"data-1": NEW}),
        lambda: remove_unwanted(task_of(), api.client(), PLACE, [], []),
    ]
    for act in acts:
        with pytest.raises(Refusal) as caught:
            act()
        assert [each.code for each in caught.value.verdict.reasons] == [code]
        assert "hunter" not in str(caught.value)
    assert version(api) == before


def test_contents_that_would_not_fit_with_those_that_are_kept_are_refused_before() -> None:
    api = room()
    put_secret(api, {"data-0": b"x" * (MOST_BYTES // 2 + 1)})
    with pytest.raises(Refusal, match=r"would have 1048\d\d\d bytes .* a Secret has at most 1048576"):
        write(task_of(), api.client(), PLACE, {"data-0": b"y" * (MOST_BYTES // 2 + 1)})


def test_a_secret_that_cannot_be_read_is_refused_without_its_content() -> None:
    api = room()
    put_secret(api, {})
    api.objects[PATH] = {**api.objects[PATH], "data": {"data-0": "hunter2!"}}
    with pytest.raises(Refusal) as caught:
        write(task_of(), api.client(), PLACE, {"data-0": NEW})
    assert "Secret data-configuration" in str(caught.value)
    assert "data.data-0 is no base64" in str(caught.value)
    assert "hunter" not in str(caught.value)


def test_a_secret_that_no_pod_uses_is_marked_and_collected_a_quarter_of_an_hour_later() -> None:
    api, task = room(), task_of()
    put_secret(api, {"data-0": OLD})
    put_other(api)
    assert collect(task, api.client(), "search", NOW) == (True, ())
    assert api.objects[PATH]["metadata"]["annotations"] == {SINCE: "2026-11-23T03:00:00Z"}
    assert collect(task, api.client(), "search", LATER - timedelta(seconds=1)) == (False, ())
    assert collect(task, api.client(), "search", LATER) == (True, ())
    assert PATH not in api.objects
    assert f"{SECRETS}/theirs" in api.objects
    assert [each["action"] for each in task.journal.as_result()] == ["changed", "removed"]


def put_other(api: InProcess) -> None:
    api.put_there(f"{SECRETS}/theirs", {"metadata": {"name": "theirs", "annotations": {SINCE: "2026-01-01T00:00:00Z"}}})


USES = [
    {"volumes": [{"name": "c", "secret": {"secretName": PLACE.name}}]},
    {"volumes": [{"name": "c", "projected": {"sources": [{"secret": {"name": PLACE.name}}]}}]},
    {"containers": [{"name": "server", "image": "a:1", "envFrom": [{"secretRef": {"name": PLACE.name}}]}]},
    {
        "initContainers": [
            {
                "name": "first",
                "image": "a:1",
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": PLACE.name, "key": "data-0"}}}],
            }
        ]
    },
]


@pytest.mark.parametrize("spec", USES)
@pytest.mark.parametrize("kind", ["pod", "set"])
def test_a_secret_of_a_pod_or_of_the_template_of_a_set_is_kept_and_its_mark_removed(
    spec: dict[str, Any], kind: str
) -> None:
    api = room()
    put_secret(api, {"data-0": OLD})
    collect(task_of(), api.client(), "search", NOW)
    if kind == "pod":
        api.put_there("/api/v1/namespaces/search/pods/data-0", pod("data-0", spec))
    else:
        template = {"metadata": {"labels": {"app": "data"}}, "spec": pod("data-0", spec)["spec"]}
        selector = {"matchLabels": {"app": "data"}}
        api.put_there(
            "/apis/apps/v1/namespaces/search/statefulsets/data",
            {"metadata": {"name": "data"}, "spec": {"replicas": 0, "selector": selector, "template": template}},
        )
    assert collect(task_of(), api.client(), "search", LATER) == (True, ())
    assert SINCE not in api.objects[PATH]["metadata"].get("annotations", {})
    assert collect(task_of(), api.client(), "search", LATER) == (False, ())


def test_a_write_takes_the_mark_away() -> None:
    api = room()
    put_secret(api, {"data-0": OLD})
    collect(task_of(), api.client(), "search", NOW)
    write(task_of(), api.client(), PLACE, {"data-0": NEW})
    assert SINCE not in api.objects[PATH]["metadata"].get("annotations", {})


def test_a_secret_that_was_changed_since_the_look_is_not_deleted() -> None:
    api = room()
    put_secret(api, {"data-0": OLD})
    collect(task_of(), api.client(), "search", NOW)

    def writes() -> None:
        api.objects[PATH] = {**api.objects[PATH], "data": {"data-0": base64.b64encode(NEW).decode()}}

    api.before = [lambda: None, lambda: None, lambda: None, writes]
    task = task_of()
    assert collect(task, api.client(), "search", LATER) == (False, ())
    assert contents(api) == {"data-0": NEW}
    assert task.journal.as_result() == []


def test_in_check_mode_nothing_is_collected() -> None:
    api = room()
    put_secret(api, {"data-0": OLD})
    collect(task_of(), api.client(), "search", NOW)
    assert collect(task_of(check_mode=True), api.client(), "search", LATER) == (True, ())
    assert PATH in api.objects


def test_without_the_right_to_list_nothing_is_collected_and_a_remark_says_so() -> None:
    api = room([role(UPGRADE), role(RESTART)])
    put_secret(api, {"data-0": OLD})
    done, remarks = collect(task_of(), api.client(), "search", NOW)
    assert not done
    (said,) = remarks
    assert (said.state.value, said.code) == ("passed", "configurations_not_collected")
    assert "not allowed to list secrets in namespace search" in said.message


def all_acts(api: InProcess) -> None:
    client = api.client()
    add_missing(task_of(), client, PLACE, {"data-0": OLD, "data-1": OLD})
    write(task_of(), client, PLACE, {"data-0": NEW})
    write(task_of(), client, PLACE, {"data-0": OLD})
    remove_unwanted(task_of(), client, PLACE, ["data-0"], [])


def test_the_role_is_enough_for_every_write_and_each_of_its_rights_on_secrets_is_needed() -> None:
    all_acts(room([role(RESTART)]))
    for verb in ("get", "create", "patch"):
        with pytest.raises(Denied, match=f"not allowed to {verb} secrets"):
            all_acts(room([without(role(RESTART), verb)]))
    for verb in ("list", "delete"):
        api = room([role(UPGRADE), role(RESTART), without(role(COLLECTING), verb)])
        put_secret(api, {"data-0": OLD})
        assert [collect(task_of(), api.client(), "search", when)[1] for when in (NOW, LATER)][-1] != ()


def test_the_role_can_be_narrowed_to_the_secrets_of_the_pools() -> None:
    narrowed = role(RESTART)
    narrowed["rules"][0]["resourceNames"] = [PLACE.name]
    api = room([narrowed])
    all_acts(api)
    with pytest.raises(Denied, match="not allowed to get secrets/other-configuration"):
        write(task_of(), api.client(), Place("search", "other-configuration", "other"), {"other-0": NEW})
    api.token = TOKEN
    assert contents(api) == {"data-0": OLD}


def without(shipped: dict[str, Any], verb: str) -> dict[str, Any]:
    for rule in shipped["rules"]:
        if rule["resources"] == ["secrets"]:
            rule["verbs"] = [each for each in rule["verbs"] if each != verb]
    return shipped


def test_a_pod_without_volumes_and_variables_uses_no_secret() -> None:
    assert list(secrets_in({"containers": [{"name": "server", "env": [{"name": "A", "value": "b"}]}]})) == []
