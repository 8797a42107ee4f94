"""The rights in Kubernetes that a switch of Longhorn's data engine needs, which are those of the shipped roles."""

from __future__ import annotations

from collections.abc import Iterable

from ..kubernetes.rights import Right
from .observe.upgrades import CONTROLS, INSTANCE_MANAGER_UPGRADES, MANAGERS, NODE_UPGRADES, UpgradeKinds

GROUP = "longhorn.io"
_VERBS = {
    "engines": ("list",),
    "enginefrontends": ("list",),
    "replicas": ("list",),
    "backups": ("list",),
    "volumeattachments": ("list",),
    "nodes": ("get", "list", "patch"),
    "volumes": ("get", "list", "patch"),
    "settings": ("get", "list", "patch"),
    "instancemanagers": ("list", "delete"),
    "snapshots": ("list", "create", "delete"),
    "recurringjobs": ("list",),
}

_UPGRADES = {
    UpgradeKinds.DATA_ENGINE_UPGRADES: {MANAGERS: ("list", "create"), NODE_UPGRADES: ("list",)},
    UpgradeKinds.INSTANCE_MANAGER_UPGRADES: {
        INSTANCE_MANAGER_UPGRADES: ("get", "list", "create"),
        f"{INSTANCE_MANAGER_UPGRADES}/status": ("patch",),
        CONTROLS: ("list",),
    },
}


def rights_to_upgrade(kinds: UpgradeKinds) -> tuple[Right, ...]:
    """The rights in the namespace of Longhorn for the upgrades that it makes by itself."""
    return tuple(Right(verb, GROUP, resource) for resource, verbs in _UPGRADES[kinds].items() for verb in verbs)


JOBS = (*(Right(verb, "batch", "cronjobs") for verb in ("get", "list", "patch")), Right("list", "batch", "jobs"))
"""The rights to hold recurring jobs off, by the CronJobs that start them, and to see their Jobs."""
PODS = tuple(Right(verb, "", "pods") for verb in ("list", "create", "delete"))
"""The rights for the throw-away pods that prove an image."""
ROLE = (
    *(Right(verb, GROUP, resource) for resource, verbs in _VERBS.items() for verb in verbs),
    *(right for kinds in UpgradeKinds for right in rights_to_upgrade(kinds)),
    *(Right(verb, "coordination.k8s.io", "leases") for verb in ("get", "list", "create", "patch", "delete")),
    *(Right(verb, "", "configmaps") for verb in ("get", "list", "create", "patch")),
    *JOBS,
    *PODS,
    Right("create", "", "events", explains=True),
)
"""The rights in the namespace of Longhorn."""
CLUSTER_ROLE = (Right("list", "", "nodes"),)
"""The rights in the whole cluster."""


def rights_for(*, records: bool, replaces: bool, proves: bool, way: Iterable[Right] = ()) -> tuple[Right, ...]:
    """The rights that a run needs in the namespace: without ConfigMaps if its record is kept elsewhere, without
    removing instance managers if the user has not accepted that, and without pods if no image is to be proven. `way`
    has those of the switch method alone."""
    spared = {("delete", "instancemanagers")} if not replaces else set()
    elsewhere = {right for kinds in UpgradeKinds for right in rights_to_upgrade(kinds)} - set(way)
    return tuple(
        right
        for right in ROLE
        if right not in elsewhere
        and (records or right.resource != "configmaps")
        and (proves or right not in PODS)
        and (right.verb, right.resource) not in spared
    )
