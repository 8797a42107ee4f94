"""Builds of one version of Kubernetes: they have no order, and a machine is done on the one that is wanted."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.order import turns
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.progress import (
    judge_returned,
    judge_whole,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading import tag_of

from tests.unit.plugins.module_utils.machines.seen import CONTROL_PLANE, GROUPS, WORKERS, cluster, components, machine

FIRST, SECOND = "1.33.4+vmware.1", "1.33.4+vmware.2"


@pytest.mark.parametrize("text", [FIRST, "1.33.4", "1.33.4-rc.1+build-7"])
def test_a_version_is_written_with_its_build(text: str) -> None:
    assert str(Release.parse(text)) == text


def test_builds_of_a_version_have_no_order() -> None:
    first, second = Release.parse(FIRST), Release.parse(SECOND)
    assert first == second == Release.parse("1.33.4")
    assert not first < second
    assert not second < first
    assert first < Release.parse("1.33.5+vmware.1")


def test_a_machine_is_done_on_the_build_that_is_wanted_and_on_no_other() -> None:
    tag = tag_of("registry.example.com/kube-apiserver:v1.33.4_vmware.2")
    seen = cluster(machine("cp-1", control_plane=True, kubelet=SECOND), parts=components("cp-1", tag))
    assert seen.is_done("cp-1", str(Release.parse(SECOND)))
    assert not seen.is_done("cp-1", str(Release.parse(FIRST)))


@pytest.mark.parametrize(
    ("kubelet", "tag", "target", "done"),
    [
        (SECOND, "1.33.4", SECOND, True),
        (SECOND, "1.33.4", "1.33.4", True),
        (SECOND, SECOND, "1.33.4", True),
        (SECOND, "1.33.4", FIRST, False),
        ("1.33.4", "1.33.4", SECOND, False),
        (SECOND, FIRST, SECOND, False),
        (SECOND, "1.33.3", SECOND, False),
        ("1.33.3+vmware.2", "1.33.4", "1.33.4", False),
    ],
)
def test_images_may_leave_out_the_build_that_the_kubelet_reports(
    kubelet: str, tag: str, target: str, *, done: bool
) -> None:
    """A target without a build is any build of it."""
    seen = cluster(machine("cp-1", control_plane=True, kubelet=kubelet), parts=components("cp-1", tag))
    assert seen.is_done("cp-1", target) == done
    assert seen.is_past("cp-1", Release.parse(target)) == done
    assert judge_whole(seen, ["cp-1"], target).passed == done
    back = kubelet == target or (target == "1.33.4" and kubelet == SECOND)
    assert judge_returned(seen, ["cp-1"], target).passed == back


@pytest.mark.parametrize(
    ("kubelet", "tag", "target", "begun"),
    [
        ("1.32.9+vmware.1", "1.33.4", SECOND, True),
        ("1.32.9", SECOND, "1.33.4", True),
        # These images may be older than the run.
        (FIRST, "1.33.4", SECOND, False),
        ("1.32.9", FIRST, SECOND, False),
    ],
)
def test_images_that_leave_out_the_build_show_that_a_machine_is_half_upgraded(
    kubelet: str, tag: str, target: str, *, begun: bool
) -> None:
    """It is the next one then."""
    seen = cluster(machine("cp-1", control_plane=True, kubelet=kubelet), parts=components("cp-1", tag))
    assert seen.is_begun("cp-1", target) == begun


def test_a_kubelet_that_never_reports_the_build_names_the_version_to_give() -> None:
    seen = cluster(machine("worker-1", kubelet="1.33.4"))
    (waits,) = judge_returned(seen, ["worker-1"], SECOND).reasons
    assert "give 1.33.4 as target_version" in waits.remedy
    (waits,) = judge_returned(seen, ["worker-1"], "1.33.5").reasons
    assert "target_version" not in waits.remedy


def test_machines_on_another_build_of_the_version_are_in_the_plan() -> None:
    parts = [part for name in CONTROL_PLANE for part in components(name, FIRST)]
    machines = (machine(name, kubelet=FIRST) for name in (*CONTROL_PLANE, *WORKERS))
    seen = cluster(*machines, parts=parts, configured=FIRST)
    planned = [name for turn in turns(seen, GROUPS, (Release.parse(SECOND),), {}) for name in turn.members]
    assert sorted(planned) == sorted((*CONTROL_PLANE, *WORKERS))
    assert turns(seen, GROUPS, (Release.parse(FIRST),), {}) == []
