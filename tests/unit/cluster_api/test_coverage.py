"""CanUpdateMachine and CanUpdateMachineSet, with the requests that Cluster API sent."""

from __future__ import annotations

from typing import Any

import pytest

from extensions.cluster_api.cluster_api_extension.bodies import BadBody
from extensions.cluster_api.cluster_api_extension.coverage import can_update_machine, can_update_machine_set
from extensions.cluster_api.cluster_api_extension.policy import Policy, policy_of
from tests.unit.cluster_api.requests import Json, patched, recorded, with_value

POLICY = Policy()
OBJECTS = ("machine", "infrastructureMachine", "bootstrapConfig")


def spec_after(body: Json, answer: Json, name: str) -> Any:
    patch = answer.get(f"{name}Patch")
    current = body["current"][name]
    return (patched(current, patch) if patch else current)["spec"]


def test_an_upgrade_of_a_minor_version_is_covered_with_the_feature_gate_that_the_control_plane_takes_away() -> None:
    body = recorded("canupdatemachine")
    answer = can_update_machine(body, POLICY)
    assert (answer["kind"], answer["status"], answer["message"]) == ("CanUpdateMachineResponse", "Success", "")
    assert set(answer) >= {"machinePatch", "bootstrapConfigPatch"}
    assert "infrastructureMachinePatch" not in answer
    for name in OBJECTS:
        assert spec_after(body, answer, name) == body["desired"][name]["spec"]


def test_a_machine_set_is_covered_by_the_same_list_and_its_replicas_do_not_count() -> None:
    body = recorded("canupdatemachineset")
    answer = can_update_machine_set(body, POLICY)
    assert (answer["status"], answer["message"]) == ("Success", "")
    patch = answer["machineSetPatch"]
    template = patched(body["current"]["machineSet"], patch)["spec"]["template"]["spec"]
    assert template == body["desired"]["machineSet"]["spec"]["template"]["spec"]
    assert "infrastructureMachineTemplatePatch" not in answer


def changed(hook: str) -> Json:
    infrastructure = "infrastructureMachine" if hook == "canupdatemachine" else "infrastructureMachineTemplate"
    top = "spec" if hook == "canupdatemachine" else "spec.template.spec"
    body = with_value(recorded(hook), f"desired.{infrastructure}.{top}.size", "large")
    bootstrap = infrastructure.replace("infrastructureMachine", "bootstrapConfig")
    return with_value(body, f"desired.{bootstrap}.{top}.format", "ignition")


@pytest.mark.parametrize(
    ("hook", "answering", "fields", "name"),
    [
        (
            "canupdatemachine",
            can_update_machine,
            "infrastructureMachine.spec.size, bootstrapConfig.spec.format",
            "Machine default/mem-mr2wl-rzq4v",
        ),
        (
            "canupdatemachineset",
            can_update_machine_set,
            "infrastructureMachineTemplate.spec.template.spec.size, bootstrapConfigTemplate.spec.template.spec.format",
            "MachineSet default/mem-md-0-7gkws-vsgcj",
        ),
    ],
)
def test_fields_that_are_not_covered_are_all_named_and_the_answer_has_no_patch(
    hook: str, answering: Any, fields: str, name: str
) -> None:
    body = changed(hook)
    answer = answering(body, POLICY)
    assert not [key for key in answer if key.endswith("Patch")]
    assert answer["status"] == "Success"
    assert answer["message"] == (
        f"The allow-list does not cover {fields} of {name}. "
        "This is declined, so Cluster API replaces it by an ordinary rollout."
    )
    held = answering(body, policy_of({"uncovered": "hold"}))
    assert held["status"] == "Failure"
    assert f"does not cover {fields} of" in held["message"]
    assert "nothing is replaced" in held["message"]
    by_setting = answering({**body, "settings": {"uncovered": "hold"}}, POLICY)
    assert by_setting == held


def test_the_switch_of_the_settings_declines_everything() -> None:
    answer = can_update_machine({**recorded("canupdatemachine"), "settings": {"disableInPlaceUpdates": "true"}}, POLICY)
    assert not [key for key in answer if key.endswith("Patch")]
    assert answer["message"].startswith("The setting disableInPlaceUpdates is true")


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"uncovered": "holds"}, "uncovered is 'holds': write replace or hold."),
        ({"disableInPlaceUpdates": "yes"}, "disableInPlaceUpdates is 'yes': write true or false."),
        (
            {"uncovered": "", "disableInPlaceUpdates": "1"},
            "disableInPlaceUpdates is '1': write true or false; uncovered is '': write replace or hold.",
        ),
    ],
)
def test_a_setting_with_an_unknown_value_holds_the_upgrade_and_replaces_nothing(
    settings: dict[str, str], remedy: str
) -> None:
    answer = can_update_machine({**changed("canupdatemachine"), "settings": settings}, POLICY)
    assert answer["status"] == "Failure"
    assert answer["message"].endswith(f"a setting of the ExtensionConfig is wrong. {remedy}")


def test_the_values_of_settings_may_have_capitals() -> None:
    body = changed("canupdatemachine")
    assert can_update_machine({**body, "settings": {"uncovered": "Hold"}}, POLICY)["status"] == "Failure"
    disabled = can_update_machine({**body, "settings": {"disableInPlaceUpdates": "False"}}, POLICY)
    assert "The allow-list does not cover" in disabled["message"]


@pytest.mark.parametrize(
    "path",
    [
        "spec.readinessGates",
        "spec.providerID",
        "spec.bootstrap.configRef.name",
        "spec.deletion",
        "spec.deletion.nodeDrainTimeoutSeconds",
        "metadata.labels",
    ],
)
def test_fields_that_cluster_api_does_not_compare_are_no_reason_to_decline(path: str) -> None:
    body = with_value(recorded("canupdatemachine"), f"desired.machine.{path}", None)
    assert can_update_machine(body, POLICY)["message"] == ""


def test_a_failure_domain_is_compared() -> None:
    body = with_value(recorded("canupdatemachine"), "desired.machine.spec.failureDomain", "b")
    assert "does not cover machine.spec.failureDomain of" in can_update_machine(body, POLICY)["message"]


@pytest.mark.parametrize("missing", ["current", "desired", "desired.machine", "current.infrastructureMachine"])
def test_a_request_without_an_object_is_no_request(missing: str) -> None:
    with pytest.raises(BadBody, match="The request has no object"):
        can_update_machine(with_value(recorded("canupdatemachine"), missing, None), POLICY)


def test_a_machine_without_a_bootstrap_configuration_is_compared_without_it() -> None:
    body = recorded("canupdatemachine")
    for side in ("current", "desired"):
        body = with_value(body, f"{side}.bootstrapConfig", None)
    answer = can_update_machine(body, POLICY)
    assert (answer["message"], "bootstrapConfigPatch" in answer) == ("", False)
