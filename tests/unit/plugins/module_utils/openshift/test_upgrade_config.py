"""An UpgradeConfig as request: its place, the variables that it gives, and its faults."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.upgrade_config import (
    FIELDS,
    faults_in,
    variables_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.upgrade_config import UpgradeConfig

from tests.checks.tree import ROOT

AT = "2026-11-21T02:00:00Z"
GOOD: dict[str, Any] = {"type": "OSD", "upgradeAt": AT, "PDBForceDrainTimeout": 60, "desired": {"version": "4.18.2"}}


def connect(_options: object) -> Any:
    return None


@pytest.mark.parametrize(
    ("given", "namespace"),
    [("upgradeconfig/next", "openshift-upgrade"), ("upgradeconfig/managed/next", "managed")],
)
def test_its_namespace_is_that_of_the_run_or_a_written_one(given: str, namespace: str) -> None:
    found = UpgradeConfig.named(given, connect, {"kubernetes": {}, "namespace": "openshift-upgrade"})
    assert (found.namespace, found.name) == (namespace, "next")
    assert found.where == f"UpgradeConfig next in namespace {namespace}"


def test_without_any_namespace_it_is_refused() -> None:
    with pytest.raises(Refusal, match="no namespace is given"):
        UpgradeConfig.named("upgradeconfig/next", connect, {"kubernetes": {}, "namespace": None})


def test_the_shipped_definition_has_each_field_that_is_read() -> None:
    definition = yaml.safe_load((ROOT / "roles/openshift/files/upgrade_config.yml").read_text(encoding="utf-8"))
    version = definition["spec"]["versions"][0]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for each in FIELDS:
        field = spec
        for name in each.path.split("."):
            assert name in field["properties"], f"an API server would drop {each.path}"
            field = field["properties"][name]


def test_a_good_one_gives_its_variables() -> None:
    assert variables_of(GOOD) == {"upgrade_type": "osd", "target_version": "4.18.2", "upgrade_at": AT}
    assert variables_of({**GOOD, "type": "ARO"})["upgrade_type"] == "aro"
    assert list(faults_in(GOOD)) == []
    assert list(faults_in({**GOOD, "capacityReservation": False})) == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"type": "BM"}, "spec.type is 'BM': give one of OSD and ARO."),
        ({"type": None}, "spec.type is ''"),
        ({"upgradeAt": "2026-11-21T02:00:00"}, "spec.upgradeAt is '2026-11-21T02:00:00'"),
        ({"upgradeAt": ""}, "spec.upgradeAt is ''"),
        ({"desired": {}}, "spec.desired names no version"),
        ({"desired": None}, "spec.desired names no version"),
        ({"desired": {"version": 4}}, "spec.desired.version is 4: write it as text."),
    ],
)
def test_each_fault_is_one_sentence(spec: dict[str, Any], said: str) -> None:
    (fault,) = faults_in({**GOOD, **spec})
    assert fault.startswith(said)


def test_every_field_gives_its_variable() -> None:
    desired = {"version": "4.18.2", "channel": "fast-4.18", "image": "release@sha256:0a", "architecture": "Multi"}
    whole = {**GOOD, "desired": desired, "capacityReservation": True}
    assert list(faults_in(whole)) == []
    found = variables_of(whole)
    assert (found["upgrade_architecture"], found["upgrade_extra_workers"]) == ("Multi", "true")


def test_a_start_that_cannot_be_read_gives_no_variable() -> None:
    assert variables_of({**GOOD, "upgradeAt": "tomorrow"}) == {"upgrade_type": "osd", "target_version": "4.18.2"}
