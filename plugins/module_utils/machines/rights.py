"""The rights that an upgrade of machines needs, which are those of the shipped roles."""

from __future__ import annotations

from ..draining.rights import DRAIN
from ..kubernetes.rights import LOCK_AND_RECORD, Right
from .observe.node_updates import NODE_UPDATES
from .observe.ready_before import RESOURCES
from .observe.upgrade_tasks import GROUP, UPGRADE_TASKS

CLUSTER_ROLE = (*DRAIN, *(Right("get", "apps", each) for each in RESOURCES.values()))
"""The rights in the whole cluster."""
OPTIONAL = (
    Right("list", "", "persistentvolumes"),
    Right("list", "longhorn.io", "replicas"),
    Right("list", "longhorn.io", "settings"),
)
"""The further rights in the whole cluster for parts of a plan. They are not asked for: one that is missing is named
with the part that was not computed."""
SYSTEM = (
    Right("get", "", "configmaps"),
    *(Right("get", "apps", each) for each in ("daemonsets", "deployments")),
)
"""The rights in the namespace kube-system, to objects by their names. A review asks without a name, so they are not
asked for: the first look says which one is missing."""
ROLE = LOCK_AND_RECORD
"""The rights in the namespace of the lock and the record."""
REQUEST = (
    *(Right(verb, GROUP, UPGRADE_TASKS) for verb in ("get", "list", "patch")),
    Right("patch", GROUP, f"{UPGRADE_TASKS}/status"),
)
"""The rights in the namespace of an UpgradeTask without `management`. They are not asked for: one that cannot be read
is refused, and a status that cannot be written is a warning."""
DELEGATED = tuple(Right(verb, GROUP, NODE_UPDATES) for verb in ("get", "list", "create", "patch", "delete"))
"""The rights in the namespace of NodeUpdates, for the role member_delegated. They are not asked for: the first one that
is missing is named before anything is done on the machine, and without `list` the order of a plan and what is put back
do without them."""
MANAGEMENT = (
    *(Right(verb, "cluster.x-k8s.io", "machines") for verb in ("get", "list", "patch")),
    Right("patch", "cluster.x-k8s.io", "machines/status"),
)
"""The rights in the management cluster, in the namespace of its Cluster, where `management` is given."""
MANAGEMENT_REQUEST = (
    *REQUEST,
    Right("get", "cluster.x-k8s.io", "clusters"),
    Right("get", "cluster.x-k8s.io", "machinedeployments"),
    Right("get", "controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes"),
    *(Right(verb, "bootstrap.cluster.x-k8s.io", "kubeadmconfigs") for verb in ("get", "patch")),
    *(Right(verb, "infrastructure.cluster.x-k8s.io", "*") for verb in ("get", "patch")),
)
"""The further rights there for an UpgradeTask, which is next to its Machines. They are not asked for: the plan
names one that is missing."""
