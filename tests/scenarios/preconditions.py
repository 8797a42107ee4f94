"""Preconditions of runs: faults around a cluster, each for the length of a block, after which all is as before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import yaml
from kubernetes import client

from tests.lab.waiting import until
from tests.scenarios.cluster import BOOT, ROLE, Cluster

POOL = "opensearch-members"
"""The one pool of a cluster of combined members."""


@contextlib.contextmanager
def user_without(cluster: Cluster, name: str, *rights: tuple[str, str]) -> Iterator[dict[str, Any]]:
    """The `kubernetes` options of a service account with the documented Role but for these (verb, resource)."""
    role = yaml.safe_load(ROLE.read_text(encoding="utf-8"))
    for rule in role["rules"]:
        rule["verbs"] = [verb for verb in rule["verbs"] if not {(verb, each) for each in rule["resources"]} & {*rights}]
    role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
    metadata = {"name": name, "namespace": cluster.namespace}
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", **metadata}],
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    kept = role["rules"][0]
    right = {"group": kept["apiGroups"][0], "resource": kept["resources"][0], "verb": kept["verbs"][0]}
    asked = {"namespace": cluster.namespace, **right}
    user = f"system:serviceaccount:{cluster.namespace}:{name}"
    cluster.platform.apply([account, {**role, "metadata": metadata}, binding])
    with cluster.platform.client() as api:
        authorization: Any = client.AuthorizationV1Api(api)
        review = {"spec": {"user": user, "resourceAttributes": asked}}

        def known() -> bool:
            return bool(authorization.create_subject_access_review(review).status.allowed)

        until(f"the rights of {name} to hold", known, BOOT)
        wanted = {"spec": {"expirationSeconds": 3600}}
        core: Any = client.CoreV1Api(api)
        token = core.create_namespaced_service_account_token(name, cluster.namespace, wanted).status.token
        configuration = api.configuration
        try:
            yield {"host": configuration.host, "api_key": token, "ca_cert": configuration.ssl_ca_cert}
        finally:
            core.delete_namespaced_service_account(name, cluster.namespace)


@contextlib.contextmanager
def marked(cluster: Cluster, **metadata: Any) -> Iterator[None]:
    """The pool with this metadata, for a while."""
    with cluster.platform.client() as api:
        apps = client.AppsV1Api(api)
        away = {key: dict.fromkeys(value) if isinstance(value, dict) else None for key, value in metadata.items()}
        apps.patch_namespaced_stateful_set(POOL, cluster.namespace, {"metadata": metadata})
        try:
            yield
        finally:
            apps.patch_namespaced_stateful_set(POOL, cluster.namespace, {"metadata": away})


@contextlib.contextmanager
def setting(cluster: Cluster, name: str, value: str) -> Iterator[None]:
    """A cluster setting, for a while."""
    cluster.ask("/_cluster/settings", "PUT", {"persistent": {name: value}})
    try:
        yield
    finally:
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {name: None}})


@contextlib.contextmanager
def owner(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """An object that can own others, and the ownerReference by which it controls them."""
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        made = core.create_namespaced_config_map(cluster.namespace, {"metadata": {"name": "operator"}})
        try:
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "operator",
                "uid": made.metadata.uid,
                "controller": True,
            }
        finally:
            core.delete_namespaced_config_map("operator", cluster.namespace)


@contextlib.contextmanager
def index(cluster: Cluster, name: str, *, shards: int, replicas: int) -> Iterator[None]:
    """An index with all its copies started."""
    settings = {"number_of_shards": shards, "number_of_replicas": replicas}
    cluster.ask(f"/{name}", "PUT", {"settings": settings})
    try:
        cluster.until_green()
        yield
    finally:
        cluster.ask(f"/{name}", "DELETE")


@contextlib.contextmanager
def budget(cluster: Cluster, name: str, healthy: int) -> Iterator[None]:
    """A PodDisruptionBudget over all pods of the namespace, for a while; from when its controller has counted them."""
    metadata = {"name": name, "namespace": cluster.namespace}
    spec = {"minAvailable": healthy, "selector": {}}
    cluster.platform.apply(
        [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}]
    )
    with cluster.platform.client() as api:
        policy: Any = client.PolicyV1Api(api)

        def counted() -> bool:
            status = policy.read_namespaced_pod_disruption_budget(name, cluster.namespace).status
            return bool(status and status.expected_pods)

        try:
            until(f"Budget {name} to be counted", counted, BOOT)
            yield
        finally:
            policy.delete_namespaced_pod_disruption_budget(name, cluster.namespace)


def lose(cluster: Cluster, member: str) -> None:
    """Its pod is deleted by something that asks no one; returns when there is another one in its place."""
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        uid = core.read_namespaced_pod(member, cluster.namespace).metadata.uid
        core.delete_namespaced_pod(member, cluster.namespace)
        until(f"a successor of {member}", lambda: cluster.fingerprint().pods.get(member) not in {None, uid}, BOOT)


def events_of(cluster: Cluster, name: str) -> list[Any]:
    """The events about the object of this name."""
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        found = core.list_namespaced_event(cluster.namespace, field_selector=f"involvedObject.name={name}")
        return list(found.items)
