"""One container of a pod: its image, its process, its probe, its restarts and its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tests.lab.kubelet.container import FIRST_BACK_OFF, LONGEST_BACK_OFF, SOUND_AFTER, back_off
from tests.lab.kubelet.execution import Ended
from tests.lab.kubelet.status import ContainerState, Running, Terminated, Waiting
from tests.sandbox.kubernetes.kubelet import commands
from tests.sandbox.kubernetes.kubelet.needs import missing_configuration
from tests.sandbox.kubernetes.objects import Json

if TYPE_CHECKING:
    from tests.sandbox.kubernetes.kubelet.pod import PodWorker

PULL_ERROR_SHOWN = 1.0
AGAIN = 1.0
AT_ONCE = 0.05
HOLD_CHECK = 0.1
AFTER_HOOK = 2.0
"""Seconds that a kubelet leaves between SIGTERM and SIGKILL however long a hook took."""


class Container:
    """`state` is its part of the pod's status. Every later event belongs to one run, and ends with it."""

    def __init__(self, pod: PodWorker, spec: Json, policy: str, *, init: bool) -> None:
        self._pod, self.spec, self._policy, self._init = pod, spec, policy, init
        self.name: str = spec["name"]
        self.state = ContainerState(self.name, spec["image"], Waiting("ContainerCreating"))
        self._run = 0
        self._failures, self._since, self._sound = 0, 0.0, False
        self._verdicts: list[bool] = []
        self._at_rest = False
        """Whether nothing but a switch can change that it is Ready."""
        self.ended_for_good: Callable[[], None] = lambda: None

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return isinstance(self.state.state, Running)

    @property
    def over(self) -> bool:
        """Whether it has ended and will not be started again."""
        return isinstance(self.state.state, Terminated) and not self._restarts(self.state.state.exit_code)

    def begin(self) -> None:
        """Pull the image, and start."""
        self._pull(FIRST_BACK_OFF)

    def _become(self, **change: object) -> None:
        before, self.state = self.state, replace(self.state, **change)  # type: ignore[arg-type]
        if before != self.state:
            self._pod.write()

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        run = self._run
        self._pod.clock.later(seconds, lambda: action() if run == self._run else None)

    def _pull(self, delay: float) -> None:
        image, known = self.spec["image"], self._pod.images
        if image not in known:
            self._pod.report("Normal", "Pulling", f'Pulling image "{image}"')
        error = self._pod.behaviour.pull_error(image)
        if error:
            self._pull_failed(image, error, delay)
            return
        if image in known:
            self._pod.report("Normal", "Pulled", f'Container image "{image}" already present on machine')
            self._later(self._pod.durations.start, self._start)
            return

        def pulled() -> None:
            known.add(image)
            self._pod.report("Normal", "Pulled", f'Successfully pulled image "{image}"')
            self._start()

        self._later(self._pod.durations.pull + self._pod.durations.start, pulled)

    def _pull_failed(self, image: str, error: str, delay: float) -> None:
        cause = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {error}'
        message = f"rpc error: code = NotFound desc = {cause}"
        self._pod.report("Warning", "Failed", f'Failed to pull image "{image}": {message}')
        self._pod.report("Warning", "Failed", "Error: ErrImagePull")
        self._become(image=image, state=Waiting("ErrImagePull", message))

        def back_off() -> None:
            self._pod.report("Normal", "BackOff", f'Back-off pulling image "{image}"')
            self._pod.report("Warning", "Failed", "Error: ImagePullBackOff")
            text = f'Back-off pulling image "{image}": ErrImagePull: {message}'
            self._become(state=Waiting("ImagePullBackOff", text))
            self._later(delay, lambda: self._pull(min(2 * delay, LONGEST_BACK_OFF)))

        self._later(PULL_ERROR_SHOWN, back_off)

    def _start(self) -> None:
        missing = missing_configuration(self._pod.resources, self._pod.place[0], self.spec)
        if missing:
            self._pod.report("Warning", "Failed", f"Error: {missing}")
            self._become(state=Waiting("CreateContainerConfigError", missing))
            self._later(AGAIN, self._start)
            return
        identity = f"lab://{self._pod.uid}/{self.name}/{self.state.restarts}"
        self._pod.report("Normal", "Created", f"Container created: {self.name}")
        self._pod.report("Normal", "Started", f"Container started: {self.name}")
        self._verdicts, self._since = [], self._pod.clock.now()
        self._become(
            image=self.spec["image"],
            state=Running(self._pod.now()),
            container_id=identity,
            started="startupProbe" not in self.spec,
            ready=False,
        )
        self._pod.mounts.started(self.name)
        self._pod.behaviour.started(self._pod.json, self.name)
        code = self._pod.behaviour.exit_code(self._pod.json, self.name)
        if self._init or code is not None:
            message = self._pod.behaviour.message(self._pod.json, self.name)
            self._later(self._pod.durations.run, lambda: self._ended(code or 0, message))
            return
        self._watch()
        if liveness := self.spec.get("livenessProbe"):
            self._later(float(liveness.get("initialDelaySeconds", 0)) + AT_ONCE, lambda: self._live(liveness, 0))
        self.obey()

    def _watch(self) -> None:
        """Look at its readiness, for as long as it runs and that can change."""
        self._at_rest = False
        probe = self.spec.get("readinessProbe")
        self._later(float((probe or {}).get("initialDelaySeconds", 0)) + AT_ONCE, lambda: self._probe(probe))

    def _live(self, probe: Json, failures: int) -> None:
        """Look whether it lives; one that does not is ended, and started again as any other that has ended."""
        alive = self._pod.behaviour.alive(self._pod.json, self.name)
        failures = 0 if alive else failures + 1
        if not alive:
            self._pod.report("Warning", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503")
        if failures >= int(probe.get("failureThreshold", 3)):
            self._pod.report("Normal", "Killing", f"Container {self.name} failed liveness probe, will be restarted")
            self.terminate()
            return
        self._later(float(probe.get("periodSeconds", 10)), lambda: self._live(probe, failures))

    def _probe(self, probe: Json | None) -> None:
        held = self._pod.is_held
        good = not held and (probe is None or self._pod.behaviour.ready(self._pod.json, self.name))
        if not good:
            why = "the lab's switch never-ready is on" if held else "HTTP probe failed with statuscode: 503"
            self._pod.report("Warning", "Unhealthy", f"Readiness probe failed: {why}")
        self._verdicts.append(good)
        needed = int((probe or {}).get("successThreshold" if good else "failureThreshold", 1))
        # A container that is not Ready yet is so from its first failure on.
        if self._verdicts[-needed:] == [good] * needed:
            self._become(ready=good, started=True)
        self._at_rest = good and probe is None
        if not self._at_rest:
            again = float((probe or {}).get("periodSeconds", 1 if probe is None else 10))
            self._later(again, lambda: self._probe(probe))

    def obey(self) -> None:
        """Do what the switches ask for now."""
        if self._pod.place in self._pod.switches.crash_loop and self.running:
            self._later(AT_ONCE, self.kill)
        if self._pod.is_held and self.state.ready:
            self._pod.report("Warning", "Unhealthy", "Readiness probe failed: the lab's switch never-ready is on")
            self._become(ready=False)
            if self._at_rest:
                self._watch()

    def execute(self, words: Sequence[str]) -> Ended:
        """Run a command next to its process. Raises NoSuchProgram."""
        read = partial(self._pod.mounts.file, self.spec)
        inside = commands.Inside(read, self.terminate, f"{1000 + self.state.restarts} java")
        return self._pod.behaviour.execute(self._pod.json, self.name, words, inside) or commands.run(words, inside)

    def terminate(self) -> None:
        """The process gets SIGTERM from its own container; it ends, and is started again."""
        self._pod.behaviour.stopping(self._pod.json, self.name)
        takes = self._pod.behaviour.stop_seconds(self._pod.json, self.name)
        self._later(self._pod.durations.stop if takes is None else takes, lambda: self._ended(143))

    def kill(self) -> None:
        """End the process at once."""
        if self.running:
            self._ended(137)

    def _ended(self, code: int, message: str = "") -> None:
        """The process has ended; what follows is another run of it, or nothing."""
        self._sound = self._pod.clock.now() - self._since > SOUND_AFTER
        self._terminate(code, message)
        if not self._restarts(code):
            self.ended_for_good()
            return
        self._failures = 1 if self._sound else self._failures + 1
        longest = self._pod.switches.back_off.get(self._pod.place, LONGEST_BACK_OFF)
        delay = min(back_off(self._failures), longest)
        if delay:
            self._later(AT_ONCE, lambda: self._back_off(delay))
        else:
            self._later(AT_ONCE, self._again)

    def _terminate(self, code: int, message: str = "") -> None:
        self._run += 1
        started = self.state.state.started_at if isinstance(self.state.state, Running) else self._pod.now()
        reason = "Completed" if code == 0 else "Error"
        end = Terminated(code, reason, started, self._pod.now(), self.state.container_id, message)
        self._become(state=end, started=False, ready=False)
        self._pod.behaviour.stopped(self._pod.json, self.name)

    def _back_off(self, delay: float) -> None:
        namespace, pod = self._pod.place
        about = f"{self.name} in pod {pod}_{namespace}({self._pod.uid})"
        self._pod.report("Warning", "BackOff", f"Back-off restarting failed container {about}")
        text = f"back-off {delay:g}s restarting failed container={self.name} pod={pod}_{namespace}({self._pod.uid})"
        last = self.state.state
        self._become(state=Waiting("CrashLoopBackOff", text), last=last)
        self._later(delay, self._again)

    def _again(self) -> None:
        last = self.state.state if isinstance(self.state.state, Terminated) else self.state.last
        self.state = replace(self.state, last=last, restarts=self.state.restarts + 1)
        self.begin()

    def _restarts(self, code: int) -> bool:
        if self._pod.stopping:
            return False
        return self._policy == "Always" or (self._policy == "OnFailure" and code != 0)

    def lose(self) -> None:
        """The Kubernetes node has no power any more: the process is gone, and no one reports it."""
        self._run += 1
        if self.running:
            self._pod.behaviour.stopped(self._pod.json, self.name)

    def recover(self) -> None:
        """The Kubernetes node has power again: what ran before starts anew."""
        running = self.state.state
        if isinstance(running, Running):
            lost = Terminated(255, "Unknown", running.started_at, self._pod.now(), self.state.container_id)
            waiting = Waiting("ContainerCreating")
            self.state = replace(
                self.state, last=lost, restarts=self.state.restarts + 1, state=waiting, ready=False, started=False
            )
        self.begin()

    def change(self, spec: Json) -> None:
        """Take a changed description; another image restarts it."""
        changed, self.spec = spec["image"] != self.spec["image"], spec
        if not changed:
            return
        if self.running:
            self._pod.report("Normal", "Killing", f"Container {self.name} definition changed, will be restarted")
            self._pod.behaviour.stopping(self._pod.json, self.name)
            self._later(self._pod.durations.stop, lambda: self._ended(143))
        elif isinstance(self.state.state, Waiting):
            self._run += 1
            self.begin()

    def stop(self, grace: float, then: Callable[[], None]) -> None:
        """End for good, within so many seconds."""
        self._run += 1
        if not self.running:
            self._settle()
            then()
            return
        self._pod.report("Normal", "Killing", f"Stopping container {self.name}")
        self._watch()
        self._hold(self._pod.clock.now(), grace, then)

    def _hold(self, since: float, grace: float, then: Callable[[], None]) -> None:
        """Wait as long as the switch slow-stop asks for, as a preStop hook would."""
        held = self._pod.switches.slow_stop.get(self._pod.place)
        gone = self._pod.clock.now() - since
        if held is not None and gone < min(held, grace):
            self._later(min(HOLD_CHECK, grace - gone), lambda: self._hold(since, grace, then))
            return
        self._pod.behaviour.stopping(self._pod.json, self.name)
        takes = self._pod.behaviour.stop_seconds(self._pod.json, self.name)
        takes = self._pod.durations.stop if takes is None else takes
        left = max(grace - gone, AFTER_HOOK if gone else 0.0)

        def end() -> None:
            self._terminate(143 if takes <= left else 137)
            then()

        self._later(min(takes, left), end)

    def _settle(self) -> None:
        """A container that only waits counts as ended."""
        if isinstance(self.state.state, Waiting):
            message = "The container could not be located when the pod was terminated"
            now = self._pod.now()
            lost = Terminated(137, "ContainerStatusUnknown", now, now, "", message)
            self._become(state=self.state.last or lost, started=False, ready=False)
