"""The present versions of all components, as a plan shows them."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.present import (
    present_line,
    present_versions,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.facts import MachineFacts
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading import (
    component,
    image_of,
    tag_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import ETCD, Component

from tests.unit.plugins.module_utils.machines.seen import CONTROL_PLANE, FROM, TO, WORKERS, cluster, components, machine

FACTS = {name: MachineFacts(FROM) for name in (*CONTROL_PLANE, *WORKERS)}


def test_every_component_has_its_version() -> None:
    found = present_versions(cluster(dns="1.13.1"), FACTS)
    assert present_line(found) == (
        "now: kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy, kubelet, kubeadm 1.35.1;"
        " etcd 3.6.5-0; CoreDNS 1.13.1"
    )


def test_different_versions_are_all_named_and_missing_components_are_not() -> None:
    parts = [*components("cp-0", TO), Component(ETCD, "cp-0", "3.6.6-0", True)]
    found = present_versions(cluster(machine("w-0", kubelet="1.34.2"), parts=parts, proxy=""), {})
    assert found["kube-apiserver"] == [FROM, TO]
    assert found[ETCD] == ["3.6.5-0", "3.6.6-0"]
    assert found["kubelet"] == ["1.34.2", FROM]
    assert not {"kube-proxy", "kubeadm", "CoreDNS"} & found.keys()
    assert "kubelet 1.34.2, 1.35.1; etcd 3.6.5-0, 3.6.6-0" in present_line(found)


@pytest.mark.parametrize("containers", [("kms", "kube-apiserver"), ("kube-apiserver", "kms"), ("renamed",), ()])
def test_the_version_is_that_of_the_container_of_the_component(containers: tuple[str, ...]) -> None:
    """A manifest that was changed by hand may start another program next to the component."""
    tags = {"kms": "v0.9.0", "kube-apiserver": "v1.35.1", "renamed": "v1.35.1"}
    spec = {"containers": [{"name": each, "image": f"registry:5000/{each}:{tags[each]}"} for each in containers]}
    metadata = {"name": "kube-apiserver-cp-0", "labels": {"component": "kube-apiserver"}}
    found = component("", {"metadata": metadata, "spec": {**spec, "nodeName": "cp-0"}, "status": {}})
    assert found.version == ("1.35.1" if containers else "")
    proxy = {"spec": {"template": {"spec": spec}}}
    assert tag_of(image_of(proxy, "kube-apiserver")) == found.version
