"""The list of all objects of one of Longhorn's kinds."""

from __future__ import annotations

from ...common.errors import Refusal, refusal
from ...kubernetes.answers import is_not_found
from ...kubernetes.client import Items, KubernetesClient
from .kinds import path_of


def all_objects(client: KubernetesClient, namespace: str, kind: str, label_selector: str | None = None) -> Items:
    """The objects of a kind in the namespace.

    Raises:
        Refusal: the API server does not know the kind, or the answer cannot be had.
    """
    try:
        return client.list(path_of(namespace, kind), label_selector)
    except Refusal as error:
        # In a namespace that is missing a list is empty, so a kind is meant.
        if not is_not_found(error):
            raise
        raise refusal(
            "longhorn_kind_missing",
            f"The Kubernetes API at {client.host} does not know {kind} of the group longhorn.io, which Longhorn 1.12"
            " has.",
            "Upgrade Longhorn to 1.12 or newer. If it is not installed there, leave it out of the workloads, or choose"
            " another cluster with kubernetes.context.",
        ) from error
