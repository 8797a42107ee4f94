"""The record of an upgrade gets an event for each phase, as `kubectl describe` shows it, and none fails an upgrade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import News
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_store import ConfigMaps
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.secret_room import room
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import (
    BATCH,
    LOCK,
    PATH,
    PLAN,
    Records,
    codes,
    kept_at,
)

from tests.sandbox.kubernetes.kinds import EVENTS

Json = dict[str, Any]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Records:
    return Records(monkeypatch)


def told(records: Records) -> list[Json]:
    """The events of the namespace, the oldest first."""
    events = [dict(each) for each in records.api.server.store.list(EVENTS, "search")]
    return sorted(events, key=lambda each: int(each["metadata"]["resourceVersion"]))


def test_each_phase_is_an_event_of_the_record(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task(**BATCH, batch_state="upgrading")
    records.task(**BATCH, batch_state="waiting")
    records.task("ended", event="paused", summary="A disk is full. Much more is said of it.")
    records.task("begun", plan=PLAN)
    records.task(**BATCH, batch_state="done")
    records.task("ended", event="completed")
    events = told(records)
    assert [each["reason"] for each in events] == [
        f"Upgrade{phase}" for phase in ("Pending", "Upgrading", "Paused", "Upgrading", "Completed")
    ]
    assert "The upgrade to 3.8.0 is Paused. A disk is full." in events[2]["message"]
    uid = records.api.objects[PATH]["metadata"]["uid"]
    about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "search", "name": "lock", "uid": uid}
    assert [{name: each["involvedObject"][name] for name in about} for each in events] == [about] * 5
    assert {(each["type"], each["source"]["component"]) for each in events} == {("Normal", "stateful.upgrade")}


def test_a_failed_upgrade_is_a_warning(records: Records) -> None:
    store = ConfigMaps(records.api.client(), "search")
    store.write("lock", "{}", "", None, News("Failed", "The upgrade to 3.8.0 is Failed."))
    (event,) = told(records)
    assert (event["type"], event["reason"]) == ("Warning", "UpgradeFailed")


def test_an_event_that_may_not_be_made_stops_nothing(records: Records) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "patch"]}]
    records.api = room([{"metadata": {"name": "records-alone"}, "rules": rules}])
    begun = records.task("begun", plan=PLAN, lock=LOCK)
    assert (begun["verdict"]["state"], begun["record"]["phase"]) == ("passed", "Pending")
    assert ("POST", "/api/v1/namespaces/search/events") in records.api.asked
    assert told(records) == []


def test_a_namespace_that_is_not_there_has_no_empty_answer(records: Records, tmp_path: Path) -> None:
    misspelt: Json = {"namespace": "serach", "lock": None}
    refused = records.task("read", **misspelt)
    assert (refused["failed"], codes(refused)) == (True, ["namespace_missing"])
    assert "There is no namespace serach in the Kubernetes cluster" in refused["msg"]
    records.api.objects["/api/v1/namespaces/serach"] = {"metadata": {"name": "serach"}}
    assert records.task("read", **misspelt)["records"] == []
    elsewhere: Json = {**misspelt, "namespace": "other", **kept_at("file", tmp_path), "locks": False}
    assert records.task("read", **elsewhere)["records"] == []
