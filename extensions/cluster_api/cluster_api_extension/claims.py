"""The claim of a task by a run: a Lease that is renewed while the run works, and the task written under it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from .choosing import Choosing
from .documents import NotUnderstood, holder_at, lease_of, task_of
from .fields import Json
from .holds import Holds
from .kubernetes_api import Conflict, KubernetesApi, Unanswered
from .store import OPEN, TRIES, Store
from .tasks import BUSY, Task, Wanted, claimable, claimed
from .turns import Choice, in_turn


class ClaimLost(Exception):
    """The run no longer holds its claim: it has to end."""


@dataclass(frozen=True)
class Claimant:
    """One worker: its unique name, the seconds for which a claim holds without renewal, and what it works on."""

    holder: str
    seconds: int = 60
    side_by_side: int = 1
    upgrade_tasks: bool = False
    choice: Choice = field(default_factory=Choice)
    """Which UpgradeTasks it works on."""


class Claims:
    """The claims of one worker. Every method raises Unanswered where there is no answer."""

    def __init__(self, api: KubernetesApi, store: Store, claimant: Claimant, now: Callable[[], datetime]) -> None:
        self._api, self._store, self._claimant, self._now = api, store, claimant, now
        self.holds = Holds(api)
        self._choosing = Choosing(api, store, claimant.choice, now)

    async def claim_next(self) -> Task | None:
        """Claims the next task and gives it, or None if there is none."""
        turns = await self._choosing.look() if self._claimant.upgrade_tasks else None
        found: dict[str, tuple[Task, Json]] = {}
        for item in await self._api.listed(self._store.config_maps(), OPEN):
            try:
                task = task_of(item)
            except NotUnderstood:
                continue
            found[task.wanted.uid] = (task, item)
            unanswered = self._choosing.unanswered.get(task.wanted.uid)
            if unanswered and task.attempts and not task.abort and self._now() < task.deadline:
                # It was begun, which its UpgradeTask may not say: none of its cluster may go before it.
                raise unanswered
        alive = {uid: await self._held(task.wanted) for uid, (task, _item) in found.items() if task.state in BUSY}
        tasks, now = [task for task, _item in found.values()], self._now()
        free = claimable(tasks, alive, now, self._claimant.side_by_side)
        if turns is None:
            free = [task for task in free if not task.wanted.upgrade_task]
        else:
            free = in_turn(free, tasks, turns, now)
        for task in free:
            if await self._claim(task, found[task.wanted.uid][1]):
                return claimed(task, self._claimant.holder, self._now())
        return None

    async def _held(self, wanted: Wanted) -> bool:
        lease = await self._api.read(self._store.leases(wanted.task_name))
        try:
            return bool(holder_at(lease, self._now()))
        except NotUnderstood:
            # A run may hold it. The service, and the choice of UpgradeTasks, say what to do.
            return True

    async def _claim(self, task: Task, item: Json) -> bool:
        try:
            lease = await self._api.read(self._store.leases(task.wanted.task_name))
            if holder_at(lease, self._now()):
                return False
            await self._write_lease(task, lease)
        except (Conflict, NotUnderstood):
            return False
        try:
            await self._store.keep(claimed(task, self._claimant.holder, self._now()), item)
        except Conflict:
            await self.give_back(task)
            return False
        return True

    async def _write_lease(self, task: Task, lease: Json | None) -> None:
        namespace, name = self._store.namespace, task.wanted.task_name
        version = str(lease["metadata"]["resourceVersion"]) if lease else ""
        claimant = self._claimant
        item = lease_of(task, namespace, claimant.holder, claimant.seconds, self._now(), version)
        if lease:
            await self._api.write(self._store.leases(name), item)
        else:
            await self._api.make(self._store.leases(), item)

    async def renew(self, task: Task) -> Task:
        """Renews the claim; gives the task as it is now, which may have an abort.

        Raises:
            ClaimLost: another one has it, or the task is no longer this run's.
        """
        lease = await self._api.read(self._store.leases(task.wanted.task_name))
        if lease is None or (lease.get("spec") or {}).get("holderIdentity") != self._claimant.holder:
            raise ClaimLost("Another run has claimed the task.")
        try:
            await self._write_lease(task, lease)
        except Conflict as error:
            raise ClaimLost("Another one has written the Lease of the task.") from error
        return (await self._own(task))[0]

    async def _own(self, task: Task) -> tuple[Task, Json]:
        item = await self._api.read(self._store.config_maps(task.wanted.task_name))
        if item is None:
            raise ClaimLost("The task was deleted.")
        current = task_of(item)
        if current.state not in BUSY or current.holder != self._claimant.holder:
            raise ClaimLost(f"The task is {current.state.value}, and no longer of this run.")
        return current, item

    async def change(self, task: Task, changed: Callable[[Task], Task]) -> Task:
        """Writes a change of the task under this claim; gives it as it is then.

        Raises:
            ClaimLost: it is no longer of this run.
        """
        for _try in range(TRIES):
            current, item = await self._own(task)
            try:
                await self._store.keep(changed(current), item)
            except Conflict:
                continue
            return changed(current)
        raise Unanswered("The task is being written by others.")

    async def give_back(self, task: Task) -> None:
        """Deletes the Lease, if it is still this run's."""
        name = task.wanted.task_name
        lease = await self._api.read(self._store.leases(name))
        if lease is not None and (lease.get("spec") or {}).get("holderIdentity") == self._claimant.holder:
            try:
                await self._api.remove(self._store.leases(name), str(lease["metadata"]["resourceVersion"]))
            except Conflict:
                return
