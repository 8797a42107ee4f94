"""The rights in Kubernetes that extra machines need: those of the shipped Role."""

from __future__ import annotations

from ..kubernetes.rights import Right
from .observe.state import CLUSTERS, DEPLOYMENTS, GROUP, MACHINES

ROLE = (
    *(Right(verb, GROUP, DEPLOYMENTS) for verb in ("get", "patch")),
    *(Right(verb, GROUP, MACHINES) for verb in ("list", "patch")),
)
"""The rights in the namespace of the MachineDeployments. The right to list pods is needed in that of the members."""
OPTIONAL = (Right("get", GROUP, CLUSTERS),)
"""The further right there before Cluster API 1.9, whose MachineDeployments do not say that their Cluster is paused. It
is not asked for: the first look says that it is missing."""
