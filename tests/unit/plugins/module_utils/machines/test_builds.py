"""Builds of one version of Kubernetes: they have no order, and a machine is done on the one that is wanted."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading import tag_of

from tests.unit.plugins.module_utils.machines.seen import cluster, components, machine

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
