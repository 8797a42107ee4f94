"""The objects of a description, as an installed OpenShift has them; its controllers then write the status of most."""

from __future__ import annotations

import uuid

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.description import Described, MachineSet, Pool
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DESIRED,
    DESIRED_DRAIN,
    DONE,
    LAST_DRAIN,
    MACHINE_ROLE,
    MACHINE_SET,
    MASTER,
    OF_CLUSTER,
    REASON,
    RELEASE,
    REQUIRED,
    ROLE,
    SINGLE_REPLICA,
    STATE,
    TOPOLOGY,
    VERSION,
    WORKER,
    ZONE,
    rendered,
)
from tests.sandbox.openshift.update_service import URL

CLUSTER_ID = str(uuid.UUID(int=uuid.uuid5(uuid.NAMESPACE_DNS, "openshift.test").int, version=4))


def version_object(described: Described) -> Json:
    """The ClusterVersion, without a wanted update."""
    spec = {"clusterID": CLUSTER_ID, "channel": described.channel, "upstream": URL}
    return {"metadata": {"name": VERSION}, "spec": spec}


def operator_object(name: str, version: str, now: str) -> Json:
    """A ClusterOperator that is well."""
    said = (("Available", "True"), ("Progressing", "False"), ("Degraded", "False"), ("Upgradeable", "True"))
    conditions = [
        {"type": type_, "status": status, "reason": "AsExpected", "lastTransitionTime": now} for type_, status in said
    ]
    status = {"conditions": conditions, "versions": [{"name": "operator", "version": version}]}
    return {"metadata": {"name": name}, "spec": {}, "status": status}


def pool_object(pool: Pool, version: str) -> Json:
    """A MachineConfigPool, in the configuration of a version."""
    labels = {f"pools.operator.machineconfiguration.openshift.io/{pool.name}": ""}
    if pool.name == MASTER:
        labels[REQUIRED] = ""
    roles = [pool.name] if pool.name in {MASTER, WORKER} else [WORKER, pool.name]
    role = {"key": "machineconfiguration.openshift.io/role", "operator": "In", "values": roles}
    spec: Json = {
        "machineConfigSelector": {"matchExpressions": [role]},
        "nodeSelector": {"matchLabels": {f"{ROLE}/{pool.name}": ""}},
        "configuration": {"name": rendered(pool.name, version)},
        "paused": pool.paused,
    }
    if pool.max_unavailable is not None:
        spec["maxUnavailable"] = pool.max_unavailable
    return {"metadata": {"name": pool.name, "labels": labels}, "spec": spec}


def config_object(pool: str, version: str) -> Json:
    """The rendered MachineConfig of a pool in a version."""
    return {"metadata": {"name": rendered(pool, version), "annotations": {RELEASE: version}}, "spec": {}}


def roles_of(pool: str) -> list[str]:
    """The roles of the Kubernetes nodes of a pool."""
    return [MASTER, "control-plane"] if pool == MASTER else [WORKER, *([pool] if pool != WORKER else [])]


def single(node: Json, *, alone: bool) -> None:
    """Make a Kubernetes node one of an OpenShift whose control plane has one, which is a worker, too, if `alone`."""
    node["metadata"]["annotations"][TOPOLOGY] = SINGLE_REPLICA
    if alone:
        node["metadata"]["labels"][f"{ROLE}/{WORKER}"] = ""
        node["spec"]["taints"] = [each for each in node["spec"]["taints"] if each["key"] != f"{ROLE}/{MASTER}"]


def join(node: Json, pool: str, configuration: str, machine: str = "") -> None:
    """Make a Kubernetes node one of a pool, whose daemon has nothing to do."""
    metadata = node["metadata"]
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != ZONE or value}
    metadata["labels"] = {**labels, **{f"{ROLE}/{each}": "" for each in roles_of(pool)}}
    drain = f"uncordon-{configuration}"
    found = {CURRENT: configuration, DESIRED: configuration, STATE: DONE, REASON: ""}
    found |= {DESIRED_DRAIN: drain, LAST_DRAIN: drain}
    if machine:
        found["machine.openshift.io/machine"] = machine
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **found}
    if pool == MASTER:
        taint = {"key": f"{ROLE}/{MASTER}", "effect": "NoSchedule"}
        node["spec"]["taints"] = [*node["spec"].get("taints", []), taint]


def request_count_object(name: str, release: str, requests: int) -> Json:
    """An APIRequestCount of an API that a release does not have any more (`apiserver/v1/types_apirequestcount.go`)."""
    user = {"username": "system:serviceaccount:search:client", "userAgent": "client/1", "requestCount": requests}
    node = {"nodeName": "master-0", "requestCount": requests, "byUser": [user] if requests else []}
    hour = {"requestCount": requests, "byNode": [node]}
    told = {"removedInRelease": release, "requestCount": requests, "currentHour": hour, "last24h": [hour]}
    return {"metadata": {"name": name}, "spec": {"numberOfUsersToReport": 10}, "status": told}


def machine_set_object(found: MachineSet) -> Json:
    """A MachineSet, as an installer makes it for a zone."""
    cluster = {OF_CLUSTER: "lab"}
    chosen = {**cluster, MACHINE_SET: found.name}
    pool = {"hive.openshift.io/machine-pool": found.machine_pool} if found.machine_pool else {}
    role = {MACHINE_ROLE: WORKER, "machine.openshift.io/cluster-api-machine-type": WORKER}
    value = {"placement": {"availabilityZone": found.zone, "region": "lab"}, "instanceType": "m6i.xlarge"}
    template = {
        "metadata": {"labels": {**chosen, **role}},
        "spec": {"metadata": {"labels": {f"{ROLE}/{WORKER}": ""}}, "providerSpec": {"value": value}},
    }
    spec = {"replicas": found.replicas, "selector": {"matchLabels": chosen}, "template": template}
    return {"metadata": {"name": found.name, "labels": {**cluster, **pool}}, "spec": spec}
