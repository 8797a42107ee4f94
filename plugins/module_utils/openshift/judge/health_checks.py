"""The MachineHealthChecks that may replace a Kubernetes node while it restarts. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, as_verdict, remark
from ..observe.kinds import CHECK_PAUSED, MACHINE_API
from ..observe.machine_state import HealthCheck


@as_verdict
def judge_health_checks(checks: Collection[HealthCheck]) -> Iterator[Reason]:
    """A remark for each one that is not paused, and that heeds Kubernetes nodes that are not Ready.

    It deletes the machine of one that takes longer to restart, with all data on its disks.
    """
    for each in sorted(checks, key=lambda one: one.name):
        if each.after and not each.is_paused:
            yield remark(
                "health_check_acts",
                f"MachineHealthCheck {each.name} replaces a machine whose Kubernetes node is not Ready for"
                f" {each.after}, with the data on its disks. One that is updated may restart for longer.",
                "Pause it for the time of the upgrade:"
                f' oc -n {MACHINE_API} annotate machinehealthcheck {each.name} {CHECK_PAUSED}=""',
            )
