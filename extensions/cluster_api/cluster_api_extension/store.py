"""Machines, tasks, claims and gates in the management cluster; each write is over the version that was read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

import aiohttp

from .bodies import text
from .documents import (
    STATE_LABEL,
    NotUnderstood,
    cleared_in,
    config_map_of,
    holder_at,
    task_of,
)
from .fields import Json
from .gates import GateAnswer, gate_answer_of, gate_data_of
from .holds import machine_path
from .kubernetes_api import Conflict, KubernetesApi, Unanswered
from .policy import Budget
from .tasks import BUSY, Task, TaskState, Wanted, aborted, judged, wanted_of
from .upgrade_task_store import UpgradeTasks

GATE_TIMEOUT = 4.0
"""Seconds for the answer of a gate behind an address."""
OPEN = f"{STATE_LABEL} in ({TaskState.WAITING.value},{','.join(state.value for state in BUSY)})"
"""The selector of the tasks that are neither done nor failed, so that ended tasks cost nothing in a look."""
TRIES = 3
"""Attempts to write a task that another replica or a run writes at the same time."""


class BeingDeleted(Exception):
    """The machine is being deleted."""


class Store:
    """The objects of one management cluster; those of the service are in `namespace`."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self._api, self.namespace = api, namespace
        self.upgrade_tasks = UpgradeTasks(api)

    def config_maps(self, name: str = "") -> str:
        """The path of the ConfigMaps of the service, or of one."""
        return f"/api/v1/namespaces/{self.namespace}/configmaps" + (f"/{quote(name, safe='')}" if name else "")

    def leases(self, name: str = "") -> str:
        """The path of the Leases of the service, or of one."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        return path + (f"/{quote(name, safe='')}" if name else "")

    async def ready(self) -> None:
        """Asks the API server for one object of the service.

        Raises:
            Unanswered: there is no answer.
        """
        await self._api.read(self.config_maps("readiness"))

    async def wanted(self, desired: dict[str, Json]) -> Wanted:
        """The machine of a request, with its UID, which requests do not carry.

        Raises:
            BeingDeleted: it is going away, or is gone.
            Unanswered: it cannot be read.
        """
        return wanted_of(await self.machine(desired), desired)

    async def machine(self, desired: dict[str, Json]) -> Json:
        """The Machine of a request as it is now; raises as `wanted` does."""
        namespace, name = (text(desired, "machine", "metadata", each) for each in ("namespace", "name"))
        machine = await self._api.read(machine_path(namespace, name))
        if machine is None or machine["metadata"].get("deletionTimestamp"):
            raise BeingDeleted(f"The Machine {namespace}/{name} is being deleted, so nothing is done.")
        return machine

    async def requested(self, wanted: Wanted, budget: Budget, now: datetime) -> Task:
        """The task of a machine after a request, written only if the request has changed it.

        Raises:
            Unanswered: it cannot be read or written.
            NotUnderstood: it, or its claim, has another form.
        """
        for _try in range(TRIES):
            found = await self._api.read(self.config_maps(wanted.task_name))
            before = task_of(found) if found else None
            alive = before is not None and before.state in BUSY and await self._alive(wanted, now)
            after = judged(before, wanted, budget, now, alive, cleared_in(found) if found else "")
            if after == before:
                return after
            try:
                await self.keep(after, found)
            except Conflict:
                continue
            return after
        raise Unanswered(f"The task of {wanted.namespace}/{wanted.name} is being written by others.")

    async def by_hand(self, wanted: Wanted, budget: Budget, now: datetime) -> Task:
        """The task of an UpgradeTask that a person has made, judged as after a request; raises as `requested` does.

        One that a request for the same owner has aborted stays so, until its UpgradeTask is changed.
        """
        found = await self._api.read(self.config_maps(wanted.task_name))
        before = task_of(found) if found else None
        if before is not None and before.abort and before.wanted.digest == wanted.digest:
            return before
        return await self.requested(wanted, budget, now)

    async def keep(self, task: Task, found: Json | None) -> Json:
        """Writes a task over the ConfigMap that was read, or makes it.

        Raises:
            Conflict: it is not the one that was read.
        """
        version = str(found["metadata"]["resourceVersion"]) if found else ""
        item = config_map_of(task, self.namespace, version)
        if found:
            return await self._api.write(self.config_maps(task.wanted.task_name), item)
        return await self._api.make(self.config_maps(), item)

    async def _alive(self, wanted: Wanted, now: datetime) -> bool:
        return bool(holder_at(await self._api.read(self.leases(wanted.task_name)), now))

    async def abort_others(self, wanted: Sequence[Wanted], now: datetime) -> list[Task]:
        """Aborts the open tasks of the same owners that are not among these; gives those that a run still works on.

        Raises:
            Unanswered: they cannot be read or written.
        """
        owners = {(each.namespace, each.cluster, each.owner) for each in wanted}
        kept = {(each.uid, each.digest) for each in wanted}
        running = []
        for item in await self._api.listed(self.config_maps(), OPEN):
            task = task_of(item)
            own = (task.wanted.namespace, task.wanted.cluster, task.wanted.owner) in owners
            if not own or (task.wanted.uid, task.wanted.digest) in kept:
                continue
            if task.state in BUSY and await self._alive(task.wanted, now):
                running.append(task)
            if (after := aborted(task, now)) != task:
                try:
                    await self.keep(after, item)
                except Conflict as error:
                    raise Unanswered(f"The task of {task.wanted.name} is being written by others.") from error
        return running

    async def gate(self, namespace: str, name: str) -> GateAnswer | str:
        """The answer of the gate of a cluster in its record, or the sentence that says why there is none."""
        found = await self._api.read(self.config_maps(gate_name(namespace, name)))
        return "It has not answered yet." if found is None else gate_answer_of(found.get("data") or {})

    async def keep_gate(self, namespace: str, name: str, answer: GateAnswer) -> None:
        """Writes the answer of the gate of a cluster.

        Raises:
            Unanswered: it cannot be read or written.
            Conflict: another one writes it at the same time.
        """
        own = gate_name(namespace, name)
        found = await self._api.read(self.config_maps(own))
        metadata = {"name": own, "namespace": self.namespace}
        if found is not None:
            metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
        item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": gate_data_of(answer)}
        if found is None:
            await self._api.make(self.config_maps(), item)
        else:
            await self._api.write(self.config_maps(own), item)

    async def sweep(self, now: datetime, kept: timedelta) -> int:
        """Deletes tasks older than `kept` that are done, or have no Machine or UpgradeTask; gives their number."""
        old = 0
        for item in await self._api.listed(self.config_maps(), STATE_LABEL):
            try:
                task = task_of(item)
            except NotUnderstood:
                continue
            if task.created + kept < now and (task.state is TaskState.DONE or await self._is_gone(task.wanted)):
                name, version = item["metadata"]["name"], item["metadata"]["resourceVersion"]
                await self._api.remove(self.config_maps(name), version)
                old += 1
        return old

    async def _is_gone(self, wanted: Wanted) -> bool:
        if wanted.upgrade_task:
            return await self.upgrade_tasks.is_over(wanted)
        machine = await self._api.read(machine_path(wanted.namespace, wanted.name))
        return machine is None or machine["metadata"]["uid"] != wanted.uid


def gate_name(namespace: str, name: str) -> str:
    """The name of the ConfigMap in which the gate of a cluster answers."""
    return f"gate-{namespace}.{name}"


async def gate_behind(url: str, namespace: str, name: str, session: aiohttp.ClientSession) -> GateAnswer | str:
    """The answer of a gate behind an address, which gets the cluster as a query; or the sentence why there is none."""
    try:
        params = {"namespace": namespace, "cluster": name}
        limit = aiohttp.ClientTimeout(total=GATE_TIMEOUT)
        async with session.get(url, params=params, timeout=limit, allow_redirects=False) as response:
            if response.status != 200:
                return f"It answers with {response.status}."
            content = await response.json(content_type=None)
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
        return f"It gives no answer ({type(error).__name__})."
    return gate_answer_of(content) if isinstance(content, dict) else "Its answer is no JSON object."
