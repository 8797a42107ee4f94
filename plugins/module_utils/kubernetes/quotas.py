"""Reading the ResourceQuotas of a namespace."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from ..common.reading import Json, Unreadable, part, text_map
from .answers import all_of
from .client import KubernetesClient
from .paths import CORE, in_namespace
from .pod_usage import Amounts, quantity


@dataclass(frozen=True)
class ResourceQuota:
    """What the objects of a namespace may take together, and what they take, by resource."""

    name: str
    hard: Amounts
    """The limits that admission applies: those that the controller of quotas has seen."""
    used: Amounts
    """What counts now. What has gone may still count for some seconds."""
    scoped: bool = False
    """Whether only some pods count."""


def list_quotas(client: KubernetesClient, namespace: str) -> tuple[ResourceQuota, ...]:
    """The quotas of a namespace.

    Raises:
        Denied: the user may not list them.
        Refusal: the API gives no usable answer.
    """
    return all_of("ResourceQuota", client.list(in_namespace(CORE, namespace, "resourcequotas")), _quota)


def _quota(name: str, item: Json) -> ResourceQuota:
    spec, status = part(item, "spec", {}), part(item, "status", {})
    scoped = bool(spec.get("scopes") or spec.get("scopeSelector"))
    return ResourceQuota(name, _amounts(status, "hard"), _amounts(status, "used"), scoped)


def _amounts(status: Json, field: str) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for name, written in text_map(status, field).items():
        amount = quantity(written)
        if amount is None:
            raise Unreadable(f"is {written!r}, and has to be a quantity", f"{field}.{name}")
        found[name] = amount
    return found
