"""The role reads what the real kubeadm and crictl have said (tests/lab/machines)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_answers import (
    machine_of,
    missing_images,
    said_last,
    snapshot_of,
    successor_of,
    version_in,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.kubeadm_blockers import blockers_in, obstacles_of

RECORDED = Path(__file__).parents[3] / "sandbox" / "kubeadm" / "recorded"
NEXT = "1.36.4"
OLD_CONFIGURATION = (
    "the configuration kubelet.config.k8s.io has version v1alpha1, and kubeadm reads only v1beta1. Convert it to"
    " v1beta1 in ConfigMap kube-system/kubelet-config."
)


def recorded(name: str) -> str:
    """An answer."""
    return (RECORDED / name).read_text(encoding="utf-8")


def test_certificates() -> None:
    found = machine_of([], {"rc": 0, "stdout": recorded("certificates.json")}, {}, {})["certificates"]
    ends = {each["name"]: each["expires"] for each in found}
    assert {"apiserver", "admin.conf", "scheduler.conf", "ca", "front-proxy-ca"} <= set(ends)
    assert all(len(each) == len("2026-12-28T00:42:19Z") for each in ends.values())


LEADER = 13668033151171901709
VOTERS = ["cp-3", "http://127.0.0.1:33804", "cp-2", "cp-1"]
"""One of them has never started."""


def test_the_member_of_etcd_and_those_that_can_take_over_its_lead() -> None:
    status, counted = ({"rc": 0, "stdout": recorded(f"etcd_{name}.json")} for name in ("status", "counted"))
    found = machine_of([], {}, status, counted)["etcd"]
    assert found == {
        "member": str(LEADER),
        "leader": str(LEADER),
        "version": "3.6.5",
        "revision": 10,
        "size": 24576,
        "voters": VOTERS,
    }
    assert successor_of(recorded("etcd_members.json"), str(LEADER)) == "3760a4ec3b84f7fa"
    # By then another member led. The one that is away is not in the answer, which ends with exit code 1.
    now = int("2943212f5e2cf73", 16)
    assert successor_of(recorded("etcd_members_one_away.json"), str(now)) == f"{LEADER:x}"
    assert successor_of(recorded("etcd_members_one_away.json"), str(LEADER)) == ""


def test_a_snapshot_is_proven_by_its_checksum_since_its_status_hides_that_it_was_cut_off() -> None:
    said = recorded("etcd_snapshot.json")
    whole = snapshot_of(said, "/a.db", 10, recorded("etcd_snapshot_sums.txt"))
    assert whole["fault"] == ""
    assert whole["said"] == "/a.db, revision 10, hash 223049889, 24576 bytes"
    # The status was the same for the first two thirds of the file.
    cut = snapshot_of(said, "/a.db", 10, recorded("etcd_snapshot_cut_sums.txt"))
    assert cut["fault"] == "its content does not have the checksum that etcd has written at its end"


def test_images() -> None:
    listed, present = recorded("images.txt"), recorded("crictl_images.json")
    assert missing_images(listed, present) == []
    fewer = json.loads(present)
    fewer["images"] = [each for each in fewer["images"] if "kube-scheduler" not in each["id"]]
    assert missing_images(listed, json.dumps(fewer)) == [f"registry.test/kube-scheduler:v{NEXT}"]
    assert version_in(listed) == NEXT


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("apply_too_new", 'Specified version to upgrade to "v1.36.9" is higher than the kubeadm version "v1.36.4"'),
        ("apply_skipping", 'Specified version to upgrade to "v1.38.0" is too high; kubeadm can upgrade only 1 minor'),
        ("apply_without_image", f"failed to pull image registry.test/kube-scheduler:v{NEXT}"),
        ("apply_not_ready", "there are NotReady control-planes in the cluster: [cp-1]"),
    ],
)
def test_a_failure_is_said_with_its_cause(name: str, cause: str) -> None:
    assert cause in said_last({"rc": 1, "stdout": "", "stderr": recorded(f"{name}.txt")})


@pytest.mark.parametrize(
    ("name", "checks", "sentences"),
    [
        (
            "dry_run_plugin",
            ["CoreDNSUnsupportedPlugins"],
            ['the following plugins: [Plugin "mystery" is unsupported by this migration tool in 1.13.2.'],
        ),
        ("dry_run_without_api", [""], ["dial tcp 127.0.0.1:1: connect: connection refused. Correct that."]),
        (
            "apply_skipping",
            ["", ""],
            ["can upgrade only 1 minor version at a time. Give another target", "(38 > 36). Such an upgrade is not"],
        ),
        ("apply_too_new", [""], ["Upgrade kubeadm first using the tool you used to install kubeadm. Give another"]),
        ("apply_not_ready", ["ControlPlaneNodesReady"], ["in the cluster: [cp-1]. Bring these Kubernetes nodes back."]),
        ("apply_without_image", ["ImagePull"], [f"kube-scheduler:v{NEXT}: not found. Correct that."]),
        ("dry_run_old_configuration", [""], [OLD_CONFIGURATION]),
        ("plan_old_configuration", [""], [OLD_CONFIGURATION]),
        ("plan_not_ready", ["ControlPlaneNodesReady"], ["in the cluster: [cp-1]. Bring these Kubernetes nodes back."]),
        ("diff_without_manifest", [""], ["kube-scheduler.yaml: no such file or directory. Correct that."]),
    ],
)
def test_each_obstacle_is_named_with_its_remedy(name: str, checks: list[str], sentences: list[str]) -> None:
    found = blockers_in({"rc": 1, "stdout": "", "stderr": recorded(f"{name}.txt")})
    assert [each["check"] for each in found] == checks
    for each, sentence in zip(found, sentences, strict=True):
        assert sentence in each["said"]
        assert "preflight checks failed" not in each["said"]


def test_several_checks_of_a_group_are_told_apart() -> None:
    lines = ["\t[ERROR A]: one", "of two lines", "\t[WARNING B]: passes", "\t[ERROR C]: three", "error: it failed"]
    found = blockers_in({"rc": 1, "stderr": "\n".join(lines)})
    assert [each["said"] for each in found] == ["A: one of two lines. Correct that.", "C: three. Correct that."]


def test_a_dry_run_that_could_not_start_is_an_obstacle() -> None:
    assert blockers_in({"rc": 2, "msg": "No such file or directory: flock"})[0]["said"].startswith("No such file")
    assert blockers_in({"msg": "it was not run"})


def test_all_that_stands_in_the_way_of_a_machine_is_said_at_once() -> None:
    own = {"step": "node", "version": NEXT, "node": "w-1"}
    assert obstacles_of([], **own, pull="", brought=[{"name": "etcd", "said": "etcd", "older": True}], planned=[]) == []
    said = [{"check": "a", "said": "First."}, {"check": "b", "said": "Second."}]
    third = {"check": "c", "said": "Third."}
    brought = [{"name": "CoreDNS", "said": "CoreDNS 1.14.2 → 1.14.1", "older": True}]
    found = obstacles_of(said, **own, pull="Pull the others: no route", brought=brought, planned=[*said, third])
    assert [each.partition(" was left alone: ")[2].partition(" ")[0] for each in found] == [
        "First.",
        "Pull",
        "CoreDNS",
        "Third.",
    ]
