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

_GROUP = "machineconfiguration.openshift.io"
CURRENT, DESIRED = f"{_GROUP}/currentConfig", f"{_GROUP}/desiredConfig"
STATE, REASON = f"{_GROUP}/state", f"{_GROUP}/reason"
DESIRED_DRAIN, LAST_DRAIN = f"{_GROUP}/desiredDrain", f"{_GROUP}/lastAppliedDrain"
"""Annotations of a Kubernetes node (machine-config-operator, `pkg/daemon/constants/constants.go`)."""
RELEASE = f"{_GROUP}/release-image-version"
"""The annotation of a rendered MachineConfig with the version of OpenShift that it belongs to (the same file)."""
ARCHITECTURE = "kubernetes.io/arch"
ZONE = "topology.kubernetes.io/zone"
MASTER, WORKER = "master", "worker"


def pool_path(name: str) -> str:
    """The path of a MachineConfigPool."""
    return f"{POOLS}/{name}"


def config_path(name: str) -> str:
    """The path of a MachineConfig."""
    return f"{CONFIGS}/{name}"
