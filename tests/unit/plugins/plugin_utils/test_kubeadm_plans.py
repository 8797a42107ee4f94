"""The readings of `kubeadm upgrade plan` and `kubeadm upgrade diff`, of the real ones and of any shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_plans import (
    first_machine,
    manifest_changes,
    planned,
    shared_arguments,
)

RECORDED = Path(__file__).parents[3] / "sandbox" / "kubeadm" / "recorded"
TARGET = "1.36.4"


def recorded(name: str) -> str:
    """What the real kubeadm has said."""
    return (RECORDED / name).read_text(encoding="utf-8")


def changed(change: Callable[[Any], object]) -> dict[str, Any]:
    """The result of the real plan with a change in it."""
    plan = json.loads(recorded("plan.json"))
    change(plan)
    return {"rc": 0, "stdout": json.dumps(plan)}


def said(reading: dict[str, Any]) -> list[str]:
    """The sentences of the blockers."""
    return [each["said"] for each in reading["blockers"]]


def test_the_plan_of_the_real_kubeadm_has_no_blocker_and_names_all_versions() -> None:
    found = planned({"rc": 0, "stdout": recorded("plan.json")}, TARGET)
    components = "kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy 1.36.3 → 1.36.4"
    assert found == {"blockers": [], "notes": [f"{components}, CoreDNS stays at 1.14.2"]}


def test_a_configuration_that_has_to_be_converted_is_named_with_both_versions() -> None:
    def old(plan: Any) -> None:
        plan["configVersions"][0] |= {"currentVersion": "v1alpha0", "manualUpgradeRequired": True}
        plan["configVersions"].append({**plan["configVersions"][0], "group": "new.config.k8s.io", "currentVersion": ""})

    assert said(planned(changed(old), TARGET)) == [
        "the configuration kubeproxy.config.k8s.io has version v1alpha0, and kubeadm reads only v1alpha1. Convert it to"
        " v1alpha1 in ConfigMap kube-system/kube-proxy.",
        "the configuration new.config.k8s.io has version unknown, and kubeadm reads only v1alpha1. Convert it to"
        " v1alpha1 in its ConfigMap in kube-system.",
    ]


def test_a_target_that_is_not_planned_is_a_blocker() -> None:
    result = {"rc": 0, "stdout": recorded("plan.json")}
    assert said(planned(result, "1.36.5")) == [
        "it can upgrade to 1.36.4, and not to 1.36.5. Give another target_version, or upgrade what it names first."
    ]
    assert "can upgrade to no version" in said(planned(changed(lambda plan: plan.pop("availableUpgrades")), TARGET))[0]


def test_etcd_is_named_with_its_versions() -> None:
    etcd = {"name": "etcd", "currentVersion": "3.6.5-0", "newVersion": "3.6.6-0", "nodeName": "cp-1"}
    result = changed(lambda plan: plan["availableUpgrades"][0]["components"].append(etcd))
    assert planned(result, TARGET)["notes"][0].endswith("CoreDNS stays at 1.14.2, etcd 3.6.5-0 → 3.6.6-0")


def test_a_plan_of_kubeadm_before_1_30_is_read() -> None:
    """As in kubernetes/kubernetes#123461: one upgrade, behind a line that is no JSON."""
    components = [
        {"name": "kubelet", "currentVersion": "1 x v1.28.0", "newVersion": "v1.28.7"},
        {"name": "kube-apiserver", "currentVersion": "v1.28.0", "newVersion": "v1.28.7"},
    ]
    plan = {"kind": "UpgradePlan", "apiVersion": "output.kubeadm.k8s.io/v1alpha2", "components": components}
    result = {"rc": 0, "stdout": f"[upgrade] Running cluster health checks\n{json.dumps(plan)}"}
    assert planned(result, "1.28.7") == {"blockers": [], "notes": ["kube-apiserver 1.28.0 → 1.28.7"]}


@pytest.mark.parametrize("flag", ["unknown shorthand flag: 'o' in -o", "unknown flag: --output"])
def test_a_kubeadm_that_plans_in_text_only_is_a_note(flag: str) -> None:
    found = planned({"rc": 1, "stderr": f"error: {flag}\nTo see the stack trace of this error"}, TARGET)
    assert found == {"blockers": [], "notes": ["it plans only in text, so its dry run alone has decided"]}


def test_an_empty_plan_is_a_note_and_a_failed_one_is_not() -> None:
    assert planned({"rc": 0, "stdout": ""}, TARGET) == {
        "blockers": [],
        "notes": ["an API server is on 1.36.4 already, so its plan is empty"],
    }
    assert said(planned({"rc": 75, "stderr": ""}, TARGET))
    assert said(planned({"msg": "it was not run"}, TARGET))
    assert "unknown flag: --etcd" in said(planned({"rc": 1, "stderr": "error: unknown flag: --etcd"}, TARGET))[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan.update(kind="Plan"),
        lambda plan: plan.update(availableUpgrades={}),
        lambda plan: plan.update(availableUpgrades=["1.36.4"]),
        lambda plan: plan["availableUpgrades"][0].pop("components"),
        lambda plan: plan["availableUpgrades"][0]["components"][0].update(newVersion=1),
        lambda plan: plan["configVersions"][0].pop("manualUpgradeRequired"),
        lambda plan: plan["configVersions"][0].update(manualUpgradeRequired="false"),
    ],
)
def test_a_plan_of_another_shape_is_no_pass(change: Callable[[Any], object]) -> None:
    (found,) = said(planned(changed(change), TARGET))
    assert found.startswith("the answer of kubeadm upgrade plan cannot be read: ")
    assert said(planned({"rc": 0, "stdout": "{"}, TARGET))


def test_the_changes_of_the_real_kubeadm_are_named_by_manifest() -> None:
    assert manifest_changes({"rc": 0, "stdout": recorded("diff.txt")}) == {
        "blockers": [],
        "notes": [
            "kube-apiserver: image v1.36.3 → v1.36.4",
            "kube-controller-manager: image v1.36.3 → v1.36.4",
            "kube-scheduler: image v1.36.3 → v1.36.4",
        ],
    }


def test_flags_are_named_and_values_are_not() -> None:
    lines = ["--- /etc/kubernetes/manifests/kube-apiserver.yaml", "+++ new manifest", "@@ -3,4 +3,2 @@", "   - kept"]
    lines += ["-    - --old=/a/file", "+    - --new=s3cret", "-    env:", "-      value: http://u:s3cret@proxy"]
    (note,) = manifest_changes({"rc": 0, "stdout": "\n".join(lines)})["notes"]
    assert note == "kube-apiserver: flags --new, --old, 2 other lines"
    read = "[upgrade/diff] Reading configuration"
    assert manifest_changes({"rc": 0, "stdout": read})["notes"] == ["no static pod manifest changes"]


@pytest.mark.parametrize("text", ["anything", "--- /a.yaml\n+++ new manifest\nanything", "--- /a.yaml\n+++ another"])
def test_a_diff_of_another_shape_is_no_pass(text: str) -> None:
    (found,) = said(manifest_changes({"rc": 0, "stdout": text}))
    assert found.startswith("the answer of kubeadm upgrade diff cannot be read: it ")


def test_a_failed_diff_is_a_blocker_with_its_cause() -> None:
    (found,) = said(manifest_changes({"rc": 1, "stderr": recorded("diff_without_manifest.txt")}))
    assert found.startswith(
        'kubeadm upgrade diff: error: the manifest file "/etc/kubernetes/manifests/kube-scheduler.yaml"'
    )


def test_the_machine_that_goes_first_to_each_version() -> None:
    on_the_way = [{"members": [each], "target_version": "1.35.4"} for each in ("cp-2", "cp-1")]
    plan = {"target_version": "1.36.1", "batches": [*on_the_way, {"members": ["cp-1"]}, {"members": ["cp-2"]}]}
    found = [first_machine(plan, each) for each in ("1.35.4", "1.36.1", "v1.36.1", "1.34.8")]
    assert found == ["cp-2", "cp-1", "cp-1", ""]


def test_only_the_arguments_that_a_command_knows_go_to_it() -> None:
    given = ["--patches", "/p", "--config", "/c", "--ignore-preflight-errors=A", "--certificate-renewal=false", "-v=5"]
    assert shared_arguments(given, "plan") == ["--config", "/c", "--ignore-preflight-errors=A"]
    assert shared_arguments(given, "diff") == ["--config", "/c"]
