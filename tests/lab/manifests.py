"""Applies manifests as `kubectl apply --server-side` does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

from tests.lab.waiting import until

FIELD_MANAGER = "kubectl"
"""The lab applies as a user would, so that field ownership looks as it does with users."""
ACCOUNT_TIMEOUT = 30.0


def apply(api: client.ApiClient, manifests: Sequence[dict[str, Any]], cache: Path) -> None:
    """Create or change the objects, in the order given. A Namespace is usable when this returns."""
    dynamic = DynamicClient(api, cache_file=str(cache))
    for manifest in manifests:
        resource = dynamic.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])
        about = manifest["metadata"]
        dynamic.server_side_apply(
            resource,
            body=manifest,
            name=about["name"],
            namespace=about.get("namespace", "default") if resource.namespaced else None,
            field_manager=FIELD_MANAGER,
            force_conflicts=True,
        )
        if manifest["kind"] == "Namespace":
            what = f"The default ServiceAccount of namespace {about['name']}"
            until(what, partial(_has_account, api, about["name"]), ACCOUNT_TIMEOUT)


def _has_account(api: client.ApiClient, namespace: str) -> bool:
    """Whether the namespace has its ServiceAccount, without which pods are refused."""
    try:
        client.CoreV1Api(api).read_namespaced_service_account("default", namespace)
    except ApiException:
        return False
    return True
