"""People pause, resume, approve and abort an upgrade, and are answered by what its record then says."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import FoundRecords
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_store import ConfigMaps
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_record import (
    BATCH,
    LOCK,
    PATH,
    PLAN,
    Records,
    codes,
)

Json = dict[str, Any]
POINTS = [{"name": "canary", "after": 1}]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Records:
    return Records(monkeypatch)


def test_an_aborted_upgrade_is_resumed_by_name_and_goes_on_as_paused(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("ended", event="aborted", summary="Aborted on request.", codes=["stopped_by_request"])
    assert codes(records.task("paused", lock=None, summary="a storm")) == ["no_upgrade_under_way"]
    resumed = records.task("resumed", lock=None)
    assert (resumed["changed"], resumed["name"]) == (True, "lock")
    (read,) = records.task("read")["records"]
    assert (read["phase"], read["codes"]) == ("Paused", [])
    assert not records.task("resumed", lock=None)["changed"]
    assert records.task("begun", plan=PLAN)["record"]["phase"] == "Upgrading"


def test_a_paused_upgrade_that_is_resumed_has_no_cause_of_its_pause(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("paused", lock=None, summary="a storm")
    (running,) = records.task("read")["records"]
    said, code = "The upgrade has been paused by ops.", "paused_on_request"
    records.task("ended", event="paused", summary=said, codes=[code])
    (before,) = records.task("read")["records"]
    assert (before["phase"], before["codes"], running["reason"]) == ("Paused", [code], "")
    records.task("resumed", lock=None)
    (after,) = records.task("read")["records"]
    assert (after["phase"], after["codes"], after["hold"]) == ("Paused", [], None)
    assert after["reason"].startswith("Resumed by ")
    assert [{each["cause"] for each in one["conditions"]} for one in (before, after)] == [{"", said}, {""}]


def test_an_upgrade_that_waits_for_something_else_still_says_so_after_a_pause(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("ended", event="paused", summary="The cluster is yellow.", codes=["health_not_good"])
    records.task("paused", lock=None, summary="a storm")
    records.task("resumed", lock=None)
    (after,) = records.task("read")["records"]
    assert (after["hold"], after["reason"], after["codes"]) == (None, "The cluster is yellow.", ["health_not_good"])


def test_an_approval_that_nothing_waits_for_is_refused(records: Records) -> None:
    records.task("begun", plan={**PLAN, "approvals": POINTS})
    early = records.task("approved", lock=None, approval="canary")
    assert (early["failed"], codes(early)) == (True, ["approval_too_early"])
    records.task(**BATCH, batch_state="upgrading")
    records.task(**BATCH, batch_state="done")
    unknown = records.task("approved", lock=None, approval="canry")
    assert (unknown["failed"], codes(unknown)) == (True, ["approval_unknown"])
    assert records.task("read")["records"][0]["approvals"] == []
    assert records.task("approved", lock=None, approval="canary")["changed"]
    again = records.task("approved", lock=None, approval="canary")
    assert (again["changed"], len(records.task("read")["records"][0]["approvals"])) == (False, 1)


def test_an_upgrade_whose_points_are_approved_says_no_longer_that_it_waits_for_them(records: Records) -> None:
    records.task("begun", plan={**PLAN, "approvals": [*POINTS, {"name": "second", "after": 1}]})
    records.task(**BATCH, batch_state="upgrading")
    records.task(**BATCH, batch_state="done")
    said, code = "The upgrade waits for the approval canary (batches done: 1).", "approval_missing"
    records.task("ended", event="paused", summary=said, codes=[code])
    records.task("approved", lock=None, approval="canary")
    (one,) = records.task("read")["records"]
    assert (one["reason"], one["codes"]) == (said, [code])
    records.task("approved", lock=None, approval="second")
    (both,) = records.task("read")["records"]
    assert (both["reason"].partition(" by ")[0], both["codes"]) == ("second was approved", [])
    assert [{each["cause"] for each in found["conditions"]} for found in (one, both)] == [{"", said}, {""}]


def test_a_point_that_has_moved_is_approved_anew(records: Records) -> None:
    """The same upgrade goes on with other points: an old approval is of the place where it was given."""
    records.task("begun", plan={**PLAN, "approvals": [{"name": "rest", "after": 0}]})
    assert records.task("approved", lock=None, approval="rest")["changed"]
    records.task(**BATCH, batch_state="upgrading", approvals=[{"name": "rest", "after": 0}])
    records.task(**BATCH, batch_state="done")
    moved = [{"name": "rest", "after": 1}]
    following = {
        **PLAN,
        "batches": [{"name": "batch-02.b", "pools": ["data"], "members": ["b"], "cures": False}],
    }
    records.task("begun", plan={**following, "approvals": moved})
    late = {**BATCH, "batch": "batch-02.b", "batch_state": "upgrading", "approvals": moved}
    assert codes(records.task(**late)) == ["approval_missing"]
    assert records.task("approved", lock=None, approval="rest")["changed"]
    assert codes(records.task(**late)) == []
    places = [each["place"] for each in records.task("read")["records"][0]["approvals"]]
    assert places == ["after 0 batches", "after 1 batch"]


def test_a_record_that_cannot_be_read_does_not_hinder_a_person_who_names_another(records: Records) -> None:
    records.task("begun", plan=PLAN)
    records.task("begun", plan={**PLAN, "cluster_uuid": "other"}, lock={**LOCK, "name": "broken"})
    broken = {"data": {"record.json": "{}"}}
    records.api.client().patch(PATH.replace("lock", "broken"), broken, "merge")
    assert codes(records.task("paused", lock=None)) == ["record_not_readable"]
    assert codes(records.task("paused", lock=None, record="broken")) == ["record_not_readable"]
    assert records.task("paused", lock=None, record="lock")["changed"]
    (gone,) = records.task("paused", lock=None, record="gone")["verdict"]["reasons"]
    assert "no upgrade in progress in namespace search with the record gone. There are lock." in gone["message"]


@pytest.mark.parametrize("state", ["paused", "approved", "resumed"])
@pytest.mark.parametrize("ends", [True, False])
def test_nothing_is_said_about_an_upgrade_that_ends_just_then(
    records: Records, monkeypatch: pytest.MonkeyPatch, state: str, ends: bool
) -> None:
    records.task("begun", plan={**PLAN, "approvals": [{"name": "canary", "after": 0}]})
    find = ConfigMaps.find

    def found(store: ConfigMaps) -> FoundRecords:
        there = find(store)
        monkeypatch.setattr(ConfigMaps, "find", find)
        if ends:
            records.task("ended", event="completed")
        else:
            records.api.objects.clear()
        return there

    monkeypatch.setattr(ConfigMaps, "find", found)
    said = records.task(state, lock=None, approval="canary")
    assert (said["failed"], codes(said)) == (True, ["no_upgrade_under_way"])


def test_an_annotation_pauses_an_upgrade_whose_record_cannot_be_read(records: Records) -> None:
    records.task("begun", plan=PLAN)
    broken = {"data": {"record.json": "{"}, "metadata": {"annotations": {"upgrade.stateful/pause": "a storm"}}}
    records.api.client().patch(PATH, broken, "merge")
    paused = records.task(**BATCH, batch_state="upgrading")
    assert (codes(paused), paused["verdict"]["state"]) == (["paused_on_request"], "waiting")
    assert "a storm" in paused["verdict"]["reasons"][0]["message"]
    records.api.client().patch(PATH, {"metadata": {"annotations": {"upgrade.stateful/pause": None}}}, "merge")
    assert codes(records.task(**BATCH, batch_state="upgrading")) == ["record_not_written"]


def approve_by_annotation(records: Records, names: str) -> None:
    """As a person does with kubectl."""
    body = {"metadata": {"annotations": {"upgrade.stateful/approved": names}}}
    records.api.client().patch(PATH, body, "merge")


def test_an_annotation_approves_no_point_of_the_next_upgrade(records: Records) -> None:
    """The ConfigMap of the record stays, with the annotations that people have made."""
    records.task("begun", plan={**PLAN, "approvals": POINTS})
    approve_by_annotation(records, "canary")
    for state in ("upgrading", "done"):
        assert codes(records.task(**BATCH, batch_state=state, approvals=POINTS)) == []
    records.task("ended", event="completed")
    following = {**PLAN, "target_version": "3.9.0", "approvals": [{"name": "canary", "after": 0}]}
    records.task("begun", plan=following)
    waits = records.task(**BATCH, batch_state="upgrading", approvals=following["approvals"])
    assert (codes(waits), waits["verdict"]["state"]) == (["approval_missing"], "waiting")
    approve_by_annotation(records, "canary")
    assert codes(records.task(**BATCH, batch_state="upgrading", approvals=following["approvals"])) == []


def test_an_abort_says_what_became_of_the_upgrade(records: Records) -> None:
    aborted: Json = {"state": "ended", "event": "aborted", "summary": "Aborted on request."}
    (none,) = records.task(**aborted)["verdict"]["reasons"]
    assert (none["code"], none["message"]) == (
        "no_upgrade_under_way",
        "No upgrade is in progress, so none was aborted.",
    )
    records.task("begun", plan=PLAN)
    for _again in range(2):
        (said,) = records.task(**aborted)["verdict"]["reasons"]
        assert (said["code"], said["message"]) == ("upgrade_aborted", "The upgrade to 3.8.0 is Aborted.")
        assert "the playbook resume" in said["remedy"]
    records.task("begun", plan=PLAN)
    records.task("ended", event="completed")
    (over,) = records.task(**aborted)["verdict"]["reasons"]
    assert "the upgrade to 3.8.0 is Completed" in over["message"]
    (unkept,) = records.task(**aborted, record_kept_in="none")["verdict"]["reasons"]
    assert unkept["code"] == "aborted_without_record"


@pytest.mark.parametrize("broken", [True, False])
def test_an_abort_that_cannot_be_noted_says_that_the_next_run_continues(records: Records, broken: bool) -> None:
    records.task("begun", plan=PLAN)
    if broken:
        records.api.client().patch(PATH, {"data": {"record.json": "{"}}, "merge")
    else:
        records.api.away = True
    first, said = records.task("ended", event="aborted", summary="Aborted on request.")["verdict"]["reasons"]
    assert first["code"] == ("record_not_readable" if broken else "record_not_written")
    assert (said["code"], said["state"]) == ("aborted_without_record", "passed")
    assert "so the next run continues with it" in said["message"]
    (alone,) = records.task("ended", event="stopped", summary="It is red.")["verdict"]["reasons"]
    assert alone["code"] == first["code"]


def test_a_record_that_says_more_than_the_cluster_shows_is_named(records: Records) -> None:
    """As that of a clone, which has the UUID and the members of the cluster that was upgraded."""
    assert codes(records.task("begun", plan=PLAN)) == []
    records.task(**BATCH, batch_state="upgrading")
    records.task(**BATCH, batch_state="failed")
    assert codes(records.task("begun", plan=PLAN)) == []
    records.task(**BATCH, batch_state="upgrading")
    records.task(**BATCH, batch_state="done")
    done = {**PLAN, "before": {"a": "3.8.0"}, "batches": []}
    assert codes(records.task("begun", plan=done)) == []
    again = records.task("begun", plan=PLAN)
    assert codes(again) == ["record_contradicted"]
    (reason,) = again["verdict"]["reasons"]
    assert reason["message"].startswith("The record here says that a was upgraded to 3.8.0, and the cluster shows")
    assert "such as a clone" in reason["remedy"]
