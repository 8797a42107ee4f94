"""The kinds of OpenShift, its namespaces, and the words that its objects are found by."""

from __future__ import annotations

import hashlib

from tests.sandbox.kubernetes.objects import Json, Kind

CONFIG, MACHINE_CONFIG, MACHINE = "config.openshift.io", "machineconfiguration.openshift.io", "machine.openshift.io"
VERSIONS = Kind(
    CONFIG, "v1", "clusterversions", "ClusterVersion", namespaced=False, status=True, generations=True, custom=True
)
OPERATORS = Kind(
    CONFIG, "v1", "clusteroperators", "ClusterOperator", namespaced=False, status=True, generations=True, custom=True
)
POOLS = Kind(
    MACHINE_CONFIG,
    "v1",
    "machineconfigpools",
    "MachineConfigPool",
    namespaced=False,
    status=True,
    generations=True,
    custom=True,
)
CONFIGS = Kind(MACHINE_CONFIG, "v1", "machineconfigs", "MachineConfig", namespaced=False, generations=True, custom=True)
MACHINE_SETS = Kind(
    MACHINE, "v1beta1", "machinesets", "MachineSet", status=True, scale=True, generations=True, custom=True
)
MACHINES = Kind(MACHINE, "v1beta1", "machines", "Machine", status=True, generations=True, custom=True)
HEALTH_CHECKS = Kind(
    MACHINE, "v1beta1", "machinehealthchecks", "MachineHealthCheck", status=True, generations=True, custom=True
)
REQUEST_COUNTS = Kind(
    "apiserver.openshift.io",
    "v1",
    "apirequestcounts",
    "APIRequestCount",
    namespaced=False,
    status=True,
    generations=True,
    custom=True,
)
OWN = (VERSIONS, OPERATORS, POOLS, CONFIGS, MACHINE_SETS, MACHINES, HEALTH_CHECKS, REQUEST_COUNTS)
VERSION = "version"
"""The name of the one ClusterVersion."""
MACHINE_API, GATES_NAMESPACE, ACKS_NAMESPACE = "openshift-machine-api", "openshift-config-managed", "openshift-config"
NAMESPACES = (MACHINE_API, GATES_NAMESPACE, ACKS_NAMESPACE, "openshift-machine-config-operator", "openshift-monitoring")
GATES, ACKS = "admin-gates", "admin-acks"
"""The ConfigMaps of acknowledgements: those that are asked for, and those that are given."""

CURRENT, DESIRED = f"{MACHINE_CONFIG}/currentConfig", f"{MACHINE_CONFIG}/desiredConfig"
RELEASE = f"{MACHINE_CONFIG}/release-image-version"
"""The annotation of a rendered MachineConfig with its version (`pkg/controller/common/constants.go`)."""
STATE, REASON = f"{MACHINE_CONFIG}/state", f"{MACHINE_CONFIG}/reason"
DESIRED_DRAIN, LAST_DRAIN = f"{MACHINE_CONFIG}/desiredDrain", f"{MACHINE_CONFIG}/lastAppliedDrain"
POST_ACTION = f"{MACHINE_CONFIG}/post-config-action"
"""Annotations of Kubernetes nodes (`pkg/daemon/constants/constants.go` of machine-config-operator)."""
TOPOLOGY, SINGLE_REPLICA = f"{MACHINE_CONFIG}/controlPlaneTopology", "SingleReplica"
"""The annotation by which a daemon knows that the control plane has one Kubernetes node: nothing is drained then
(`drainRequired` in `pkg/daemon/drain.go`; set by `setClusterConfigAnnotation` in `pkg/controller/node`)."""
DONE, WORKING, DEGRADED, UNRECONCILABLE = "Done", "Working", "Degraded", "Unreconcilable"
"""Values of `STATE`. There is none for a reboot: that is shown by `POST_ACTION`."""
REQUIRED = "operator.machineconfiguration.openshift.io/required-for-upgrade"
"""The label of pools that have to be updated before the operator says its version (`pkg/operator/sync.go`)."""
ROLE = "node-role.kubernetes.io"
ZONE = "topology.kubernetes.io/zone"
MASTER, WORKER = "master", "worker"
MACHINE_SET = f"{MACHINE}/cluster-api-machineset"
MACHINE_ROLE = f"{MACHINE}/cluster-api-machine-role"
OF_CLUSTER = f"{MACHINE}/cluster-api-cluster"
"""The label of every machine; without it the controller of machines refuses one (`validateMachine`)."""
OF_MACHINE = f"{MACHINE}/machine"
"""The annotation of a Kubernetes node with the namespace and name of its machine."""
DELETE_FIRST = f"{MACHINE}/delete-machine"
FINALIZER = "machine.machine.openshift.io"


def rendered(pool: str, version: str) -> str:
    """The name of the configuration of a pool in a version (`pkg/controller/render/hash.go`: a hash of the content)."""
    return f"rendered-{pool}-{hashlib.md5(f'{pool} {version}'.encode(), usedforsecurity=False).hexdigest()}"


def annotations_of(item: Json) -> dict[str, str]:
    """The annotations of an object."""
    found: dict[str, str] = item["metadata"].get("annotations") or {}
    return found
