"""The time that things take, and the habits of the real controllers that a kind stand-in would not have.

Each habit is on by default, at the worst that its source allows; `KIND` has all of them off.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """Seconds that things take."""

    control: float = 1.0
    """Until a controller has looked at a change."""
    graph: float = 1.0
    """Until the update service has answered."""
    retrieve: float = 20.0
    """Until the image of a release is pulled and its content verified."""
    operator: float = 60.0
    """Until an operator and its operands are of another version."""
    render: float = 20.0
    """Until the pools have new configurations, once their operator runs in another version."""
    pool: float = 5.0
    """`defaultUpdateDelay` in `pkg/controller/node/node_controller.go`, and `UpdateDelay` of the drain controller."""
    daemon: float = 5.0
    """Until the daemon on a Kubernetes node has looked at it, also after a boot."""
    prepare: float = 20.0
    """Until the files of a new configuration are written."""
    reboot: float = 120.0
    """Until a Kubernetes node is Ready again."""
    boot: float = 240.0
    """Until a new machine has a Kubernetes node that is Ready."""
    leave: float = 60.0
    """Until the cloud has deleted a drained machine."""


@dataclass(frozen=True)
class Habits:
    """The worst that the real ones may do."""

    status_interval: float = 15.0
    """A status is as old as this: `statusInterval: 15 * time.Second` in `pkg/cvo/cvo.go`, "how often the configSync
    worker is allowed to retrigger the main sync status loop"."""
    resync: float = 240.0
    """A change of the spec whose event is lost is found so late: `resyncPeriod` in `pkg/start/start.go` of
    cluster-version-operator is `minResyncPeriod = 2 * time.Minute` times at most 2. The graph is asked as seldom."""
    stale_spec: bool = True
    """Whether the event of a change of the ClusterVersion is lost, so that `observedGeneration` lags by `resync`."""
    backup: float = 600.0
    """Until etcd is backed up once a minor update is refused for that, as up to 4.14; 0: no backup is needed
    (`pkg/payload/precondition/clusterversion/etcdbackup.go` of cluster-version-operator of that time,
    `pkg/operator/upgradebackupcontroller` of cluster-etcd-operator)."""
    keeps_refusal: bool = True
    """`ReleaseAccepted` stays False once a refused update is withdrawn, until another one is accepted. The operator of
    4.13 does so: "Update work is equal to current target; no change required" in `pkg/cvo/sync_worker.go`."""
    elected: float = 163.0
    """The version operator upgrades itself first, and the next one is elected after `LeaseDuration` of 137 s and a
    `RetryPeriod` of 26 s (`pkg/config/leaderelection` of library-go). Until then nothing is written. The controller of
    the pools is away as long when the master that it runs on reboots."""
    first_answer_fails: bool = True
    """The first answer of the update service after a change of the channel fails. Then the list of updates is empty,
    since nothing is kept for another channel: `preserveCacheOnFailure := false` in `pkg/cvo/availableupdates.go`."""
    evaluation: float = 3.0
    """Risks are evaluated one by one, `MinBetweenMatches: 1 * time.Second` (`pkg/clusterconditions/promql`); until then
    `Recommended` is Unknown with the reason EvaluationFailed."""
    flap: float = 180.0
    """An operator is Degraded for so long in each of its upgrades. The version operator bears that: "waiting up to 40
    minutes on …" (`convertErrorToProgressingForUpdateEffectFailAfterInterval` in `pkg/cvo/status.go`)."""
    slow_reboot: float = 600.0
    """The last Kubernetes node of each pool takes so long to return; the operator bears it: "Let's start with a 10
    minute timeout per "required" node" (`syncRequiredMachineConfigPools` in `pkg/operator/sync.go`)."""


KIND = Habits(
    status_interval=1.0,
    resync=120.0,
    stale_spec=False,
    backup=0.0,
    keeps_refusal=False,
    elected=0.0,
    first_answer_fails=False,
    evaluation=0.0,
    flap=0.0,
    slow_reboot=0.0,
)
"""None of them: everything is reported at once, and nothing fails."""
