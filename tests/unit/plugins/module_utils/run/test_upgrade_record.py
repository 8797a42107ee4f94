"""The record as a ConfigMap: written only over what was read, and never in the way of an upgrade."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import Lease
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.report import report_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record import kept_in, upgrade_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import ATTEMPTS
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_store import KEY
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import HERE, OTHER, Passing

from tests.sandbox.kubernetes.in_process import InProcess

Json = dict[str, Any]
PATH = "/api/v1/namespaces/search/configmaps/lock"
LOCK = {"run": "night", "name": "lock", "kept_in": "kubernetes", "namespace": "search", "lease_duration": 60}
DEFAULTS: Json = {
    "kubernetes": {},
    "namespace": "search",
    "record_kept_in": None,
    "record_path": "/nowhere",
    "lock": LOCK,
    "plan": None,
    "batch": None,
    "batch_state": None,
    "results": [],
    "waited": [],
    "event": None,
    "summary": "",
    "health": "",
    "acts": [],
    "counted": {},
    "green_seconds": None,
    "health_away": "",
    "deadline": 0,
    "pause_at": 0,
    "approvals": [],
    "approval": None,
    "record": None,
    "codes": [],
    "request": None,
    "retention": 0,
    "locks": True,
    "wait": True,
    "wait_timeout": 10,
    "wait_sleep": 1.0,
}
PLAN = {
    "cluster_uuid": "uuid",
    "target_version": "3.8.0",
    "digest": "p1",
    "deployed_version": "2.19.6",
    "before": {"a": "2.19.6"},
    "members": ["a"],
    "left": [],
    "pools": [{"name": "data", "status": "pending", "members": ["a"]}],
    "batches": [{"name": "batch-01.a", "pools": ["data"], "members": ["a"], "cures": False}],
}
BATCH: Json = {"state": "batch", "batch": "batch-01.a"}


class Records:
    """Tasks of the module on one namespace."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.api = InProcess()
        self.clock = Passing()
        self.lines: list[str] = []
        for module in (upgrade_record, kept_in):
            monkeypatch.setattr(module, "connect", lambda _options: self.api.client())

    def task(self, state: str, check_mode: bool = False, **params: Any) -> Json:
        given = {**DEFAULTS, "state": state, **params}
        voice = Lines(self.lines.append)
        return perform(upgrade_record.run, Task(params=given, check_mode=check_mode, voice=voice, clock=self.clock))

    def writes(self) -> list[str]:
        return [method for method, _path in self.api.asked if method != "GET"]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Records:
    return Records(monkeypatch)


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_an_upgrade_from_its_begin_to_its_end(records: Records) -> None:
    begun = records.task("begun", plan=PLAN)
    assert (begun["changed"], begun["record"]["phase"], begun["before"]) == (True, "Pending", {})
    assert records.task(**BATCH, batch_state="upgrading")["record"]["batches"][0]["state"] == "upgrading"
    took = [{"name": "a", "total_seconds": 30.5}]
    done = records.task(**BATCH, batch_state="done", results=took, waited=[{"code": "moving", "seconds": 3}])
    assert done["record"]["batches"][0]["took"] == took
    ended = records.task("ended", event="completed", summary="Upgraded.")
    assert (ended["record"]["phase"], ended["before"]["phase"]) == ("Completed", "Upgrading")
    assert done["record"]["pools"] == [{"name": "data", "status": "upgraded", "left": []}]
    assert (ended["before"]["deployed_version"], ended["record"]["deployed_version"]) == ("2.19.6", "3.8.0")
    assert [each["action"] for each in ended["actions"]] == ["write_record"]
    (shown,) = records.task("read")["records"]
    assert shown == {"name": "lock", "lock": None, "deployed": "3.8.0", "aim": "to 3.8.0", **ended["record"]}
    assert records.api.objects[PATH]["data"]["summary"].startswith("Completed: to 3.8.0, updated ")


def test_a_record_keeps_what_was_counted_and_a_batch_does_not_return_it(records: Records) -> None:
    counted = {"things": "documents", "parts": "indices", "each": {"logs": 3}}
    gate = {"code": "recovering", "message": "Shards recover.", "seconds": 40.0}
    begun = records.task("begun", plan=PLAN, counted=counted)
    assert begun["record"]["counts"]["before"]["each"] == {"logs": 3}
    done = records.task(**BATCH, batch_state="done")
    assert done["record"]["counts"] is None
    assert [each["name"] for each in done["record"]["batches"]] == [BATCH["batch"]]
    ended = records.task("ended", event="completed", counted={**counted, "each": {"logs": 2}}, waited=[gate])
    assert (ended["record"]["counts"]["after"]["each"], ended["record"]["counts"]["fewer"]) == ({"logs": 2}, 1)
    assert ended["record"]["waited"] == [{**gate, "during": "the end"}]


def test_what_changes_nothing_is_not_told_as_an_act(records: Records) -> None:
    for params in ({"state": "ended", "event": "stopped"}, {"state": "begun", "plan": {**PLAN, "batches": []}}):
        result = records.task(**params)
        assert (result["changed"], result["actions"], result["record"]) == (False, [], {})
    assert records.writes() == []


def test_check_mode_says_the_same_and_writes_nothing(records: Records) -> None:
    for params in (
        {"state": "begun", "plan": PLAN},
        {**BATCH, "batch_state": "done"},
        {"state": "ended", "event": "aborted"},
    ):
        records.api.asked.clear()
        planned = records.task(check_mode=True, **params)
        assert records.writes() == []
        done = records.task(**params)
        assert (planned["changed"], planned["before"]) == (done["changed"], done["before"])
        assert len(planned["actions"]) == len(done["actions"]) == 1
    assert records.task("ended", check_mode=True, event="aborted")["changed"] is False


@pytest.mark.parametrize("batch", ["batch-01.a", "batch-07.z"])
def test_a_batch_without_a_record_is_a_remark(batch: str, records: Records) -> None:
    if batch != "batch-01.a":
        records.task("begun", plan=PLAN)
    result = records.task("batch", batch=batch, batch_state="done")
    assert (codes(result), result["verdict"]["state"], result["changed"]) == (["record_missing"], "passed", False)
    assert records.lines[-1].startswith(f"There is no record of batch {batch} of run night")
    assert "or is one of so many batches that they do not fit" in records.lines[-1]


def test_a_record_that_cannot_be_read_is_not_overwritten(records: Records) -> None:
    labels = {"app.kubernetes.io/managed-by": "stateful.upgrade"}
    records.api.put_there(PATH, {"metadata": {"name": "lock", "labels": labels}, "data": {KEY: "no json"}})
    result = records.task("begun", plan=PLAN)
    assert (codes(result), records.writes()) == (["record_not_readable"], [])
    assert (result["verdict"]["state"], result["record"], result["changed"]) == ("passed", {}, False)
    assert "ConfigMap lock" in result["verdict"]["reasons"][0]["message"]
    shown = records.task("read")
    assert (codes(shown), shown["records"]) == (["record_not_readable"], [])


def test_a_record_that_changes_meanwhile_is_read_and_changed_again(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.api.asked.clear()

    def touched() -> None:
        records.api.before.clear()
        records.api.client().patch(PATH, {"metadata": {"annotations": {"seen": "yes"}}}, "merge")

    records.api.before = [lambda: None, touched]
    result = records.task("ended", event="completed")
    assert (result["record"]["phase"], len(result["actions"])) == ("Completed", 1)
    assert records.api.objects[PATH]["metadata"]["annotations"] == {"seen": "yes"}


def test_a_batch_begins_with_one_reading_of_the_record(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.api.asked.clear()
    records.task(**BATCH, batch_state="upgrading")
    record = [method for method, path in records.api.asked if path == PATH]
    assert record == ["GET", "PATCH"]


def test_a_record_that_is_deleted_meanwhile_is_missed(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.api.before = [lambda: None, records.api.objects.clear]
    result = records.task("ended", event="completed")
    assert (result["changed"], result["actions"], records.api.objects) == (False, [], {})


def test_a_record_that_changes_under_every_write_is_given_up(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.api.asked.clear()

    def touched() -> None:
        records.api.objects[PATH]["metadata"]["resourceVersion"] += "0"

    records.api.before = [lambda: None, touched] * ATTEMPTS
    result = records.task("ended", event="completed")
    assert (codes(result), result["changed"], "failed" in result) == (["record_not_written"], False, False)
    assert records.writes() == ["PATCH"] * ATTEMPTS


@pytest.mark.parametrize("params", [{"state": "begun", "plan": PLAN}, {**BATCH, "batch_state": "done"}])
def test_a_record_that_cannot_be_written_fails_no_upgrade(params: Json, records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.api.away = True
    result = records.task(**params)
    (reason,) = result["verdict"]["reasons"]
    assert (reason["code"], reason["state"], "failed" in result) == ("record_not_written", "passed", False)
    assert reason["message"].startswith("The record was not written. ")
    assert "kubernetes_unreachable" in codes(records.task("read"))


def test_what_cannot_happen_in_a_phase_fails_no_upgrade(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("ended", event="aborted", summary="Aborted on request.")
    result = records.task("ended", event="completed")
    assert (codes(result), "failed" in result) == (["record_not_written"], False)
    assert "An upgrade that is Aborted cannot be completed." in result["verdict"]["reasons"][0]["message"]
    assert records.task("read")["records"][0]["reason"] == "Aborted on request."


def test_a_batch_that_failed_leaves_its_reason(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task(**BATCH, batch_state="upgrading")
    record = records.task(**BATCH, batch_state="failed", summary="Member a is not back. Look at its log.")["record"]
    assert (record["phase"], record["reason"]) == ("Upgrading", "Member a is not back.")


@pytest.mark.parametrize("lost", [True, False])
def test_only_a_lost_answer_may_have_changed_it(lost: bool, records: Records) -> None:
    records.api.lose_answers, records.api.away = int(lost), not lost
    result = records.task("begun", plan=PLAN, wait=False)
    assert (result["verdict"]["state"], result["changed"]) == ("waiting", lost)
    assert [each.get("answer") for each in result["actions"]] == (["lost"] if lost else [])


def test_all_upgrades_and_locks_of_a_namespace_are_shown(records: Records) -> None:
    records.task("begun", plan=PLAN)
    for name in ("lock", "unrecorded"):
        Lease(records.api.client(), "search", name).write(replace(OTHER, **HERE, doing="x"), None)
    managed = {"labels": records.api.objects[PATH]["metadata"]["labels"]}
    records.api.put_there(f"{PATH}-of-another", {"metadata": {"name": "lock-of-another", **managed}, "data": {}})
    shown = records.task("read", lock=None)["records"]
    assert [(each["name"], each["lock"]["run"]) for each in shown] == [("lock", "day"), ("unrecorded", "day")]
    assert shown[0]["lock"]["doing"] == "x"
    assert shown[0]["lock"]["processes"] == "alive"
    assert "phase" not in shown[1]


def test_for_a_report_no_lock_is_asked_for(records: Records, tmp_path: Path) -> None:
    records.task("begun", plan=PLAN)
    records.api.asked.clear()
    assert [each["lock"] for each in records.task("read", lock=None, locks=False)["records"]] == [None]
    assert [path for _method, path in records.api.asked if "leases" in path] == []
    records.api.asked.clear()
    assert records.task("read", lock=None, locks=False, **kept_at("file", tmp_path))["records"] == []
    assert records.api.asked == []


def test_what_is_put_back_after_a_run_that_was_killed_stands_in_its_record(records: Records) -> None:
    records.task("begun", plan=PLAN)
    before = records.task(**BATCH, batch_state="upgrading")["record"]
    act = {"action": "restored", "target": "persistent a.b", "at": "2026-11-23T02:00:20Z"}
    settled = records.task("settled", acts=[act])["record"]
    assert (settled["phase"], settled["updated"]) == (before["phase"], before["updated"])
    (entry,) = report_of(parse_record(records.api.objects[PATH]["data"][KEY], "here")).changes
    # That it was changed is known, though nothing has noted it.
    assert (entry.target, entry.changed, entry.put_back) == ("persistent a.b", 1, 1)
    assert not records.task("settled", acts=[])["changed"]


def kept_at(place: str, path: Path) -> Json:
    return {"record_kept_in": place, "record_path": str(path)}


def test_without_a_namespace_it_is_kept_in_a_file_and_kubernetes_is_not_asked(records: Records, tmp_path: Path) -> None:
    on_hosts: Json = {"namespace": None, "record_path": str(tmp_path / "state")}
    assert records.task("begun", plan=PLAN, **on_hosts)["record"]["phase"] == "Pending"
    records.task(**BATCH, batch_state="upgrading", **on_hosts)
    records.task(**BATCH, batch_state="done", results=[{"name": "a", "total_seconds": 3}], **on_hosts)
    ended = records.task("ended", event="completed", **on_hosts)
    (shown,) = records.task("read", lock=None, **on_hosts)["records"]
    assert shown == {"name": "lock", "lock": None, "deployed": "3.8.0", "aim": "to 3.8.0", **ended["record"]}
    assert (shown["phase"], shown["deployed_version"]) == ("Completed", "3.8.0")
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["lock.3.json", "lock.4.json"]
    assert records.api.asked == []


def test_files_of_a_namespace_are_in_a_folder_of_its_name(records: Records, tmp_path: Path) -> None:
    records.task("begun", plan=PLAN, **kept_at("file", tmp_path))
    assert [path.name for path in (tmp_path / "search").iterdir()] == ["lock.1.json"]
    assert records.writes() == []
    Lease(records.api.client(), "search", "lock").write(replace(OTHER, **HERE), None)
    (shown,) = records.task("read", lock=None, **kept_at("file", tmp_path))["records"]
    assert (shown["phase"], shown["lock"]["run"]) == ("Pending", "day")


def test_a_file_that_is_no_record_is_not_written_over(records: Records, tmp_path: Path) -> None:
    (tmp_path / "search").mkdir()
    path = tmp_path / "search" / "lock.7.json"
    path.write_text("no json")
    result = records.task("begun", plan=PLAN, **kept_at("file", tmp_path))
    assert (codes(result), result["verdict"]["state"], result["changed"]) == (["record_not_readable"], "passed", False)
    assert f"file {path}" in result["verdict"]["reasons"][0]["message"]
    assert codes(records.task("read", **kept_at("file", tmp_path))) == ["record_not_readable"]
    remedy = result["verdict"]["reasons"][0]["remedy"]
    assert f"delete {path.parent}/lock.*.json: nothing but" in remedy, "the version before would count again"
    assert [each.name for each in path.parent.iterdir()] == ["lock.7.json"]


def test_without_a_home_no_folder_is_called_after_it(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME")
    path = "~nobody-is-called-so/records"
    result = records.task("begun", plan=PLAN, **{**kept_at("file", tmp_path), "record_path": path})
    assert (codes(result), result["failed"]) == (["record_file_unusable"], True)
    assert f"The folder of the records is {path}, and it is not known which home that is." in result["msg"]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_used_fails_no_upgrade(records: Records, tmp_path: Path) -> None:
    (tmp_path / "search").write_text("a file")
    result = records.task("begun", plan=PLAN, **kept_at("file", tmp_path))
    (reason,) = result["verdict"]["reasons"]
    assert (reason["code"], "failed" in result) == ("record_not_written", False)
    assert str(tmp_path / "search") in reason["message"]
    assert codes(records.task("read", **kept_at("file", tmp_path))) == ["record_file_unusable"]


def test_where_no_record_is_kept_nothing_is_missed(records: Records, tmp_path: Path) -> None:
    nowhere = kept_at("none", tmp_path)
    for params in (
        {"state": "begun", "plan": PLAN},
        {**BATCH, "batch_state": "done"},
        {"state": "ended", "event": "failed"},
    ):
        result = records.task(**params, **nowhere, lock=None)
        assert (codes(result), result["changed"], result["record"], result["at"] > 0) == ([], False, {}, True)
    assert records.task("read", **nowhere)["records"] == []
    assert (records.writes(), list(tmp_path.iterdir())) == ([], [])


def test_where_no_record_is_kept_the_time_of_the_run_ends_all_the_same(records: Records, tmp_path: Path) -> None:
    result = records.task(**BATCH, batch_state="upgrading", deadline=1, **kept_at("none", tmp_path))
    assert (codes(result), result["failed"]) == (["run_time_over"], True)


def test_no_batch_begins_after_the_moment_of_a_pause_and_nothing_is_noted(records: Records) -> None:
    records.task("begun", plan=PLAN)
    written = records.writes()
    result = records.task(**BATCH, batch_state="upgrading", pause_at=1)
    assert (codes(result), result["verdict"]["state"]) == (["window_closed"], "waiting")
    assert "ended at 1970-01-01T00:00:01Z" in result["verdict"]["reasons"][0]["message"]
    assert records.writes() == written
    assert codes(records.task(**BATCH, batch_state="done", pause_at=1)) == []


def test_a_record_is_written_by_a_run_alone(records: Records) -> None:
    result = records.task("begun", plan=PLAN, lock=None)
    assert (codes(result), result["failed"], records.writes()) == (["lock_missing"], True, [])


def test_the_records_of_a_withdrawn_request_are_removed_once_they_are_old_and_nothing_is_under_way(
    records: Records,
) -> None:
    of = {"source": "configmap/next", "digest": "d1"}
    records.task("begun", plan={**PLAN, "request": of})
    asked: Json = {"lock": None, "request": "configmap/next"}
    assert not records.task("absent", **asked)["changed"], "it is under way"
    records.task("ended", event="completed")
    assert not any(records.task("absent", **asked, retention=days)["changed"] for days in (1, 10**7, 10**18)), "too new"
    assert not records.task("absent", **{**asked, "request": "configmap/other"})["changed"]
    assert records.task("absent", **asked, check_mode=True)["changed"]
    assert PATH in records.api.objects
    removed = records.task("absent", **asked)
    assert (removed["changed"], removed["before"]) == (True, {"records": ["lock"]})
    assert PATH not in records.api.objects
    assert not records.task("absent", **asked)["changed"]


def test_the_records_of_a_withdrawn_request_are_removed_from_a_folder(records: Records, tmp_path: Path) -> None:
    place: Json = {"record_kept_in": "file", "record_path": str(tmp_path)}
    records.task("begun", plan={**PLAN, "request": {"source": "/r.yml", "digest": "d1"}}, **place)
    records.task("ended", event="aborted", **place)
    assert records.task("absent", lock=None, request="/r.yml", **place)["changed"]
    assert [*(tmp_path / "search").iterdir()] == []
