"""The kinds of OpenShift's API, their paths, and the annotations of the machine config operator. Pure: no client."""

from __future__ import annotations

VERSION = "/apis/config.openshift.io/v1/clusterversions/version"
"""The one ClusterVersion of a cluster."""
OPERATORS = "/apis/config.openshift.io/v1/clusteroperators"
_MACHINE_CONFIGURATION = "/apis/machineconfiguration.openshift.io/v1"
POOLS = f"{_MACHINE_CONFIGURATION}/machineconfigpools"
CONFIGS = f"{_MACHINE_CONFIGURATION}/machineconfigs"
NODES = "/api/v1/nodes"
UPGRADE_OPERATOR = "/apis/apps/v1/namespaces/openshift-managed-upgrade-operator/deployments/managed-upgrade-operator"
"""The Deployment of the operator that makes the same upgrades (managed-upgrade-operator, deploy/operator.yaml)."""
UPGRADE_CONFIGS = "/apis/upgrade.managed.openshift.io/v1alpha1"
"""The API group of UpgradeConfigs (managed-upgrade-operator, `api/v1alpha1/groupversion_info.go`)."""

MACHINE_API = "openshift-machine-api"
"""The namespace of all MachineSets and machines (machine-api-operator)."""
MACHINE_GROUP = "machine.openshift.io"
MACHINE_SETS = f"/apis/{MACHINE_GROUP}/v1beta1/namespaces/{MACHINE_API}/machinesets"
MACHINES = f"/apis/{MACHINE_GROUP}/v1beta1/namespaces/{MACHINE_API}/machines"
HEALTH_CHECKS = f"/apis/{MACHINE_GROUP}/v1beta1/namespaces/{MACHINE_API}/machinehealthchecks"
CHECK_PAUSED = "cluster.x-k8s.io/paused"
"""The annotation of a MachineHealthCheck that replaces nothing (OpenShift, "Performing a cluster update", "Pausing a
MachineHealthCheck resource"). Its value counts for nothing, and is empty there."""
PAUSE_OF_CHECK: tuple[str, ...] = ("metadata", "annotations", CHECK_PAUSED)
MACHINE_SET = f"{MACHINE_GROUP}/cluster-api-machineset"
"""The label by which the selector of a MachineSet finds its machines (`machine/v1beta1` of openshift/installer)."""
MACHINE_ROLE = f"{MACHINE_GROUP}/cluster-api-machine-role"
MACHINE_SYSTEM, MACHINE_OF_WINDOWS = f"{MACHINE_GROUP}/os-id", "Windows"
"""The label of machines of Windows, by which their operator knows them (windows-machine-config-operator, README)."""
MACHINE_POOL = "hive.openshift.io/machine-pool"
"""The label with the pool of machines of a managed cluster (managed-upgrade-operator, `machineSetScaler.go`)."""
OTHER_SPARE = "upgrade.managed.openshift.io"
"""The label of the spare MachineSets of the managed-upgrade-operator (`LABEL_UPGRADE` there)."""
SPARE = "upgrade.stateful/spare-worker"
"""The label of all that belongs to a spare MachineSet, down to its Kubernetes node, with the name of the set.

The labels in `spec.metadata` of a machine become those of its Kubernetes node (machine-api-operator,
`pkg/controller/nodelink/nodelink_controller.go`).
"""

_GROUP = "machineconfiguration.openshift.io"
CURRENT, DESIRED = f"{_GROUP}/currentConfig", f"{_GROUP}/desiredConfig"
STATE, REASON = f"{_GROUP}/state", f"{_GROUP}/reason"
DESIRED_DRAIN, LAST_DRAIN = f"{_GROUP}/desiredDrain", f"{_GROUP}/lastAppliedDrain"
"""Annotations of a Kubernetes node (machine-config-operator, `pkg/daemon/constants/constants.go`)."""
TOPOLOGY, SINGLE_REPLICA = f"{_GROUP}/controlPlaneTopology", "SingleReplica"
"""The annotation of a Kubernetes node by which its daemon knows that the control plane has a single one. It then asks
for no cordon and no drain before a restart (`drainRequired` in `pkg/daemon/drain.go` there), also of a worker."""
RELEASE = f"{_GROUP}/release-image-version"
"""The annotation of a rendered MachineConfig with the version of OpenShift that it belongs to (the same file)."""
REQUIRED = f"operator.{_GROUP}/required-for-upgrade"
"""The label of a pool whose Kubernetes nodes are part of the control plane for an update: the machine config operator
says its new version once they are updated, and never while it is paused (`syncRequiredMachineConfigPools` in
`pkg/operator/sync.go`). Those of `master` and of an `arbiter` have it, which that operator itself ensures
(`syncMachineConfigPools` there), and any others that a person has labelled."""
ARCHITECTURE, SYSTEM, WINDOWS = "kubernetes.io/arch", "kubernetes.io/os", "windows"
ZONE = "topology.kubernetes.io/zone"
MASTER, WORKER, ARBITER = "master", "worker", "arbiter"
PAUSED: tuple[str, ...] = ("spec", "paused")
MAX_UNAVAILABLE: tuple[str, ...] = ("spec", "maxUnavailable")
"""The paths of the values of a MachineConfigPool that a run changes."""
WORKER_ROLE = "node-role.kubernetes.io/worker"
"""The label that the kubelet of a worker gives its Kubernetes node (machine-config-operator, `templates/worker`)."""


def pool_path(name: str) -> str:
    """The path of a MachineConfigPool."""
    return f"{POOLS}/{name}"


def config_path(name: str) -> str:
    """The path of a MachineConfig."""
    return f"{CONFIGS}/{name}"


def health_check_path(name: str) -> str:
    """The path of a MachineHealthCheck."""
    return f"{HEALTH_CHECKS}/{name}"


def machine_set_path(name: str = "") -> str:
    """The path of a MachineSet; without a name that at which one is made."""
    return f"{MACHINE_SETS}/{name}" if name else MACHINE_SETS
