"""The rights in Kubernetes that extra machines need: those of the shipped Role."""

from __future__ import annotations

from ..kubernetes.rights import Right
from .observe.state import DEPLOYMENTS, GROUP, MACHINES

ROLE = (
    *(Right(verb, GROUP, DEPLOYMENTS) for verb in ("get", "patch")),
    *(Right(verb, GROUP, MACHINES) for verb in ("list", "patch")),
)
"""The rights in the namespace of the MachineDeployments. The right to list pods is needed in that of the members."""
