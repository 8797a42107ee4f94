"""One pod from its first sight to its final deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from tests.lab.api import STRATEGIC, ApiError, Json
from tests.lab.kubelet import volumes
from tests.lab.kubelet.container import Container
from tests.lab.kubelet.environment import ConfigError
from tests.lab.kubelet.execution import Executor
from tests.lab.kubelet.grace import Grace
from tests.lab.kubelet.place import Host, NodePlace, PodPlace
from tests.lab.kubelet.status import PodView, Terminated, pod_status, timestamp

FORCED_GRACE = 2.0
"""Seconds for the processes of a pod that the API server no longer knows (a forced deletion)."""
DEFAULT_GRACE = 30.0
RETRY = 0.5
TERMINAL = ("Succeeded", "Failed")


def _earlier(manifest: Json, container: str) -> tuple[int, Terminated | None]:
    """Restart count and last end to begin with: a container that ran before its Kubernetes node died starts again."""
    for status in manifest.get("status", {}).get("containerStatuses", []):
        if status["name"] == container:
            running = status.get("state", {}).get("running")
            if running is None:
                return int(status["restartCount"]), None
            lost = Terminated(255, "Unknown", running["startedAt"], timestamp(), status.get("containerID", ""))
            return int(status["restartCount"]) + 1, lost
    return 0, None


class PodWorker:
    """Runs one pod. `update` and `gone` pass on what the API server says; `freeze` is the end of its node."""

    def __init__(self, host: Host, node: NodePlace, manifest: Json) -> None:
        self.place = PodPlace(host, node, manifest, self._mark_changed)
        spec = manifest["spec"]
        policy = spec.get("restartPolicy", "Always")
        self.containers = [
            Container(self.place, item, policy, *_earlier(manifest, item["name"])) for item in spec["containers"]
        ]
        before = "Never" if policy == "Never" else "OnFailure"
        self.init_containers = [Container(self.place, item, before) for item in spec.get("initContainers", [])]
        self.done = asyncio.Event()
        self._start_time = manifest.get("status", {}).get("startTime") or timestamp()
        self._known: dict[str, Json] = {item["type"]: item for item in manifest.get("status", {}).get("conditions", [])}
        self._initialized = not self.init_containers
        self._final = False
        self._gone = False
        self.frozen = False
        self._terminate = asyncio.Event()
        self._deletion = asyncio.Event()
        self._changed = asyncio.Event()
        self._grace: Grace | None = None
        self._written: Json | None = None
        self._main: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[object]] = []

    def _mark_changed(self) -> None:
        self._changed.set()

    def _note_deletion(self, manifest: Json) -> None:
        if not manifest["metadata"].get("deletionTimestamp"):
            return
        seconds = float(manifest["metadata"].get("deletionGracePeriodSeconds") or 0)
        if self._grace is None:
            self.place.note("pod-stop-requested", grace=seconds)
            self._grace = Grace(seconds)
        else:
            self._grace.shorten(seconds)
        self._deletion.set()
        self._terminate.set()

    def update(self, manifest: Json) -> None:
        """Take the pod as the API server has it now."""
        previous, self.place.manifest = self.place.manifest, manifest
        self._note_deletion(manifest)
        if manifest.get("status", {}).get("phase") in TERMINAL and not self._final:
            self._terminate.set()  # someone else ended the pod, as an eviction by the node does
        if previous["spec"] != manifest["spec"]:
            for container, spec in zip(self.containers, manifest["spec"]["containers"], strict=True):
                container.change(spec)
        self._changed.set()

    def content_changed(self, kind: str, name: str) -> None:
        """A Secret or ConfigMap of the pod's namespace has changed."""
        self._task(volumes.follow(self.place, kind, name))

    def gone(self) -> None:
        """The API server has forgotten the pod."""
        self._gone = True
        grace = self._grace = self._grace or Grace(FORCED_GRACE)
        grace.shorten(FORCED_GRACE)
        self._deletion.set()
        self._terminate.set()

    def freeze(self) -> None:
        """The Kubernetes node is dead: everything ends at once and nothing is written any more."""
        self.frozen = True
        self._kill()
        if self._main:
            self._main.cancel()

    def obey_faults(self) -> None:
        """Look at the fault switches again."""
        for container in self.containers:
            container.obey_faults()

    def executor(self, container: str) -> Executor | None:
        """Runs commands in a container; None if the container does not run."""
        return next(
            (each.executor for each in (*self.containers, *self.init_containers) if each.name == container), None
        )

    def kill(self) -> bool:
        """Kill the containers' processes; give whether any ran."""
        killed = [container.kill() for container in self.containers]
        return any(killed)

    def start(self, predecessor: PodWorker | None) -> asyncio.Task[None]:
        """Run to the end. A pod of the same name has the same address, so its processes must have ended first."""
        self._main = asyncio.create_task(self._guarded(predecessor))
        self._main.add_done_callback(lambda _task: self.done.set())
        return self._main

    async def _guarded(self, predecessor: PodWorker | None) -> None:
        try:
            if predecessor:
                await predecessor.done.wait()
            await self._run()
        except asyncio.CancelledError:
            if not self.frozen:
                raise
        finally:
            for task in self._tasks:
                task.cancel()
            self._kill()
            for container in (*self.containers, *self.init_containers):
                await container.process_ended()

    def _kill(self) -> None:
        for container in (*self.containers, *self.init_containers):
            container.kill()

    def _task(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        task: asyncio.Task[object] = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def _run(self) -> None:
        labels = self.place.manifest["metadata"].get("labels", {})
        self.place.note("pod-seen", revision=labels.get("controller-revision-hash"))
        self._note_deletion(self.place.manifest)
        self.place.host.give(self.place.directory)
        publisher = self._task(self._publish_changes())
        life = self._task(self._live())
        stop = self._task(self._terminate.wait())
        await asyncio.wait({life, stop}, return_when=asyncio.FIRST_COMPLETED)
        if life.done():
            life.result()
        await self._stop()
        life.cancel()
        await self._write_final(publisher)
        await self._deletion.wait()
        await self._delete()

    async def _live(self) -> None:
        """Volumes, then the init containers one after the other, then the containers until all have ended for good."""
        if self._terminate.is_set():
            return
        self._changed.set()
        await self._prepare_volumes()
        for container in self.init_containers:
            await container.run()
            if not container.succeeded:
                return
            container.become(ready=True)
        self._initialized = True
        self._changed.set()
        await asyncio.gather(*(container.run() for container in self.containers))

    async def _prepare_volumes(self) -> None:
        while True:
            try:
                self.place.volumes = await volumes.prepare(self.place)
            except ConfigError as error:
                self.place.report("Warning", "FailedMount", str(error))
                await asyncio.sleep(RETRY)
            else:
                return

    async def _stop(self) -> None:
        spec = self.place.manifest["spec"]
        grace = self._grace or Grace(float(spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE)))
        await asyncio.gather(*(item.stop(grace) for item in (*self.init_containers, *self.containers)))
        self.place.note("pod-stopped")

    def _view(self) -> PodView:
        return PodView(
            address=self.place.address,
            node_address=self.place.node.address,
            start_time=self._start_time,
            initialized=self._initialized,
            containers=[container.state for container in self.containers],
            init_containers=[container.state for container in self.init_containers],
            final=self._final,
        )

    async def _publish_changes(self) -> None:
        while not self._final:
            await self._changed.wait()
            self._changed.clear()
            if not await self._write():
                await asyncio.sleep(RETRY)
                self._changed.set()

    async def _write(self) -> bool:
        """Write the status if it is not what the API server has; False asks for another try."""
        status = pod_status(self._view(), self.place.manifest, self._known, timestamp())
        if status == self._written and self._seen_ready() == _ready(status["conditions"]):
            return True
        body = {"metadata": {"uid": self.place.uid}, "status": status}
        try:
            await self.place.host.api.patch(f"{self.place.path}/status", body, STRATEGIC)
        except ApiError as error:
            return error.code in (404, 409)  # the pod is gone, or another has its name: its end is on its way
        self._note_changes(status)
        self._written = status
        self._known = {item["type"]: item for item in status["conditions"]}
        return True

    def _seen_ready(self) -> str | None:
        """Ready as the API server has it: the node controller changes it when a Kubernetes node is lost."""
        return _ready(self.place.manifest.get("status", {}).get("conditions", []))

    def _note_changes(self, status: Json) -> None:
        before = self._written or {}
        if before.get("phase") != status["phase"]:
            self.place.note("pod-phase", phase=status["phase"])
        if _ready(before.get("conditions", [])) != (ready := _ready(status["conditions"])):
            self.place.note("pod-ready" if ready == "True" else "pod-unready")

    async def _write_final(self, publisher: asyncio.Task[object]) -> None:
        """The terminal phase comes before the final deletion: controllers and people may rely on that order.

        A write that is under way ends first: one that is cancelled may still reach the API server, after the last one.
        """
        for container in (*self.init_containers, *self.containers):
            container.settle()
        self._final = True
        self._changed.set()
        await publisher
        while not self._gone and not await self._write():
            await asyncio.sleep(RETRY)

    async def _delete(self) -> None:
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.place.uid}}
        while not self._gone:
            try:
                await self.place.host.api.delete(self.place.path, body)
                break
            except ApiError as error:
                if error.code in (404, 409):
                    break
            await asyncio.sleep(RETRY)
        await asyncio.to_thread(self.place.remove)
        self.place.note("pod-deleted")


def _ready(conditions: list[Json]) -> str | None:
    return next((item["status"] for item in conditions if item["type"] == "Ready"), None)
