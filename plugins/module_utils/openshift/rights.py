"""The rights that an upgrade of OpenShift needs, which are those of the shipped roles."""

from __future__ import annotations

from ..draining.rights import FORCED_DRAIN
from ..kubernetes.rights import LOCK_AND_RECORD, Right
from .observe.kinds import MACHINE_GROUP

CLUSTER_ROLE = (
    *(Right(verb, "config.openshift.io", "clusterversions") for verb in ("get", "patch")),
    Right("list", "config.openshift.io", "clusteroperators"),
    *(Right(verb, "machineconfiguration.openshift.io", "machineconfigpools") for verb in ("get", "list", "patch")),
    Right("get", "machineconfiguration.openshift.io", "machineconfigs"),
    Right("list", "", "nodes"),
    Right("list", "policy", "poddisruptionbudgets", explains=True),
    Right("list", "", "pods", explains=True),
    Right("get", "apps", "deployments"),
)
"""The rights in the whole cluster."""
PAUSE_CHECKS = tuple(Right(verb, MACHINE_GROUP, "machinehealthchecks") for verb in ("get", "patch"))
"""The rights to pause MachineHealthChecks."""
OPTIONAL = (
    Right("list", "apiserver.openshift.io", "apirequestcounts"),
    Right("list", "operators.coreos.com", "clusterserviceversions"),
    Right("get", "", "configmaps"),
    Right("list", "", "persistentvolumes"),
    Right("list", "longhorn.io", "replicas"),
    Right("list", "longhorn.io", "settings"),
    Right("list", MACHINE_GROUP, "machinehealthchecks"),
    *PAUSE_CHECKS,
)
"""The further rights in the whole cluster for parts of a plan. They are not asked for: one that is missing is named
with the part that was not computed."""
FEDRAMP = tuple(Right(verb, "fileintegrity.openshift.io", "fileintegrities") for verb in ("list", "patch"))
"""The further rights in the whole cluster of an upgrade after which the baseline of file integrity is made again."""
ROLE = LOCK_AND_RECORD
"""The rights in the namespace of the lock and the record."""
SPARE_WORKERS = (
    *(Right(verb, MACHINE_GROUP, "machinesets") for verb in ("list", "create", "delete")),
    Right("list", MACHINE_GROUP, "machines"),
)
"""The rights in the namespace of the machines, for spare workers alone."""
FORCED_DRAINS = (*FORCED_DRAIN, Right("create", "", "pods/eviction"))
"""The rights in each namespace of forced drains. The plan asks to delete in those whose pods may be deleted now."""

REQUEST = (
    *(Right(verb, "upgrade.managed.openshift.io", "upgradeconfigs") for verb in ("get", "patch")),
    Right("patch", "upgrade.managed.openshift.io", "upgradeconfigs/status"),
)
"""The rights in the namespace of an UpgradeConfig. They are not asked for: one that cannot be read is refused, and a
status that cannot be written stops no upgrade."""
