"""A kubeadm cluster as it is seen, for tests of its judges."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import (
    API_SERVER,
    ETCD,
    FOLLOWING,
    Component,
    KubeadmCluster,
    KubeadmMachine,
)

FROM, TO = "1.35.1", "1.36.1"
CONTROL_PLANE, WORKERS = ("cp-0", "cp-1", "cp-2"), ("w-0", "w-1", "w-2")
GROUPS = {"control_plane": [*CONTROL_PLANE], "workers": [*WORKERS]}


def machine(name: str, **own: Any) -> KubeadmMachine:
    """A machine that is well, and on the present version."""
    given: dict[str, Any] = {
        "name": name,
        "kubelet": FROM,
        "ready": True,
        "closed": False,
        "carries_undo": False,
        "control_plane": name.startswith("cp"),
        "zone": "",
        "created": f"2026-01-0{int(name[-1]) + 1}T00:00:00Z",
        "leaving": False,
        "canary": False,
        "owner": "",
    }
    return KubeadmMachine(**{**given, **own})


def components(name: str, version: str = FROM, *, ready: bool = True) -> list[Component]:
    """The static pods of one machine of the control plane."""
    versions = {API_SERVER: version, **dict.fromkeys(FOLLOWING, version), ETCD: "3.6.5-0"}
    return [Component(each, name, said, ready) for each, said in versions.items()]


def cluster(*machines: KubeadmMachine, parts: list[Component] | None = None, **own: Any) -> KubeadmCluster:
    """A cluster of three machines of the control plane and three workers, of which these are as given."""
    found = {name: machine(name) for name in (*CONTROL_PLANE, *WORKERS)} | {each.name: each for each in machines}
    there = {(each.name, each.machine): each for name in CONTROL_PLANE for each in components(name)}
    there |= {(each.name, each.machine): each for each in parts or ()}
    given: dict[str, Any] = {"configured": FROM, "proxy": FROM, **own}
    return KubeadmCluster(machines=found, components=tuple(there.values()), **given)
