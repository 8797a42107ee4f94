"""The MachineHealthChecks that may replace a Kubernetes node while it restarts. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, as_verdict, remark
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
        "Run the playbook again to continue. The playbook settle ends the pause.",
    )
