"""The MachineHealthChecks that may replace a Kubernetes node while it restarts. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import enumerate_few
from ..observe.kinds import CHECK_PAUSED, MACHINE_API
from ..observe.machine_state import HealthCheck


@as_verdict
def judge_health_checks(checks: Collection[HealthCheck], *, may_pause: bool) -> Iterator[Reason]:
    """A remark for each one that heeds Kubernetes nodes that are not Ready, unless a person has paused it.

    It deletes the machine of one that takes longer to restart, with all data on its disks. `may_pause` says whether the
    run has the rights to pause it.
    """
    for each in sorted(checks, key=lambda one: one.name):
        if not each.acts:
            continue
        said = (
            f"MachineHealthCheck {each.name} replaces a machine whose Kubernetes node is not Ready for {each.after},"
            " with the data on its disks. One that is updated may restart for longer"
        )
        if may_pause:
            yield remark("health_check_paused", f"{said}, so the run pauses it until the upgrade is done.")
            continue
        yield remark(
            "health_check_acts",
            f"{said}, and this user has no right to pause it.",
            "Give the right to get and patch machinehealthchecks, or pause it for the time of the upgrade:"
            f' oc -n {MACHINE_API} annotate machinehealthcheck {each.name} {CHECK_PAUSED}=""',
        )


def check_stays(name: str) -> Reason:
    """The remark on one that stays paused at the end of a run."""
    return remark(
        "health_check_stays_paused",
        f"MachineHealthCheck {name} stays paused, since the upgrade is not done.",
        "Run the playbook again to continue. The playbook settle releases the pools, and ends the pause if it is run"
        " once they are updated.",
    )


def check_waits(name: str, restarting: Collection[str]) -> Reason:
    """The remark on one that stays paused although no run goes on, since Kubernetes nodes restart by themselves."""
    return remark(
        "health_check_stays_paused",
        f"MachineHealthCheck {name} stays paused, since Kubernetes nodes are still to be updated, which restarts them:"
        f" {enumerate_few(restarting)}. Until it acts again, it replaces no broken machine.",
        "Run the playbook settle again once they are updated. To end the pause now:"
        f" oc -n {MACHINE_API} annotate machinehealthcheck {name} {CHECK_PAUSED}-",
    )


def was_active(name: str) -> Reason:
    """The remark on one that was found open although the run had paused it, or that is new."""
    return remark(
        "health_check_was_active",
        f"MachineHealthCheck {name} was not paused for a part of the upgrade, so that it may have replaced a machine"
        " whose Kubernetes node restarted. It is paused now.",
        f"If something else ends its pause, such as GitOps, have that leave the annotation {CHECK_PAUSED} alone for"
        " now.",
    )
