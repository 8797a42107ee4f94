"""The rights in Kubernetes that restarts in place need in addition to an upgrade: those of the shipped Roles."""

from __future__ import annotations

from ..kubernetes.rights import EXECUTE, Right

MARKING = (Right("patch", "", "pods"),)
"""The right for the phases of pods that stay."""
CONFIGURING = tuple(Right(verb, "", "secrets") for verb in ("get", "create", "patch"))
"""The rights for configurations in Secrets."""
REVISIONS = Right("get", "apps", "controllerrevisions", explains=True)
"""The right to show which parts of a template have changed."""
ROLE = (*CONFIGURING, Right("get", "", "pods"), *MARKING, *EXECUTE, REVISIONS)
"""All of them, with those for signals in pods and for the labels of pods."""
COLLECTING = tuple(Right(verb, "", "secrets") for verb in ("list", "delete"))
"""The further rights for deleting Secrets that no pod uses. A user who may list them can read them all."""
