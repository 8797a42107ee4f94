"""Labels of a pod that stays: those of its roles change, those of controllers never do."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Denied, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.act.labels import label_pod
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.secret_room import (
    RESTART,
    UPGRADE,
    pod,
    role,
    room,
    task_of,
)

from tests.sandbox.kubernetes.in_process import InProcess

PATH = "/api/v1/namespaces/search/pods/data-0"
POOL = pool(
    selector={
        "matchLabels": {"app": "data"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["hot", "warm", "cold"]},
            {"key": "kept", "operator": "Exists"},
            {"key": "gone", "operator": "DoesNotExist"},
        ],
    }
)


def with_pod(**more: Any) -> InProcess:
    api = room(**more)
    api.put_there(PATH, pod("data-0", {}, uid="one", labels={"app": "data", "role/data": "true"}))
    return api


def labels(api: InProcess) -> dict[str, str]:
    return dict(api.objects[PATH]["metadata"]["labels"])


def test_labels_are_set_and_taken_away_and_the_second_time_nothing_is_done() -> None:
    api, task = with_pod(), task_of()
    wanted = {"role/ingest": "true", "role/data": None, "warm": "x"}
    assert label_pod(task, api.client(), POOL, "data-0", "one", wanted)
    assert labels(api) == {"app": "data", "role/ingest": "true", "warm": "x"}
    assert not label_pod(task, api.client(), POOL, "data-0", "one", wanted)
    assert len(task.journal.as_result()) == 1


@pytest.mark.parametrize(
    "key", ["app", "tier", "kept", "gone", "controller-revision-hash", "statefulset.kubernetes.io/pod-name"]
)
def test_a_label_by_which_a_controller_knows_the_pod_is_refused(key: str) -> None:
    api = with_pod()
    before = labels(api)
    with pytest.raises(Refusal, match=f"The label {key} of the pods of pool data cannot change"):
        label_pod(task_of(), api.client(), POOL, "data-0", "one", {"role/ingest": "true", key: "b"})
    assert labels(api) == before


def test_another_pod_of_the_name_is_left() -> None:
    api = with_pod()
    with pytest.raises(Refusal, match="is gone, or another one has its name"):
        label_pod(task_of(), api.client(), POOL, "data-0", "two", {"role/ingest": "true"})
    with pytest.raises(Refusal, match="is gone, or another one has its name"):
        label_pod(task_of(), api.client(), POOL, "data-1", "one", {"role/ingest": "true"})


def test_a_status_that_is_written_in_between_does_no_harm() -> None:
    api = with_pod()

    def writes() -> None:
        api.before.clear()
        api.put_there(PATH, pod("data-0", {}, uid="one", labels={"app": "data", "other": "1"}))

    api.before = [lambda: None, writes]
    assert label_pod(task_of(), api.client(), POOL, "data-0", "one", {"role/ingest": "true"})
    assert labels(api) == {"app": "data", "other": "1", "role/ingest": "true"}


def test_in_check_mode_no_label_is_set() -> None:
    api = with_pod()
    before = labels(api)
    assert label_pod(task_of(check_mode=True), api.client(), POOL, "data-0", "one", {"role/ingest": "true"})
    assert labels(api) == before


@pytest.mark.parametrize("verb", ["get", "patch"])
def test_each_right_on_pods_is_needed(verb: str) -> None:
    fewer = role(RESTART)
    for rule in fewer["rules"]:
        if rule["resources"] == ["pods"]:
            rule["verbs"] = [each for each in rule["verbs"] if each != verb]
    api = with_pod(roles=[role(UPGRADE), fewer])
    with pytest.raises(Denied, match=f"not allowed to {verb} pods/data-0"):
        label_pod(task_of(), api.client(), POOL, "data-0", "one", {"role/ingest": "true"})
