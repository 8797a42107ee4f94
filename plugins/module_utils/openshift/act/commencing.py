"""The start of an update: the pools are held, the channel is set, and then the update is desired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...common.task import passed_or_raise
from ...common.verdict import Reason, waiting
from ..judge.left_out import left_out
from ..judge.order import lowered
from ..judge.validation import judge_target
from ..observe.state import MachineConfigPool, OpenShift
from ..observe.target import UpgradeTarget
from .changes import Acts


def commence(seen: OpenShift, target: UpgradeTarget, acts: Acts, params: Mapping[str, Any]) -> tuple[Reason, ...]:
    """Make the next act that the update needs to start, and return what it waits for; nothing once it is commenced.

    `params` are the options of the module.

    An update that is desired by its image would be taken at once, whatever is listed (cluster-version-operator,
    `findUpdateFromConfig`). It is desired all the same only when the channel lists it, so that its risks are those
    that the cluster version operator has evaluated. That operator keeps the list of the channel before until the
    update service has answered (`NeedsUpdate` in `pkg/cvo/availableupdates.go`).

    Raises:
        Refusal: the cluster may not go to the target any more.
    """
    version = seen.version
    hold_those(seen, seen.worker_pools, acts, params["max_unavailable"])
    if version.is_commenced(str(target)):
        return ()
    verdict = passed_or_raise(judge_target(seen, target, (), left_out(params)))
    if not verdict.passed:
        return verdict.deciding()
    if target.changes_channel(version):
        acts.set_channel(version, target.channel)
        return (_not_retrieved(target, acts),)
    if version.observed_generation < version.generation:
        return (_not_retrieved(target, acts),)
    if target.listed(version) is None and target.image is None:
        return (_not_retrieved(target, acts, version.condition("RetrievedUpdates").message),)
    acts.commence(version, target.update(version))
    return ()


def hold_those(
    seen: OpenShift, pools: Iterable[MachineConfigPool], acts: Acts, most: str | None
) -> list[MachineConfigPool]:
    """Hold those of these pools that are open, and return them. `most` is the option `max_unavailable`."""
    return [pool for pool in pools if not pool.paused and acts.hold(pool.name, lowered(seen, pool, most))]


def _not_retrieved(target: UpgradeTarget, acts: Acts, cause: str = "") -> Reason:
    if acts.channel_set_back:
        return waiting(
            "channel_set_back",
            f"OpenShift does not retrieve the update to {target}: something else sets its channel to"
            f" {acts.channel_set_back} each time that this run sets it to {target.channel}.",
            f"If that is GitOps, have it set {target.channel}, or leave spec.channel of the ClusterVersion alone.",
        )
    said = f"OpenShift has not retrieved the update to {target} in channel {target.channel} yet"
    remedy = "See the pod cluster-version-operator, and whether the cluster reaches its update service."
    return waiting("update_not_retrieved", f"{said}{f': {cause}' if cause else '.'}", remedy)
