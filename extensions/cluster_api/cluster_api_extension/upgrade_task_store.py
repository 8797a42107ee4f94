"""The UpgradeTasks of a management cluster; each write is over the version that was read."""

from __future__ import annotations

import contextlib
from urllib.parse import quote

from .fields import Json
from .kubernetes_api import Conflict, KubernetesApi, NotFound, Unanswered
from .tasks import Wanted
from .upgrade_tasks import API_VERSION, MADE_BY, MAKER, PLURAL, is_aborted, outlived, superseded


class UpgradeTasks:
    """UpgradeTasks. Every method raises Unanswered where there is no answer, or no right."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def listed(self, namespace: str) -> list[Json]:
        """All of a namespace, or of all if that is empty."""
        try:
            return await self._api.listed(_path(namespace))
        except NotFound as error:
            raise Unanswered(
                "The management cluster has no definition of UpgradeTask: "
                "run kubectl apply -f roles/machines/files/upgrade_task.yml, and request it again."
            ) from error

    async def abort(self, task: Json) -> None:
        """Aborts one for another request."""
        namespace, name = task["metadata"]["namespace"], task["metadata"]["name"]
        try:
            await self._api.change(_path(namespace, name), superseded(task))
        except Conflict as error:
            raise Unanswered(
                f"The UpgradeTask {namespace}/{name} is being written by others: request it again."
            ) from error

    async def make(self, task: Json) -> Json:
        """Makes one.

        Raises:
            Conflict: there is one of this name.
        """
        return await self._api.make(_path(task["metadata"]["namespace"]), task)

    async def is_over(self, wanted: Wanted) -> bool:
        """Whether one is gone, or was aborted."""
        found = await self._api.read(_path(wanted.namespace, wanted.name))
        return found is None or found["metadata"]["uid"] != wanted.uid or is_aborted(found)

    async def sweep(self, kept: int) -> int:
        """Deletes those of the service that are complete, but for the last `kept` of each owner; gives their number."""
        try:
            listed = await self._api.listed(_path(), f"{MADE_BY}={MAKER}")
        except NotFound:
            # Without the definition there is none.
            return 0
        old = 0
        for task in outlived(listed, kept):
            metadata = task["metadata"]
            path = _path(metadata["namespace"], metadata["name"])
            # One that was changed since is looked at again by the next sweep.
            with contextlib.suppress(Conflict):
                await self._api.remove(path, metadata["resourceVersion"])
                old += 1
        return old


def _path(namespace: str = "", name: str = "") -> str:
    around = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    path = f"/apis/{API_VERSION}{around}/{PLURAL}"
    return path + (f"/{quote(name, safe='')}" if name else "")
