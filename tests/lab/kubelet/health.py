"""The health of one started container: its probes in a loop, and what follows from them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from tests.lab.api import Json
from tests.lab.kubelet.grace import Grace
from tests.lab.kubelet.place import PodPlace
from tests.lab.kubelet.probes import Prober, tally_of
from tests.lab.kubelet.status import ContainerState

DEFAULT_GRACE = 30.0


class Probed(Protocol):
    """The part of a container that the probes use."""

    name: str
    spec: Json
    state: ContainerState
    place: PodPlace

    def become(self, **change: object) -> None: ...

    async def end(self, message: str, grace: Grace) -> None: ...


class Health:
    """Runs the probes of one start of a container."""

    def __init__(self, container: Probed, prober: Prober) -> None:
        self._container = container
        self._prober = prober

    async def run(self) -> None:
        """Startup first; then readiness and liveness side by side, until cancelled."""
        spec = self._container.spec
        if "startupProbe" in spec and not await self._startup(spec["startupProbe"]):
            return
        self._container.become(started=True)
        loops = []
        if "readinessProbe" in spec:
            loops.append(self._readiness(spec["readinessProbe"]))
        else:
            loops.append(self._ready_without_probe())
        if "livenessProbe" in spec:
            loops.append(self._liveness(spec["livenessProbe"]))
        await asyncio.gather(*loops)

    async def _verdicts(self, kind: str, probe: Json) -> AsyncIterator[bool | None]:
        """Look each period; give the verdict after each look. A failure is reported as an event."""
        await asyncio.sleep(float(probe.get("initialDelaySeconds", 0)))
        tally = tally_of(probe)
        while True:
            result = await self._prober.look(probe)
            tally = tally.after(result.success)
            if not result.success:
                self._container.place.report("Warning", "Unhealthy", f"{kind} probe failed: {result.message}")
            yield tally.verdict
            await asyncio.sleep(float(probe.get("periodSeconds", 10)))

    async def _startup(self, probe: Json) -> bool:
        async for verdict in self._verdicts("Startup", probe):
            if verdict is not None:
                if not verdict:
                    await self._restart("startup", probe)
                return verdict
        return False

    async def _liveness(self, probe: Json) -> None:
        async for verdict in self._verdicts("Liveness", probe):
            if verdict is False:
                await self._restart("liveness", probe)
                return

    async def _readiness(self, probe: Json) -> None:
        async for verdict in self._verdicts("Readiness", probe):
            if verdict is not None:
                self._set_ready(verdict)

    async def _ready_without_probe(self) -> None:
        """Ready at once; looks again each second, because the switch never-ready may be set again."""
        while True:
            self._set_ready(True)
            await asyncio.sleep(1.0)

    def _set_ready(self, ready: bool) -> None:
        place = self._container.place
        held = ready and place.name in place.host.faults.never_ready
        if held:
            place.report("Warning", "Unhealthy", "Readiness probe failed: the lab's switch never-ready is on")
        self._container.become(ready=ready and not held)

    async def _restart(self, kind: str, probe: Json) -> None:
        """End the process; the container starts it again by the pod's restart policy."""
        pod_grace = self._container.place.manifest["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE)
        seconds = float(probe.get("terminationGracePeriodSeconds", pod_grace))
        message = f"Container {self._container.name} failed {kind} probe, will be restarted"
        await self._container.end(message, Grace(seconds))
