"""The rights in Kubernetes that an upgrade of OpenSearch needs, which are those of the shipped Role."""

from __future__ import annotations

from ..kubernetes.rights import Right

ROLE = (
    *(Right(verb, "apps", "statefulsets") for verb in ("get", "list", "patch")),
    *(Right(verb, "", "pods") for verb in ("list", "create", "delete")),
    *(Right(verb, "coordination.k8s.io", "leases") for verb in ("get", "list", "create", "patch", "delete")),
    *(Right(verb, "", "configmaps") for verb in ("get", "list", "create", "patch")),
    Right("get", "", "pods/log", explains=True),
    Right("list", "", "events", explains=True),
    Right("create", "", "events", explains=True),
    Right("list", "policy", "poddisruptionbudgets", explains=True),
)
"""All rights that the modules of this collection use in a namespace."""

EXTRA_MEMBER = tuple(Right(verb, "", "persistentvolumeclaims") for verb in ("get", "delete"))
"""The further rights for one more member in a pool with claims: those of that member are removed with it."""
VOLUMES = (
    *(Right(verb, "", "persistentvolumeclaims") for verb in ("get", "patch")),
    *(Right(verb, "apps", "statefulsets") for verb in ("get", "patch", "create", "delete")),
    *(Right(verb, "", "configmaps") for verb in ("get", "list", "create", "patch", "delete")),
)
"""The rights for larger volume claims: the claims are patched, and the set is made again from a manifest that is kept
in a ConfigMap until then."""
OPTIONAL = (
    Right("delete", "", "configmaps"),
    *EXTRA_MEMBER,
    Right("patch", "", "persistentvolumeclaims"),
    Right("list", "", "resourcequotas", explains=True),
    *(Right(verb, "apps", "statefulsets") for verb in ("create", "delete")),
)
"""The further rights that single variables need, which are those of the second shipped Role."""

_PROOF = Right("create", "", "pods")


def rights_for(*, locks: bool, records: bool, proves_images: bool) -> tuple[Right, ...]:
    """The rights that a run needs in a namespace: without Leases or ConfigMaps if its lock or its record is kept
    elsewhere, and without making pods if the images are not proven."""
    without = {*(() if locks else ("leases",)), *(() if records else ("configmaps",))}
    return tuple(right for right in ROLE if right.resource not in without and (proves_images or right != _PROOF))
