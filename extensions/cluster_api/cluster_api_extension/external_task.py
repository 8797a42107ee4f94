"""ExternalUpgrade by an UpgradeTask: those before it are aborted, the request is decided, and its own is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from .external import declined, desired_of, machines_of
from .fields import Json
from .kubernetes_api import Conflict, Unanswered
from .policy import Policy
from .store import TRIES, Store
from .tasks import Wanted, wanted_of
from .upgrade_tasks import Present, asked_of, digest_of_task, is_open, present_in, progress_of, upgrade_task_of


async def requested_by_task(
    body: Json, uncovered: Sequence[str], policy: Policy, store: Store, now: Callable[[], datetime]
) -> Json:
    """The answer to ExternalUpgrade; `uncovered` has the fields that the allow-list does not cover.

    Raises:
        BadBody: the request cannot be read.
        BeingDeleted: a machine is gone or is being deleted, so that nothing is done.
        NotUnderstood: the record of a task has another form.
        Unanswered: an object cannot be read or written.
    """
    desired = [desired_of(each, body) for each in machines_of(body)]
    machines = [await store.machine(each) for each in desired]
    asked = asked_of(machines, body, policy)
    wanted = [wanted_of(*each) for each in zip(machines, desired, strict=True)]
    faults = [*asked.faults, *([f"The allow-list does not cover {', '.join(uncovered)}."] if uncovered else [])]
    budget = policy.budget.of_machines(len(machines))
    for _try in range(TRIES):
        listed = await store.upgrade_tasks.listed(asked.namespace)
        present = present_in(listed, asked)
        if refused := await _refused(present, wanted, faults, store, now()):
            return declined(refused)
        try:
            own = present.own or await store.upgrade_tasks.make(upgrade_task_of(asked, present.before, listed))
        except Conflict:
            continue
        record = await store.requested(_wanted(own, wanted[0]), budget, now()) if is_open(own) else None
        return progress_of(own, record, store.namespace)
    raise Unanswered("The UpgradeTasks of the same owner are being written by others: request it again.")


async def _refused(
    present: Present, wanted: Sequence[Wanted], faults: Sequence[str], store: Store, now: datetime
) -> str:
    """Aborts what other requests wanted; gives the cause for which nothing is made, or nothing."""
    for task in present.others:
        await store.upgrade_tasks.abort(task)
    kept = [_wanted(present.own, wanted[0])] if present.own else []
    owned = [replace(each, uid="") for each in wanted if each.owner]
    if running := await store.abort_others([*kept, *owned], now):
        names = ", ".join(task.wanted.name for task in running)
        return f"A run still works on {names}, and was asked to end: request it again."
    if not faults and present.own is None and present.aborted:
        names = ", ".join(present.aborted)
        remedy = f"kubectl delete -n {wanted[0].namespace} upgradetask {' '.join(present.aborted)}"
        return (
            f"This was requested before, and {names} was aborted. To have it after all, {remedy}, and request it again."
        )
    return " ".join(faults)


def _wanted(task: Json, machine: Wanted) -> Wanted:
    """An UpgradeTask as what its runs work on."""
    metadata = task["metadata"]
    names = {"uid": metadata["uid"], "name": metadata["name"], "digest": digest_of_task(task)}
    return replace(machine, **names, kubernetes_node="", upgrade_task=True)
