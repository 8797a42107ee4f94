"""The work of index state management (ISM) on indices while members go. Pure.

It goes from step to step every few minutes, and asks no one. A shrink moves all shards of an index to one member and
fails if that goes away; a force-merge that a restart has ended is not started again, so its step waits in vain until it
times out (plugin source, AttemptShrinkStep and WaitForForceMergeStep). Those are waited for. Short actions are only
reported. A step that waits for its condition, such as the age of a rollover, is no work.

It is asked in the plan alone, and only if its index exists. An action that starts between two batches shows as a task
or a snapshot, for which the gates wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...common.verdict import Reason, as_verdict, remark, waiting
from ...common.words import enumerate_few, shortened
from ..observe.managed_indices import Managed, ManagedIndex

SHRINK = "shrink"
LONG = {
    "convert_index_to_remote": "converts to a remote store",
    "force_merge": "force-merges",
    SHRINK: "shrinks",
    "snapshot": "takes a snapshot of",
}
"""The actions that a restart would spoil, in words."""
SHORT = frozenset({"allocation", "close", "delete", "open", "replica_count", "rollover"})
"""Actions that move, drop or hide data, and take little time."""
STARTING = "starting"
"""The status of a step that is under way."""
LONGEST = 160


def shrinking(managed: Managed | None) -> frozenset[str]:
    """The indices that ISM shrinks. For that time it keeps them on one member by a filter of its own, which it takes
    away at the end (plugin source, AttemptMoveShardsStep and ShrinkAction)."""
    indices = managed.indices if managed else ()
    return frozenset(each.name for each in indices if each.action == SHRINK and not each.failed)


@as_verdict
def judge_managed(managed: Managed) -> Iterator[Reason]:
    """Whether no index is in an action that the restart of a member would spoil."""
    working = [index for index in managed.indices if not index.failed]
    for index in working:
        if index.action in LONG:
            yield waiting("index_action_running", f"{_action_of(index)}.", _remedy(index), about=index.name)
    counted = Counter(index.action for index in working if index.action in SHORT and index.status == STARTING)
    if counted:
        what = ", ".join(f"{action} of {number}" for action, number in sorted(counted.items()))
        yield remark(
            "index_action_short",
            f"Index state management (ISM) is about to change indices: {what}.",
            "No action is needed: the proof of each batch is made on what it has left.",
        )
    failed = [index for index in managed.indices if index.failed]
    if failed:
        said = shortened(failed[0].said, LONGEST).rstrip(".")
        yield remark(
            "index_action_failed",
            f"Index state management (ISM) has failed on {enumerate_few(index.name for index in failed)}"
            f"{f', on {failed[0].name} with: {said}' if said else ''}.",
            "See GET _plugins/_ism/explain, fix the cause, then POST _plugins/_ism/retry/<index>.",
        )
    if managed.asked and managed.read < max(1, managed.total):
        yield remark(
            "index_management_unread",
            f"Index state management (ISM) shows {managed.read} of {managed.total} managed indices: whether it works on"
            " others is not known.",
            "Give the user the permission indices:admin/opensearch/ism/managedindex on all indices.",
        )


def _action_of(index: ManagedIndex) -> str:
    message = f"Index state management (ISM) {LONG[index.action]} {index.name}"
    where = f" (step {index.step})" if index.step else ""
    said = shortened(index.said, LONGEST).rstrip(".")
    return f"{message}{where}{f': {said}' if said else ''}"


def _remedy(index: ManagedIndex) -> str:
    return (
        f"Let it end; GET _plugins/_ism/explain/{index.name} shows its step. To continue anyway, which may leave it"
        " failed, set skip_checks: [index_management]."
    )
