"""The versions between which kubeadm upgrades, and the skew that Kubernetes allows."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.skew import judge_chain, judge_versions
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import Component, KubeadmCluster

from tests.unit.plugins.module_utils.machines.seen import FROM, TO, WORKERS, cluster, components, machine


def codes(seen: KubeadmCluster, target: str = TO) -> list[str]:
    return [each.code for each in judge_versions(seen, [Release.parse(target)], [*WORKERS]).reasons]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (TO, []),
        ("1.35.2", []),
        (FROM, []),
        ("1.35.0", ["not_greater"]),
        ("1.37.0", ["minor_skipped"]),
        ("2.0.0", ["target_unsupported", "minor_skipped"]),
    ],
)
def test_one_minor_version_at_a_time_and_none_back(target: str, expected: list[str]) -> None:
    assert codes(cluster(), target) == expected


def test_the_chain_of_minor_versions_is_named() -> None:
    (reason,) = judge_versions(cluster(), [Release.parse("1.38.2")], ()).reasons
    assert "1.35.1 → the newest version of 1.36 → the newest version of 1.37 → 1.38.2" in reason.remedy


def judged(through: str, seen: KubeadmCluster, going: list[str]) -> list[str]:
    hops = [Release.parse(each) for each in through.split()]
    return [each.code for each in judge_versions(seen, hops, going).reasons]


@pytest.mark.parametrize(
    ("through", "expected"),
    [
        ("1.36.4 1.37.1", []),
        ("1.36.4 1.37.1 1.38.0", []),
        ("1.36.4 1.38.0", ["minor_skipped"]),
        ("1.37.1 1.38.0", ["minor_skipped"]),
        # Versions that the cluster has passed are those of a run that was stopped.
        ("1.34.9 1.35.1 1.36.4", []),
        ("1.33.9 1.34.9", ["not_greater"]),
    ],
)
def test_a_chain_has_each_minor_version(through: str, expected: list[str]) -> None:
    assert judged(through, cluster(), [*WORKERS]) == expected


def test_kubelets_that_go_along_may_be_behind_the_next_version_and_others_behind_the_target() -> None:
    seen = cluster(machine("w-1", kubelet="1.34.9"))
    assert judged("1.36.4 1.37.1 1.38.0", seen, [*WORKERS]) == []
    assert judged("1.36.4 1.37.1 1.38.0", seen, ["w-0", "w-2"]) == ["kubelet_too_old"]


@pytest.mark.parametrize(
    ("count", "owner", "expected"),
    [
        (1, "KubeadmControlPlane", []),
        (2, "KubeadmControlPlane", ["chain_owned"]),
        (4, "", []),
        (5, "", ["chain_too_long"]),
    ],
)
def test_a_chain_that_one_run_does_not_go(count: int, owner: str, expected: list[str]) -> None:
    hops = [Release.parse(f"1.{36 + number}.0") for number in range(count)]
    assert [each.code for each in judge_chain(cluster(machine("cp-0", owner=owner)), hops).reasons] == expected


def test_a_version_without_the_addons_in_node_is_refused() -> None:
    seen = cluster(*[machine(name, kubelet="1.26.1") for name in WORKERS], configured="1.26.1", proxy="")
    assert "target_unsupported" in codes(seen, "1.27.0")


@pytest.mark.parametrize(
    ("kubelet", "expected"),
    [
        ("1.33.9", []),
        ("1.32.9", ["kubelet_too_old"]),
        ("1.36.2", ["kubelet_newer"]),
        ("unknown", ["version_not_understood"]),
    ],
)
def test_a_kubelet_is_up_to_three_minor_versions_older_and_never_newer(kubelet: str, expected: list[str]) -> None:
    assert codes(cluster(machine("w-1", kubelet=kubelet))) == expected


def test_kube_proxy_is_judged_as_a_kubelet() -> None:
    assert codes(cluster(proxy="1.32.1")) == ["kubelet_too_old"]
    assert codes(cluster(proxy="")) == []


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("kube-apiserver", "1.34.1", ["component_too_old"]),
        ("kube-apiserver", TO, []),
        ("kube-apiserver", "1.36.2", ["component_newer"]),
        ("kube-scheduler", "1.34.0", []),
        ("kube-scheduler", "1.33.0", ["component_too_old"]),
        ("kube-controller-manager", "1.36.2", ["component_newer"]),
        ("etcd", "3.5.1-0", []),
    ],
)
def test_the_components_are_near_to_one_another(name: str, version: str, expected: list[str]) -> None:
    assert codes(cluster(parts=[Component(name, "cp-1", version, ready=True)])) == expected


def test_an_upgrade_that_was_killed_behind_the_configuration_goes_on() -> None:
    assert codes(cluster(machine("cp-0", kubelet=TO), parts=components("cp-0", TO), configured=TO)) == []


def test_a_configuration_without_a_version_is_refused() -> None:
    assert codes(cluster(configured="stable")) == ["version_not_understood"]
