"""The kinds of Longhorn's API, their paths, and the names that this collection reads or writes. Pure: no client."""

from __future__ import annotations

import hashlib

from ...kubernetes.paths import in_namespace

API = "/apis/longhorn.io/v1beta2"
BATCH = "/apis/batch/v1"
NAMESPACE = "longhorn-system"

NODES = "nodes"
VOLUMES = "volumes"
ENGINES = "engines"
FRONTENDS = "enginefrontends"
REPLICAS = "replicas"
INSTANCE_MANAGERS = "instancemanagers"
SETTINGS = "settings"
SNAPSHOTS = "snapshots"
BACKUPS = "backups"
ATTACHMENTS = "volumeattachments"
RECURRING_JOBS = "recurringjobs"
CRON_JOBS = "cronjobs"
"""The CronJobs of Kubernetes that start recurring jobs."""
JOBS = "jobs"
"""The Jobs of Kubernetes that CronJobs make."""

JOB_OF_CRON_JOB = "recurring-job.longhorn.io"
"""The label on such a CronJob, with the name of its RecurringJob (`types.GetCronJobLabels`)."""
JOB_LABEL, GROUP_LABEL = "recurring-job.longhorn.io/", "recurring-job-group.longhorn.io/"
"""The prefixes of the labels on a volume that name its recurring jobs and the groups of these."""

DEFAULT_IMAGE = "default-instance-manager-image"
"""The setting with the image that every instance manager should run. Longhorn's own upgrade sets it."""
REPLENISHMENT = "replica-replenishment-wait-interval"
"""The setting with the seconds for which Longhorn waits for a failed replica before it makes another elsewhere."""
HUGE_PAGES = "data-engine-hugepage-enabled"
MEMORY = "data-engine-memory-size"
"""The settings, by data engine: whether huge pages are used, and the MiB of memory that is needed."""
REBUILDS = "concurrent-replica-rebuild-per-node-limit"
"""The setting with the number of rebuilds at a time on one node; with 0 nothing is rebuilt."""

RUN = "upgrade.stateful/run"
"""The label on everything that a run makes."""
TARGET = "upgrade.stateful/target"
"""The label that says for which image it was made."""
ATTACHED_MARK = "upgrade.stateful/attached"
"""The annotation on a snapshot that a run has made: where its volume was attached then, and since when."""
NODE_MARK = "upgrade.stateful/engine-switch"
"""The annotation on a Longhorn node whose engine is being switched: the name of the run that began it, and the time."""
EMPTIED = "@emptied"
"""The end of the mark on a node that was emptied outside of a run, which no run puts back."""
HOME_MARK = "upgrade.stateful/engine-home"
"""The annotation on a volume whose engine is away: the node from which a run has moved it."""


def label_of(image: str) -> str:
    """The image as the value of the label `TARGET`."""
    return hashlib.sha256(image.encode()).hexdigest()[:16] if image else "maintenance"


def path_of(namespace: str, kind: str, name: str = "") -> str:
    """The path of one of Longhorn's objects, CronJobs or Jobs, or of all of a kind."""
    return in_namespace(BATCH if kind in {CRON_JOBS, JOBS} else API, namespace, kind, name)
