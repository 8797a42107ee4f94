"""Whether Machines of a management cluster may be marked, and which marks are taken off again. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum

from ...common.errors import refusal
from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few, shortened
from ...kubernetes.conditions import UNKNOWN
from ..observe.owned_machines import SKIP_REMEDIATION, OwnedMachine
from ..observe.state import KubeadmCluster
from .up_to_date import LONGEST, UP_TO_DATE, MachineProgress

WORKED = (MachineProgress.IN_PROGRESS, MachineProgress.FAILED)
"""The progress of a machine on which work may have started."""
HEALTH = "HealthCheckSucceeded"
REPLACING = ("OwnerRemediated", "ExternallyRemediated")
"""The conditions of a Machine by which a MachineHealthCheck says that it is unhealthy, and by which it has it replaced:
by its owner, or by an object of its remediation template."""


class MarkRelease(Enum):
    """The part of the marks that is taken off a Machine."""

    ALL = "all"
    HOLD = "the annotation that keeps it from being replaced"
    ALL_BUT_HOLD = "all but the annotation that keeps it from being replaced"
    NOTHING = "nothing"


def is_of_task(mark: str) -> bool:
    """Whether a mark names an UpgradeTask, and not a run."""
    return "/" in mark


def home_of(seen: KubeadmCluster) -> tuple[str, str] | None:
    """Namespace and name of the Cluster at Cluster API; None if no machine belongs to one.

    Raises:
        Refusal: the Kubernetes nodes name several.
    """
    found = sorted({each.cluster for each in seen.machines.values() if each.cluster})
    if len(found) > 1:
        raise refusal(
            "cluster_unclear",
            f"The Kubernetes nodes name several Clusters of Cluster API in their annotations: {enumerate_few(found)}.",
            "Correct the annotations cluster.x-k8s.io/cluster-namespace and cluster.x-k8s.io/cluster-name.",
        )
    namespace, _slash, name = found[0].partition("/") if found else ("", "", "")
    return (namespace, name) if found else None


def progress_of(machine: OwnedMachine) -> MachineProgress | None:
    """The progress in the condition of a Machine; None without one that a run writes."""
    found = machine.conditions.get(UP_TO_DATE)
    known = {each.value: each for each in MachineProgress}
    return known.get(found.reason) if found is not None else None


@as_verdict
def judge_markable(
    seen: KubeadmCluster,
    owned: Mapping[str, OwnedMachine],
    names: Iterable[str],
    own: str,
    ended: Collection[str],
) -> Iterator[Reason]:
    """Whether the Machines behind these Kubernetes nodes may get the mark `own`; `ended` are marks that count no more.

    The mark of a run is no hindrance here: whether that run lives is asked before the mark is changed.
    """
    for name in names:
        if name not in seen.machines or not seen.machines[name].cluster:
            continue
        machine = owned.get(name)
        if machine is None:
            yield refused(
                "machine_unmatched",
                f"Kubernetes node {name} belongs to Cluster {seen.machines[name].cluster}, which has no Machine for it"
                " in the management cluster.",
                "Correct the connection management, or wait until Cluster API has matched them.",
            )
        elif machine.going:
            yield refused(
                "machine_leaving",
                f"{machine.called} of Kubernetes node {name} is being deleted.",
                "Wait until it is gone, or take it out of upgrade_groups.",
            )
        elif _is_to_be_replaced(machine):
            yield _goes(machine)
        elif is_of_task(machine.mark) and machine.mark != own and machine.mark not in ended:
            yield refused(
                "machine_marked",
                f"{machine.called} is marked by UpgradeTask {machine.mark}, which has not ended.",
                "Upgrade it by that task, or abort that one (spec.phase: Abort).",
            )


def _is_to_be_replaced(machine: OwnedMachine) -> bool:
    """Whether a MachineHealthCheck has it replaced, which no annotation ends.

    The owner reads these conditions alone, and a MachineHealthCheck leaves them as they are on a Machine that it skips
    (cluster-api 1.14, `machine_filters.go`, `IsUnhealthyAndOwnerRemediated`; `machinehealthcheck_targets.go`,
    `getTargetsFromMHC`). The owner can wait for long, as for the upgrade of a control plane.
    """
    found = {name: machine.conditions.get(name, UNKNOWN) for name in (HEALTH, *REPLACING)}
    return found[HEALTH].false and any(found[each].false for each in REPLACING)


def _goes(machine: OwnedMachine) -> Reason:
    said = machine.conditions[HEALTH]
    cause = shortened(" ".join((said.message or said.reason).split()).removesuffix("."), LONGEST)
    return refused(
        "machine_to_be_replaced",
        f"{machine.called} of Kubernetes node {machine.kubernetes_node} is to be replaced, so it may be deleted during"
        f" work on it: {cause}.",
        f"Wait until it is replaced. To keep it, end that cause, and remove its annotation {SKIP_REMEDIATION}, so that"
        " its MachineHealthCheck looks at it again; after a failed upgrade, settle once it is Ready.",
    )


def release_of(
    machine: OwnedMachine, *, ready: bool, begun: bool, ours: bool, ended: bool, failed: bool = False
) -> MarkRelease:
    """The part of the marks that is taken off a Machine at the end of a run, or when things are put back.

    Args:
        machine: The Machine.
        ready: Whether its Kubernetes node is Ready.
        begun: Whether its drain has begun, and it has not been seen back since.
        ours: Whether this very run has marked it.
        ended: Whether its task was aborted, or is gone.
        failed: Whether this very run has failed.
    """
    if progress_of(machine) in WORKED and failed and ready and ours and not begun and not ended:
        return MarkRelease.HOLD
    if progress_of(machine) not in WORKED or (ready and (ended or not (ours and begun))):
        return MarkRelease.ALL
    return MarkRelease.ALL_BUT_HOLD if ended else MarkRelease.NOTHING


def stays_held(machine: OwnedMachine) -> Reason:
    """The remark on a Machine that no MachineHealthCheck replaces until a person lets it."""
    return remark(
        "machine_stays_held",
        f"{machine.called} keeps its annotation {SKIP_REMEDIATION}, since its upgrade has stopped halfway, and it may"
        " hold the only copy of data.",
        f"Run the playbook again. To have it replaced instead: kubectl annotate -n {machine.namespace} machine"
        f" {machine.name} {SKIP_REMEDIATION}-",
    )


@as_verdict
def judge_unmarked(seen: KubeadmCluster, names: Iterable[str], *, connected: bool) -> Iterator[Reason]:
    """A remark if machines belong to Cluster API, which is not connected."""
    owned = [name for name in names if seen.machines[name].cluster]
    if owned and not connected:
        yield remark(
            "machines_unmarked",
            f"Machines {enumerate_few(owned)} belong to Cluster API, and no connection to its management cluster is"
            " given, so a MachineHealthCheck may replace one during its upgrade.",
            "Give management, or pause the MachineHealthChecks.",
        )
