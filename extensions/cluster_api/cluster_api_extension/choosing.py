"""The UpgradeTasks that a worker carries out: those of the service, and those of people, which get a task here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from .documents import CLEAR, NotUnderstood
from .fields import Json
from .holds import machine_path
from .kubernetes_api import KubernetesApi, Unanswered
from .store import Store
from .tasks import TaskState, Wanted
from .turns import Choice, Turn, is_over, left_because, turn_of, wanted_by
from .upgrade_tasks import is_made, owner_of

LOG = logging.getLogger("cluster_api_extension")


class Choosing:
    """The choice of one worker. What it leaves is said in the log, once for each cause."""

    def __init__(self, api: KubernetesApi, store: Store, choice: Choice, now: Callable[[], datetime]) -> None:
        self._api, self._store, self._choice, self._now = api, store, choice, now
        self._said: dict[str, str] = {}
        self.unanswered: dict[str, Unanswered] = {}
        """Those that the last look had no answer for, by their UIDs."""

    async def look(self) -> dict[str, Turn]:
        """The UpgradeTasks that may be carried out, by their UIDs; those of people get a task if they have none.

        One whose objects cannot be read or written keeps no other one waiting, unless it was begun.

        Raises:
            Unanswered: they cannot be read, or there is no answer for one that was begun, or for each one.
        """
        listed = await self._store.upgrade_tasks.listed(self._choice.namespace)
        turns, left = dict[str, Turn](), dict[str, str]()
        self.unanswered = {}
        for task in listed:
            if is_over(task):
                continue
            uid, cause = task["metadata"]["uid"], ""
            try:
                cause = await self._left(task, listed)
            except Unanswered as error:
                if turn_of(task).begun:
                    raise
                cause, self.unanswered[uid] = str(error), error
            if cause:
                left[uid] = cause
                if self._said.get(uid) != cause:
                    LOG.info("UpgradeTask %s/%s is left: %s", *_name(task), cause)
            else:
                turns[uid] = turn_of(task)
        self._said = left
        if self.unanswered and not turns:
            raise next(iter(self.unanswered.values()))
        return turns

    async def _left(self, task: Json, listed: Sequence[Json]) -> str:
        """The cause for which an UpgradeTask is left; empty if a run may be started for it."""
        cluster = await self._cluster(task)
        if cause := left_because(task, listed, cluster, self._choice):
            return cause
        # The service makes the task of its own ones, and judges it at each request.
        return "" if is_made(task) else await self._kept(task, wanted_by(task, cluster[1]))

    async def _cluster(self, task: Json) -> tuple[str, str]:
        """The namespace and the name of its Cluster, which its first Machine names if it does not."""
        own, spec = task["metadata"]["namespace"], task["spec"]
        cluster = spec.get("cluster") or {}
        if cluster:
            return str(cluster.get("namespace") or own), str(cluster["name"])
        owner = owner_of(task)
        for each in spec["machinesRequireUpgrade"][:1]:
            namespace = str(each.get("namespace") or (owner[0] if owner else own))
            machine = await self._api.read(machine_path(namespace, each["name"]))
            return namespace, str(machine["spec"].get("clusterName") or "") if machine else ""
        return own, ""

    async def _kept(self, task: Json, wanted: Wanted) -> str:
        """The cause for which the task of an UpgradeTask of a person cannot be claimed any more; made if there is none.

        Its limits are those that the service gives its own ones.
        """
        budget = self._choice.budget.of_machines(len(task["spec"]["machinesRequireUpgrade"]))
        where = f"configmap/{wanted.task_name}"
        try:
            kept = await self._store.by_hand(wanted, budget, self._now())
        except NotUnderstood as error:
            return str(error)
        if kept.state is TaskState.FAILED:
            clear = f"kubectl annotate -n {self._store.namespace} {where} {CLEAR}=NAME"
            return f"it has failed: {kept.reason}. Nothing is done until a person clears it: {clear}"
        if kept.state is TaskState.DONE:
            return "its run has ended as done, and has not written that it is complete."
        if kept.abort and kept.wanted.digest == wanted.digest:
            remedy = f"kubectl delete -n {self._store.namespace} {where}"
            return f"a request for the same owner has aborted it. To have it after all, {remedy}"
        return ""


def _name(task: Json) -> tuple[str, str]:
    return task["metadata"]["namespace"], task["metadata"]["name"]
