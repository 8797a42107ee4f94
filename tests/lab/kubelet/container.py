"""One container of a pod: pulls its image, starts its process, restarts it, and stops it."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.lab import images
from tests.lab.api import Json
from tests.lab.kubelet import contained, environment, last_words, limits, volumes
from tests.lab.kubelet.execution import Executor
from tests.lab.kubelet.grace import Grace
from tests.lab.kubelet.health import Health
from tests.lab.kubelet.place import PodPlace
from tests.lab.kubelet.probes import Prober
from tests.lab.kubelet.status import ContainerState, Running, Terminated, Waiting, timestamp
from tests.lab.processes import Process
from tests.lab.waiting import happens

FIRST_BACK_OFF, LONGEST_BACK_OFF = 10.0, 300.0
SOUND_AFTER = 600.0
"""A container that ran this long (s) starts its back-off anew, as in the real kubelet."""
PULL_ERROR_SHOWN = 1.0
CONFIG_RETRY = 1.0
HOLD_CHECK = 0.1
AFTER_HOOK = 2.0
"""Seconds that the real kubelet leaves between SIGTERM and SIGKILL however long the preStop hook took."""


def back_off(failures: int) -> float:
    """Seconds to wait before the restart after this many ends in a row: none, then 10 doubling to 300."""
    return 0.0 if failures <= 1 else min(FIRST_BACK_OFF * 2 ** (failures - 2), LONGEST_BACK_OFF)


class Container:
    """Runs from `run` until it has ended for good; `state` is what the pod's status says about it."""

    def __init__(
        self, place: PodPlace, spec: Json, policy: str, restarts: int = 0, last: Terminated | None = None
    ) -> None:
        self.place = place
        self.spec = spec
        self.name: str = spec["name"]
        self.state = ContainerState(self.name, spec["image"], Waiting("ContainerCreating"), last, restarts)
        self._policy = policy
        self._process: Process | None = None
        self._executor: Executor | None = None
        self._group: Path | None = None
        self._stopping = asyncio.Event()
        self._failures = 0
        self._change: asyncio.Task[None] | None = None

    def become(self, **change: object) -> None:
        """Change the state, log what changed, and have the pod's status written."""
        before, self.state = self.state, replace(self.state, **change)  # type: ignore[arg-type]
        if before.state != self.state.state:
            kind = type(self.state.state).__name__.lower()
            reason = getattr(self.state.state, "reason", None)
            self.place.note(f"container-{kind}", container=self.name, reason=reason, restarts=self.state.restarts)
        if before.ready != self.state.ready:
            self.place.note("container-ready" if self.state.ready else "container-unready", container=self.name)
        if before != self.state:
            self.place.changed()

    @property
    def executor(self) -> Executor | None:
        """Runs commands next to its process; None while it has none."""
        return self._executor

    @property
    def image(self) -> str:
        return str(self.spec["image"])

    async def run(self) -> None:
        """Until the container has ended and will not be started again."""
        while not self._stopping.is_set():
            found = await self._pull()
            if found is None or not await self._start(found):
                continue
            ended = await self._until_end()
            if self._stopping.is_set() or not self._restarts(ended.exit_code):
                return
            await self._back_off(ended)

    def _restarts(self, code: int) -> bool:
        return self._policy == "Always" or (self._policy == "OnFailure" and code != 0)

    async def _pull(self) -> images.Image | None:
        """The image; while there is none, alternate between ErrImagePull and ImagePullBackOff."""
        delay = FIRST_BACK_OFF
        while not self._stopping.is_set():
            name = self.image
            if name not in self.place.node.images:
                self.place.report("Normal", "Pulling", f'Pulling image "{name}"')
            try:
                found = images.resolve(name)
            except images.ImageNotFound:
                await self._pull_failed(name, delay)
                delay = min(2 * delay, LONGEST_BACK_OFF)
                continue
            present = name in self.place.node.images
            message = f'Container image "{name}" already present on machine'
            self.place.report("Normal", "Pulled", message if present else f'Successfully pulled image "{name}"')
            self.place.node.images.add(name)
            return found
        return None

    async def _pull_failed(self, name: str, delay: float) -> None:
        cause = f'failed to pull and unpack image "{name}": failed to resolve reference "{name}": {name}: not found'
        message = f"rpc error: code = NotFound desc = {cause}"
        self.place.report("Warning", "Failed", f'Failed to pull image "{name}": {message}')
        self.place.report("Warning", "Failed", "Error: ErrImagePull")
        self.become(image=name, state=Waiting("ErrImagePull", message))
        if await happens(self._stopping, PULL_ERROR_SHOWN):
            return
        self.place.report("Normal", "BackOff", f'Back-off pulling image "{name}"')
        self.place.report("Warning", "Failed", "Error: ImagePullBackOff")
        text = f'Back-off pulling image "{name}": ErrImagePull: {message}'
        self.become(state=Waiting("ImagePullBackOff", text))
        await happens(self._stopping, delay)

    async def _start(self, image: images.Image) -> bool:
        """Start the process; gives whether it was tried, which a fault of the pod's description prevents."""
        try:
            context = await self._context()
        except environment.ConfigError as error:
            self.place.report("Warning", "Failed", f"Error: {error}")
            self.become(state=Waiting("CreateContainerConfigError", str(error)))
            await happens(self._stopping, CONFIG_RETRY)
            return False
        if self._stopping.is_set():
            return False
        launch = images.launch(image, context)
        started, number = timestamp(), self.state.restarts
        identity = f"lab://{self.place.uid}/{self.name}/{number}"
        try:
            process = self._spawn(launch, number)
        except OSError as error:
            message = f"failed to start the process {launch.argv[0]}: {error.strerror}"
            self.place.report("Warning", "Failed", f"Error: {message}")
            self.become(image=self.image, container_id=identity)
            self._ended(Terminated(128, "StartError", started, timestamp(), identity, message))
            return True
        self._process = process
        self._executor = Executor(self.place, launch, process, self._group)
        self.place.report("Normal", "Created", f"Container created: {self.name}")
        self.place.report("Normal", "Started", f"Container started: {self.name}")
        self.place.note("container-started", container=self.name, process=process.record.pid, image=self.image)
        self.become(image=self.image, state=Running(started), started=False, ready=False, container_id=identity)
        return True

    async def _context(self) -> images.ContainerContext:
        mounts = volumes.mounts(self.place, self.spec)
        env = await environment.resolve(self.place, self.spec) | volumes.variables(mounts)
        scratch = self.place.directory / "containers" / self.name
        shutil.rmtree(scratch, ignore_errors=True)
        return images.ContainerContext(
            namespace=self.place.name[0],
            pod=self.place.name[1],
            container=self.name,
            address=self.place.address,
            scratch=self.place.host.give(scratch),
            mounts=mounts,
            env=env,
            command=self._expanded("command", env),
            args=self._expanded("args", env),
            message=last_words.place_for(self.place, self.spec),
            read_only=bool(self.spec.get("securityContext", {}).get("readOnlyRootFilesystem")),
        )

    def _expanded(self, field: str, env: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(environment.expand(item, env) for item in self.spec.get(field) or [])

    def _spawn(self, launch: images.Launch, number: int) -> Process:
        path = log_path(self.place.logs, self.name, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._group = limits.confine(self.place, self.spec)
        with path.open("ab") as output:
            user = None if launch.as_lab else self.place.host.user
            name = "/".join((*self.place.name, self.name))
            return contained.start(name, launch, output, user, self._group, self.place.host.ledger)

    async def _until_end(self) -> Terminated:
        """Probe the process until it ends, and give how it ended."""
        process, executor = self._process, self._executor
        if process is None or executor is None:
            if not isinstance(self.state.state, Terminated):
                raise RuntimeError(f"container {self.name} has neither a process nor an end")
            return self.state.state
        running = self.state.state
        begun = time.monotonic()
        self.obey_faults()
        ports = {port["name"]: port["containerPort"] for port in self.spec.get("ports", []) if "name" in port}
        prober = Prober(self.place.host.probing, self.place.address, ports, executor.run)
        health = asyncio.create_task(Health(self, prober).run())
        health.add_done_callback(self._probing_ended)
        try:
            code = await process.wait()
        finally:
            health.cancel()
        self._process = self._executor = None
        self._failures = 0 if time.monotonic() - begun > SOUND_AFTER else self._failures
        started = running.started_at if isinstance(running, Running) else ""
        code = 128 - code if code < 0 else code
        reason = "Completed" if code == 0 else "Error"
        said = last_words.of(self.place, self.spec, code, log_path(self.place.logs, self.name, self.state.restarts))
        ended = self._ended(Terminated(code, reason, started, timestamp(), self.state.container_id, said))
        await self._leave_group()
        return ended

    def _probing_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self.place.note("probing-failed", container=self.name, error=repr(error))

    def _ended(self, end: Terminated) -> Terminated:
        self._failures += 1
        self.become(state=end, started=False, ready=False)
        return end

    async def _back_off(self, ended: Terminated) -> None:
        delay = min(back_off(self._failures), self.place.host.faults.back_off.get(self.place.name, LONGEST_BACK_OFF))
        if delay:
            namespace, pod = self.place.name
            about = f"{self.name} in pod {pod}_{namespace}({self.place.uid})"
            self.place.report("Warning", "BackOff", f"Back-off restarting failed container {about}")
            text = f"back-off {delay:g}s restarting failed container={self.name} pod={pod}_{namespace}"
            waiting = Waiting("CrashLoopBackOff", f"{text}({self.place.uid})")
            self.become(state=waiting, last=ended)
        await happens(self._stopping, delay)
        if not self._stopping.is_set():
            self.become(last=ended, restarts=self.state.restarts + 1)

    def obey_faults(self) -> None:
        """Do what the switches of this pod ask for now."""
        faults = self.place.host.faults
        if self.place.name in faults.crash_loop:
            self.kill()
        if self.place.name in faults.never_ready and self.state.ready:
            self.place.report("Warning", "Unhealthy", "Readiness probe failed: the lab's switch never-ready is on")
            self.become(ready=False)

    def kill(self) -> bool:
        """End the process at once, as an out-of-memory kill or a crash would; give whether one ran."""
        if self._process is None or not self._process.running:
            return False
        self._process.signal(signal.SIGKILL)
        return True

    async def process_ended(self) -> None:
        """Wait for the process, if there is one, and remove its control group unless a process has stayed in it."""
        if self._process:
            await self._process.wait()
        if self._group:
            limits.remove(self._group)

    async def _leave_group(self) -> None:
        if self._group and await limits.removed(self._group):
            self._group = None

    @property
    def succeeded(self) -> bool:
        return isinstance(self.state.state, Terminated) and self.state.state.exit_code == 0

    def change(self, spec: Json) -> None:
        """Take a changed description: another image restarts the container in its place."""
        changed, self.spec = spec["image"] != self.image, spec
        if changed and self._process and not self._stopping.is_set():
            message = f"Container {self.name} definition changed, will be restarted"
            self._change = asyncio.create_task(self.end(message, Grace(30)))

    async def end(self, message: str, grace: Grace) -> None:
        """End the process in an orderly way: preStop, SIGTERM, and SIGKILL when the grace period is over."""
        process, executor = self._process, self._executor
        if process is None or executor is None:
            return
        self.place.report("Normal", "Killing", message)
        pre_stop = self.spec.get("lifecycle", {}).get("preStop")
        if pre_stop and not await grace.covers(executor.hook(pre_stop, self.place)):
            self.place.report("Warning", "FailedPreStopHook", "PreStopHook failed: the grace period was over")
        slow = self.place.name in self.place.host.faults.slow_stop
        if slow:
            await grace.covers(self._held_by_slow_stop())
        if pre_stop or slow:
            grace.prolong(AFTER_HOOK)
        process.signal(signal.SIGTERM)
        self.place.note("container-sigterm", container=self.name)
        if not await grace.covers(process.wait()):
            self.place.note("container-sigkill", container=self.name)
            process.signal(signal.SIGKILL)
            await process.wait()

    async def _held_by_slow_stop(self) -> None:
        begun = time.monotonic()
        while time.monotonic() - begun < self.place.host.faults.slow_stop.get(self.place.name, 0.0):
            await asyncio.sleep(HOLD_CHECK)

    async def stop(self, grace: Grace) -> None:
        """Stop for good; afterwards the state is always Terminated, and a control group is gone before its pod is."""
        self._stopping.set()
        await self.end(f"Stopping container {self.name}", grace)
        await self._leave_group()

    def settle(self) -> None:
        """Once nothing runs any more: a container that waits counts as ended, like in the real kubelet."""
        if isinstance(self.state.state, Waiting):
            message = "The container could not be located when the pod was terminated"
            lost = Terminated(137, "ContainerStatusUnknown", timestamp(), timestamp(), "", message)
            self.become(state=self.state.last or lost, started=False, ready=False)


def log_path(directory: Path, container: str, number: int) -> Path:
    """The log of a container's start; `number` is its restart count then."""
    return directory / container / f"{number}.log"
