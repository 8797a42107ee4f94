"""The hold of a machine: no MachineHealthCheck replaces it from before the first work on it until its task is done."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from .documents import TASK_LABEL
from .fields import Json
from .kubernetes_api import Conflict, KubernetesApi, Unanswered
from .tasks import CLUSTER_API, Wanted

SKIP_REMEDIATION = "cluster.x-k8s.io/skip-remediation"
"""The annotation of a Machine that no MachineHealthCheck replaces, whatever the value is (`common_types.go`)."""
OURS = TASK_LABEL
"""The value by which a hold of this extension is known, so that it is put back after any end of a worker."""
TRIES = 5
"""Attempts at a Machine whose controllers write it as well."""
HEALTH, REPLACING = "HealthCheckSucceeded", ("OwnerRemediated", "ExternallyRemediated")
"""The conditions by which a MachineHealthCheck has a Machine replaced. From then on no annotation keeps it: its owner
reads these conditions alone (cluster-api 1.14, `machine_filters.go`, `IsUnhealthyAndOwnerRemediated`)."""


class MachineGone(Exception):
    """There is nothing to work on that lasts: one sentence."""


def machine_path(namespace: str, name: str) -> str:
    """The path of a Machine."""
    return f"/apis/{CLUSTER_API}/namespaces/{quote(namespace, safe='')}/machines/{quote(name, safe='')}"


class Holds:
    """The holds of one worker. Every method raises Unanswered where there is no answer, or no right."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def hold(self, wanted: Wanted) -> None:
        """Keeps a machine from being replaced. A hold that it has already, such as that of a person, stays.

        Raises:
            MachineGone: the Machine is gone, is being deleted, is another one of the same name, or is to be replaced.
        """
        _stays(await self._machine(wanted))
        await self._annotated(wanted, lambda found: found is None, OURS)
        try:
            # A MachineHealthCheck may have looked at it before it was held.
            _stays(await self._machine(wanted))
        except MachineGone:
            await self.release(wanted)
            raise

    async def release(self, wanted: Wanted) -> None:
        """Removes the hold of this extension. Any other one stays, and a Machine that is gone has none."""
        try:
            await self._annotated(wanted, lambda found: found == OURS, None)
        except MachineGone:
            return

    async def _annotated(self, wanted: Wanted, meant: Callable[[str | None], bool], value: str | None) -> None:
        for _try in range(TRIES):
            machine = await self._machine(wanted)
            metadata = machine["metadata"]
            if not meant((metadata.get("annotations") or {}).get(SKIP_REMEDIATION)):
                return
            kept = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            change = {"metadata": {**kept, "annotations": {SKIP_REMEDIATION: value}}}
            try:
                await self._api.change(machine_path(wanted.namespace, wanted.name), change)
            except Conflict:
                continue
            return
        raise Unanswered(f"The Machine {wanted.namespace}/{wanted.name} is being written by others.")

    async def _machine(self, wanted: Wanted) -> Json:
        named = f"the Machine {wanted.namespace}/{wanted.name}"
        machine = await self._api.read(machine_path(wanted.namespace, wanted.name))
        if machine is None or machine["metadata"]["uid"] != wanted.uid:
            raise MachineGone(f"{named} with the UID {wanted.uid} is gone, so nothing was started")
        if machine["metadata"].get("deletionTimestamp"):
            raise MachineGone(f"{named} is being deleted, so nothing was started")
        return machine


def _stays(machine: Json) -> None:
    """Raises MachineGone for a Machine that a MachineHealthCheck has replaced, even if its owner still waits."""
    conditions = machine.get("status", {}).get("conditions") or []
    false = {each["type"]: each for each in conditions if each["status"] == "False"}
    if HEALTH in false and any(each in false for each in REPLACING):
        metadata, cause = machine["metadata"], " ".join(str(false[HEALTH].get("message") or "").split())
        named = f"the Machine {metadata['namespace']}/{metadata['name']}"
        raise MachineGone(f"{named} is to be replaced, so nothing was started: {cause or 'it is unhealthy'}")
