# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `pool_image`: the image and the update strategy of a pool, with the way back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from ..common.arguments import CONNECTIONS, NAMESPACE
from ..common.task import Contract, Journal, Outcome, Task, passed_or_raise
from ..common.verdict import Reason, Verdict, remark
from .client import Conflict, KubernetesClient, connect
from .judge import DEPLOYERS, judge_controller, judge_deployer, judge_revision, unsettled
from .pods import pods_of
from .pool_changes import UNDO, Undo, carried_undo, changes_to, container_of, way_back
from .state import StatefulSet
from .stateful_sets import get_stateful_set, path_of, stateful_set

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        "pool": {"type": "str", "required": True},
        "state": {"type": "str", "default": "present", "choices": ["present", "restored"]},
        "image": {"type": "str"},
        "container": {"type": "str"},
        "strategy": {"type": "str", "default": "OnDelete", "choices": ["OnDelete"]},
        "run": {"type": "str", "default": ""},
        "allow_field_managers": {"type": "list", "elements": "str", "choices": list(DEPLOYERS), "default": []},
    },
    required_if=[("state", "present", ("image",))],
)


ATTEMPTS = 10
"""Every status update changes the resourceVersion that guards the patch; so many in a row are no accident."""


def run(task: Task) -> Outcome:
    """Make the image and strategy as wanted, or put the strategy back; the second time nothing changes."""
    client = connect(task.params["kubernetes"])
    step = _restore if task.params["state"] == "restored" else _make_present
    return _guarded(lambda: step(task, client))


def _guarded(attempt: Callable[[], Outcome]) -> Outcome:
    """Observe, judge and patch again whenever the pool changed in between."""
    for _number in range(ATTEMPTS - 1):
        try:
            return attempt()
        except Conflict:
            continue
    return attempt()


def _make_present(task: Task, client: KubernetesClient) -> Outcome:
    task.still_wanted()
    params = task.params
    pool = get_stateful_set(client, params["namespace"], params["pool"])
    passed_or_raise(judge_controller(pool))
    container = container_of(pool, params["image"], params["container"])
    undo = carried_undo(pool)
    at = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    patch = changes_to(pool, container, params["image"], params["strategy"], params["run"], at)
    if patch is None:
        return _unchanged(pool, container, Verdict())
    passed_or_raise(judge_deployer(pool, params["allow_field_managers"]))
    reasons = (_void(pool, undo),) if undo is not None and not undo.holds(pool) else ()
    return _patched(task, client, pool, container, patch, reasons)


def _restore(task: Task, client: KubernetesClient) -> Outcome:
    task.still_wanted()
    pool = get_stateful_set(client, task.params["namespace"], task.params["pool"])
    undo = carried_undo(pool)
    if undo is None:
        return _unchanged(pool, "", Verdict())
    if not undo.holds(pool):
        back = pool.update_strategy == undo.strategy_was
        reasons = () if back else (_void(pool, undo),)
        return _patched(task, client, pool, undo.container, way_back(pool, undo), reasons)
    why = _not_yet(client, pool)
    if why is not None:
        return _unchanged(pool, undo.container, Verdict((why,)))
    return _patched(task, client, pool, undo.container, way_back(pool, undo), (), undo)


def _not_yet(client: KubernetesClient, pool: StatefulSet) -> Reason | None:
    """Why the strategy must stay: with pods of another revision left, RollingUpdate would start a roll of its own."""
    revision = judge_revision(pool)
    if not revision.passed:
        why = revision.reasons[0].message.rstrip(".")
    else:
        left = unsettled(pool, pods_of(client, pool))
        if not left:
            return None
        why = f"not every pod is Ready on its revision ({', '.join(left)})"
    return remark(
        "strategy_kept",
        f"StatefulSet {pool.name} stays {pool.strategy}: {why}.",
        "Finish the roll of this pool, then restore it again.",
    )


def _void(pool: StatefulSet, undo: Undo) -> Reason:
    return remark(
        "strategy_changed_by_another",
        f"After run {undo.run or 'without a name'} had set {undo.strategy_set}, something else changed the strategy "
        f"of StatefulSet {pool.name}; that is what counts from now on.",
    )


def _patched(
    task: Task,
    client: KubernetesClient,
    pool: StatefulSet,
    container: str,
    patch: dict[str, Any],
    reasons: tuple[Reason, ...],
    restored: Undo | None = None,
) -> Outcome:
    task.still_wanted()
    answer = client.patch(path_of(pool.namespace, pool.name), patch, "strategic", dry_run=task.check_mode)
    after = stateful_set(answer)
    if restored is not None and after.update_strategy != restored.strategy_was:
        inexact = f"The API server did not take back the strategy of StatefulSet {pool.name} exactly as it was."
        reasons = (*reasons, remark("strategy_not_exact", inexact, "Compare before and after in the result."))
    journal = Journal()
    journal.did("patch_stateful_set", pool.name, set=sorted(_changed_fields(pool, after)))
    present = task.params["state"] == "present"
    return Outcome(
        Verdict(reasons),
        changed=True,
        before=_shown(pool, container),
        after=_shown(after, container),
        actions=journal,
        next="Replace the pods batch by batch (pod_ondelete_roll)." if present else "",
    )


def _unchanged(pool: StatefulSet, container: str, verdict: Verdict) -> Outcome:
    shown = _shown(pool, container)
    return Outcome(verdict, before=shown, after=shown)


def _shown(pool: StatefulSet, container: str) -> dict[str, Any]:
    images = {container: pool.images[container]} if container in pool.images else dict(pool.images)
    return {"images": images, "strategy": dict(pool.update_strategy), "undo": pool.annotations.get(UNDO, "")}


def _changed_fields(before: StatefulSet, after: StatefulSet) -> list[str]:
    pairs = {
        "image": (before.images, after.images),
        "strategy": (before.update_strategy, after.update_strategy),
        "undo": (before.annotations.get(UNDO), after.annotations.get(UNDO)),
    }
    return [name for name, (old, new) in pairs.items() if old != new]
