"""The rights that a drain of Kubernetes nodes needs in the whole cluster."""

from __future__ import annotations

from ..kubernetes.rights import Right

DRAIN = (
    *(Right(verb, "", "nodes") for verb in ("get", "list", "patch")),
    Right("list", "", "pods"),
    Right("create", "", "pods/eviction"),
    Right("list", "policy", "poddisruptionbudgets", explains=True),
    Right("list", "storage.k8s.io", "volumeattachments"),
    Right("get", "", "persistentvolumeclaims"),
)
"""The rights of a drain. Claims are looked at only for pods that stay on a Kubernetes node."""
FORCED_DRAIN = (Right("delete", "", "pods"),)
"""The further right where `allow_forced_drains` is given."""
