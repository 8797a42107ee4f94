"""The MachineHealthChecks that replace machines by themselves."""

from __future__ import annotations

from ...common.errors import Refusal
from ...common.reading import Json, listed, part, text, text_map
from ...kubernetes.answers import all_of, is_not_found
from ...kubernetes.client import KubernetesClient
from ...run.undo.undo_annotation import UNDO
from .kinds import CHECK_PAUSED, HEALTH_CHECKS
from .machine_state import HealthCheck

AFTER = "5m"
"""Time after which a Kubernetes node is unhealthy where none is given (`machine/v1beta1/types_machinehealthcheck.go` of
openshift/api)."""


def health_checks(client: KubernetesClient) -> tuple[HealthCheck, ...]:
    """All of the cluster; none where the API does not know the kind.

    Raises:
        Refusal: the user may not list them, or an answer is not understood.
    """
    try:
        return all_of("MachineHealthCheck", client.list(HEALTH_CHECKS), health_check)
    except Refusal as error:
        if not is_not_found(error):
            raise
        return ()


def health_check(name: str, item: Json) -> HealthCheck:
    """A MachineHealthCheck."""
    found = dict(listed(part(item, "spec", {}), "unhealthyConditions", _condition, ()))
    notes = text_map(part(item, "metadata"), "annotations")
    return HealthCheck(name, CHECK_PAUSED in notes, found.get("Ready", ""), UNDO in notes)


def _condition(item: Json) -> tuple[str, str]:
    return text(item, "type"), text(item, "timeout", "") or AFTER
