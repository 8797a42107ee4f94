"""The versions of all components of a kubeadm cluster as they are now, for its plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.words import enumerate_few
from ..observe.facts import MachineFacts
from ..observe.state import API_SERVER, ETCD, FOLLOWING, KubeadmCluster


def present_versions(seen: KubeadmCluster, facts: Mapping[str, MachineFacts]) -> dict[str, list[str]]:
    """The versions of each component, without those that are not there."""
    found = {name: {each.version for each in seen.components if each.name == name} for name in (API_SERVER, *FOLLOWING)}
    found["kube-proxy"] = {seen.proxy}
    found["kubelet"] = {each.kubelet for each in seen.machines.values()}
    found["kubeadm"] = {each.kubeadm for each in facts.values()}
    found[ETCD] = {each.version for each in seen.voters}
    found["CoreDNS"] = {seen.dns}
    return {name: sorted(filter(None, versions)) for name, versions in found.items() if any(versions)}


def present_line(versions: Mapping[str, list[str]]) -> str:
    """One line of a plan, with those of the same version together."""
    together = dict[str, list[str]]()
    for name, found in versions.items():
        together.setdefault(enumerate_few(found), []).append(name)
    return "now: " + "; ".join(f"{', '.join(names)} {text}" for text, names in together.items())
