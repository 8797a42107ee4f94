"""The first part of each playbook, from its variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.inputs_of_run import InputsOfRun, request_source
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import PLAYBOOKS, SERVING

REQUEST = {"type": "opensearch", "variables": {"target_version": "3.8.0"}, "digest": "r1"}
READ = {"request": REQUEST, "verdict": {"reasons": []}}
MISSING = {"msg": "It is gone.", "verdict": {"reasons": [{"state": "refused", "code": "request_missing"}]}}


def inputs(playbook: str = "opensearch", faults: list[str] | None = None, **variables: Any) -> InputsOfRun:
    """The inputs of a run whose variables have these faults, if any."""
    return InputsOfRun(playbook, variables.get, lambda _request: faults or [])


def test_nothing_is_due_where_nothing_is_wrong() -> None:
    assert inputs().parts() == []
    assert inputs(upgrade_request="").parts() == []


@pytest.mark.parametrize("playbook", sorted([*PLAYBOOKS, *SERVING, "plan"]))
def test_a_request_is_read_by_every_playbook_that_upgrades_or_plans(playbook: str) -> None:
    reads = inputs(playbook, upgrade_request="request.yml").parts() == ["request.yml"]
    assert reads is (playbook in PLAYBOOKS.keys() - {"fleet"} or playbook == "plan")


def test_a_request_is_checked_once_it_is_read() -> None:
    given: dict[str, Any] = {"upgrade_request": "request.yml", "inputs_read": READ}
    seen: list[Mapping[str, Any]] = []

    def faults_of(request: Mapping[str, Any]) -> list[str]:
        seen.append(request)
        return ["One."]

    assert InputsOfRun("opensearch", given.get, faults_of).parts() == ["refused_inputs.yml"]
    assert seen == [REQUEST]
    assert inputs(**given).parts() == []
    assert inputs(upgrade_request="request.yml", inputs_read=MISSING).parts() == ["refused_inputs.yml"]


@pytest.mark.parametrize("place", ["https://git/request.yml", "configmap/request", "upgradeconfig/request"])
def test_a_place_that_is_no_file_stays(place: str) -> None:
    assert request_source({"upgrade_request": place}.get) == place


def test_a_relative_path_begins_where_the_playbook_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert request_source({"upgrade_request": "requests/one.yml"}.get) == str(tmp_path.resolve() / "requests/one.yml")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert request_source({"upgrade_request": "~/one.yml"}.get) == str(tmp_path.resolve() / "one.yml")
    # It is refused, and not missing, which would be a request that was withdrawn.
    assert request_source({"upgrade_request": "~no-user-of-this-name/one.yml"}.get).startswith("~")


def test_only_a_run_that_acts_notes_the_state_of_its_request() -> None:
    given: dict[str, Any] = {"upgrade_request": "configmap/request", "upgrade_namespace": "search", "inputs_read": READ}
    place = {"source": "configmap/request", "namespace": "search"}
    assert inputs(**given).request() == {**REQUEST, **place, "noted": True}
    assert inputs("plan", **given).request() == {**REQUEST, **place, "noted": False}


def test_all_faults_are_the_cause() -> None:
    refusal = inputs(faults=["One.", "Two."]).refusal()
    assert refusal["message"] == "One.\nTwo.\nNothing was done."
    assert refusal["statistics"] == {
        "upgrade_state": "refused",
        "upgrade_waiting_for": [],
        "upgrade_reasons": ["inputs_wrong"],
        "upgrade_cause": "One. Two.",
    }
    assert (refusal["noted"], refusal["withdrawn"]) == (False, False)


def test_an_invalid_request_is_noted_there() -> None:
    refusal = inputs(faults=["One."], inputs_read=READ).refusal()
    assert refusal["statistics"]["upgrade_reasons"] == ["request_invalid"]
    assert refusal["noted"]
    assert not inputs("plan", faults=["One."], inputs_read=READ).refusal()["noted"]


def test_the_record_of_a_withdrawn_request_goes_with_its_retention() -> None:
    given: dict[str, Any] = {"inputs_read": MISSING, "upgrade_record_retention": 3}
    assert inputs(**given).refusal()["withdrawn"]
    assert not inputs("plan", **given).refusal()["withdrawn"]
    assert not inputs(inputs_read=MISSING).refusal()["withdrawn"]
    removed = {"changed": True, "before": {"records": ["one", "two"]}}
    said = inputs(**given, inputs_removed=removed).refusal()["message"]
    assert said == "It is gone.\nThe record of the withdrawn request was removed: one, two."
    said = inputs(**given, inputs_removed={"msg": "It may not be deleted."}).refusal()["message"]
    assert said == "It is gone.\nIt may not be deleted.\nNothing was done."
    assert inputs(**given, inputs_removed={"skipped": True}).refusal()["message"] == "It is gone.\nNothing was done."
