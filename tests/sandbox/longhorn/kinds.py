"""The kinds of Longhorn, its namespace, and the words that its objects are found by."""

from __future__ import annotations

import hashlib

from tests.sandbox.kubernetes.objects import Json, Kind

GROUP, VERSION = "longhorn.io", "v1beta2"
NAMESPACE = "longhorn-system"


def _kind(plural: str, kind: str) -> Kind:
    return Kind(GROUP, VERSION, plural, kind, status=True, generations=True, custom=True)


VOLUMES = _kind("volumes", "Volume")
ENGINES = _kind("engines", "Engine")
FRONTENDS = _kind("enginefrontends", "EngineFrontend")
REPLICAS = _kind("replicas", "Replica")
MANAGERS = _kind("instancemanagers", "InstanceManager")
NODES = _kind("nodes", "Node")
SETTINGS = _kind("settings", "Setting")
SNAPSHOTS = _kind("snapshots", "Snapshot")
ATTACHMENTS = _kind("volumeattachments", "VolumeAttachment")
SHARES = _kind("sharemanagers", "ShareManager")
BACKUPS = _kind("backups", "Backup")
RECURRING_JOBS = _kind("recurringjobs", "RecurringJob")
BACKING_IMAGES = _kind("backingimages", "BackingImage")
CRON_JOBS = Kind("batch", "v1", "cronjobs", "CronJob", status=True, generations=True)
JOBS = Kind("batch", "v1", "jobs", "Job", status=True, generations=True)
DATA_ENGINE_UPGRADES = _kind("dataengineupgrademanagers", "DataEngineUpgradeManager")
NODE_UPGRADES = _kind("nodedataengineupgrades", "NodeDataEngineUpgrade")
MANAGER_UPGRADES = _kind("instancemanagerupgrades", "InstanceManagerUpgrade")
CONTROLS = _kind("instancemanagerupgradecontrols", "InstanceManagerUpgradeControl")
UNVERIFIED = (DATA_ENGINE_UPGRADES, NODE_UPGRADES, MANAGER_UPGRADES, CONTROLS)
"""Those that v1.12.0 lacks."""
OWN = (
    VOLUMES,
    ENGINES,
    FRONTENDS,
    REPLICAS,
    MANAGERS,
    NODES,
    SETTINGS,
    SNAPSHOTS,
    ATTACHMENTS,
    SHARES,
    BACKUPS,
    RECURRING_JOBS,
    BACKING_IMAGES,
)
VOLUME_LABEL = "longhornvolume"
JOB_OF_CRON_JOB = "recurring-job.longhorn.io"
JOB_LABEL, GROUP_LABEL = f"{JOB_OF_CRON_JOB}/", "recurring-job-group.longhorn.io/"


def checksum(text: str) -> str:
    """As `util.GetStringChecksum` of longhorn-manager: SHA-512 in hexadecimal digits."""
    return hashlib.sha512(text.encode()).hexdigest()


def manager_name(node: str, image: str, data_engine: str = "v2") -> str:
    """The name of an instance manager (`types.GetInstanceManagerName`)."""
    return f"instance-manager-{checksum(node + image + data_engine)[:32]}"


def manager_labels(node: str, image: str, data_engine: str = "v2") -> dict[str, str]:
    """The labels of an instance manager, its pod and its budget (`types.GetInstanceManagerLabels`)."""
    return {
        f"{GROUP}/managed-by": "longhorn-manager",
        f"{GROUP}/component": "instance-manager",
        f"{GROUP}/instance-manager-type": "aio",
        f"{GROUP}/node": node,
        f"{GROUP}/instance-manager-image": f"imi-{checksum(image)[:8]}",
        f"{GROUP}/data-engine": data_engine,
    }


def volume_of(kind: Kind, item: Json) -> str:
    """The volume that an object belongs to; empty where it belongs to none."""
    spec = item.get("spec", {})
    if kind in {ENGINES, FRONTENDS, REPLICAS}:
        return str(spec.get("volumeName", ""))
    if kind in {SNAPSHOTS, ATTACHMENTS}:
        return str(spec.get("volume", ""))
    return str(item["metadata"]["name"]) if kind in {VOLUMES, SHARES} else ""


def node_of(kind: Kind, item: Json) -> str:
    """The Kubernetes node that an object is on; empty where that says nothing."""
    if kind == NODES:
        return str(item["metadata"]["name"])
    return str(item.get("spec", {}).get("nodeID", "")) if kind in {ENGINES, FRONTENDS, REPLICAS, MANAGERS} else ""
