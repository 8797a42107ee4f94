"""Machines that come back to the target, and those on whose hosts a step has failed."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.progress import judge_failed, judge_past

from tests.unit.plugins.module_utils.machines.seen import FROM, TO, cluster, components, machine

CAUSE = "worker-0.example.com, Install the kubelet: no space left on device"


def test_the_cause_on_the_host_comes_before_the_state_of_its_machine() -> None:
    found = judge_failed(cluster(), {"w-0": CAUSE}, TO)
    assert [each.code for each in found.reasons] == ["machine_step_failed", "machine_updating"]
    assert found.reasons[0].message == f"A step on machine w-0 failed: {CAUSE}."
    assert not found.passed


def test_a_host_with_the_name_of_its_machine_is_named_once() -> None:
    found = judge_failed(cluster(), {"w-0": "w-0, Install the kubelet: no space left on device"}, TO)
    assert found.reasons[0].message == "A step on machine w-0 failed: Install the kubelet: no space left on device."


def test_a_machine_that_is_back_all_the_same_is_not_held_up() -> None:
    assert judge_failed(cluster(machine("w-0", kubelet=TO)), {"w-0": CAUSE}, TO).passed


def test_a_machine_that_is_gone_is_named_after_its_cause() -> None:
    found = judge_failed(cluster(), {"w-9": CAUSE}, TO)
    assert [each.code for each in found.reasons] == ["machine_step_failed", "machine_gone"]


def test_no_machine_goes_further_before_all_are_on_the_version_on_the_way() -> None:
    names = ["cp-0", "w-0", "gone"]
    assert judge_past(cluster(), names, Release.parse(FROM)).passed
    found = judge_past(cluster(machine("w-0", kubelet=TO)), names, Release.parse(TO))
    assert [each.about for each in found.reasons] == ["cp-0"]
    half = cluster(machine("cp-0", kubelet=TO), machine("w-0", kubelet="1.37.1"), parts=components("cp-0", FROM))
    assert [each.about for each in judge_past(half, names, Release.parse(TO)).reasons] == ["cp-0"]
    assert not judge_past(cluster(machine("w-0", kubelet="unknown")), ["w-0"], Release.parse(TO)).passed
