"""The sentences about snapshots that runs have left. Pure.

They are points to return to, and they record what shows an interruption (`interruptions`). So only the end of a run, or
a person, removes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, refused, remark
from ...common.words import enumerate_few
from ..observe.kinds import RUN, TARGET
from ..observe.state import Longhorn, VolumeSnapshot
from .interruptions import is_evidence


def removal(namespace: str, what: str) -> str:
    """The command that removes snapshots: their names, or a selector of labels."""
    return f"kubectl delete -n {namespace} snapshots.longhorn.io {what}"


def left_behind(seen: Longhorn) -> Iterator[Reason]:
    """The remark on the snapshots of each run that are still there."""
    there = [each for each in seen.snapshots if not each.deleting]
    for run in sorted({each.run for each in there}):
        found = [each for each in there if each.run == run]
        interrupted = sorted({each.volume for each in found if is_evidence(seen, each)})
        evidence = (
            f" They show an interruption of volumes {enumerate_few(interrupted)}; as long as they do, no further node"
            " is begun with volumes attached (interrupted_before)."
            if interrupted
            else ""
        )
        yield remark(
            "snapshots_left",
            f"Snapshots of run {run} are still there: {_named(found)}.{evidence}",
            "If you need no return to them, and do not continue the run, remove them:"
            f" {removal(seen.namespace, f'-l {RUN}={run}')}.",
        )


def snapshots_stay(namespace: str, target: str, stay: Collection[VolumeSnapshot]) -> Reason:
    """The refusal after snapshots that could not be removed; the reason before it says why."""
    return refused(
        "snapshots_stay",
        f"Snapshots of the upgrade were not removed: {_named(stay)}.",
        f"Once the cause is gone, remove them: {removal(namespace, f'-l {TARGET}={target}')}.",
    )


def _named(snapshots: Collection[VolumeSnapshot]) -> str:
    return enumerate_few(f"{each.name} of volume {each.volume}" for each in snapshots)
