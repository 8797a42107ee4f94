"""The status of a pool, made of its Kubernetes nodes (`calculateStatus` in `pkg/controller/node/status.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.kinds import DESIRED, REASON, annotations_of


def tell_status(item: Json, pool: Json, nodes: Sequence[Json], now: str) -> None:
    """Write the status of a pool: `pool` is the one that was looked at, and `item` the one that is written."""
    wanted = pool["spec"]["configuration"]["name"]
    updated = [each for each in nodes if states.is_done(each) and annotations_of(each)[DESIRED] == wanted]
    ready = [each for each in updated if not states.unready(each)]
    degraded = [each for each in nodes if states.is_degraded(each)]
    unavailable = [each for each in nodes if states.is_unavailable(each)]
    over = len(updated) == len(ready) == len(nodes) and not unavailable
    status = item.setdefault("status", {})
    status |= {
        "observedGeneration": pool["metadata"]["generation"],
        "machineCount": len(nodes),
        "updatedMachineCount": len(updated),
        "readyMachineCount": len(ready),
        "unavailableMachineCount": len(unavailable),
        "degradedMachineCount": len(degraded),
    }
    if over:
        status["configuration"] = {"name": wanted}
    _tell_update(item, wanted, now, over=over, paused=bool(pool["spec"].get("paused")))
    _tell_degraded(item, degraded, now)


def _tell_update(item: Json, wanted: str, now: str, *, over: bool, paused: bool) -> None:
    if over:
        with_condition(item, "Updated", "True", now, message=f"All nodes are updated with MachineConfig {wanted}")
        with_condition(item, "Updating", "False", now)
        return
    with_condition(item, "Updated", "False", now)
    if paused:
        said = f"Pool is paused; will not update to MachineConfig {wanted}"
        with_condition(item, "Updating", "False", now, message=said)
    else:
        with_condition(item, "Updating", "True", now, message=f"All nodes are updating to MachineConfig {wanted}")


def _tell_degraded(item: Json, degraded: Sequence[Json], now: str) -> None:
    said = [
        f'Node {each["metadata"]["name"]} is reporting: "{annotations_of(each).get(REASON, "")}"' for each in degraded
    ]
    message, status = ", ".join(said), "True" if degraded else "False"
    reason = f"{len(degraded)} nodes are reporting degraded status on sync" if degraded else ""
    with_condition(item, "NodeDegraded", status, now, reason=reason, message=message)
    with_condition(item, "RenderDegraded", "False", now)
    with_condition(item, "Degraded", status, now, message=message)
