"""A pool of three whose processes can be stopped while the pods stay, with the cluster that they form, and the clock.

A run can be killed at any request, before or after it was carried out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import PHASE, Process
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.process_restart import CONTRACT, carry_out
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    copy,
    identity,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

Json = dict[str, Any]
NAMES = ("data-0", "data-1", "data-2")


class Killed(BaseException):
    """The run is gone, at this very instruction."""


@dataclass
class World:
    """The Kubernetes API, the way to the processes, and the clock of the task."""

    time: float = 0.0
    version: int = 10
    stopped: list[str] = field(default_factory=list)
    """The processes that were asked to end, and were there."""
    acts: int = 0
    kill_at: int | None = None
    """The act at which the run is killed; the even ones before it is made, the odd ones after."""
    on_tick: list[Callable[[], None]] = field(default_factory=list)
    crashes: int = 0
    """The restarts of a process that ends again as soon as it was started; 0 for one that runs."""
    name: str = "scripted"
    container: str = ""
    keeps_container: bool = False
    keeps_stopped: bool = False

    def __post_init__(self) -> None:
        self.sets = {"data": objects.pool_json()}
        self.pods = {name: objects.pod_json(name, f"uid-{name}") for name in NAMES}
        self.processes = dict.fromkeys(NAMES, 1)
        self.running = set(NAMES)
        members = state_answer(NAMES, [copy("i", "data-0", primary=True), copy("i", "data-1")], elected="data-2")
        self.servers = Servers(state=members, nodes={identity(each): info(each) for each in NAMES})

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        if self.on_tick:
            self.on_tick.pop(0)()

    def make(self, carry_out: Callable[[], None]) -> None:
        """Make an act, or be killed before it or after it."""
        self.acts += 1
        if self.kill_at == 2 * (self.acts - 1):
            raise Killed
        carry_out()
        if self.kill_at == 2 * (self.acts - 1) + 1:
            raise Killed

    def list(self, path: str, label_selector: str | None = None, field_selector: str | None = None) -> Any:
        if path.endswith(("/events", "/poddisruptionbudgets")):
            return []
        return list((self.sets if path.endswith("/statefulsets") else self.pods).values())

    def patch(self, path: str, body: Any, kind: str, dry_run: bool = False) -> Json:
        """A merge patch of annotations, guarded by what was observed."""
        found = (self.sets if "/statefulsets/" in path else self.pods)[path.rpartition("/")[2]]
        metadata, wanted = found["metadata"], body["metadata"]
        if (wanted["uid"], wanted["resourceVersion"]) != (metadata["uid"], metadata["resourceVersion"]):
            raise Conflict(refused("kubernetes_conflict", "It was changed at this time.", "Run again."))

        def merge() -> None:
            self.version += 1
            metadata["resourceVersion"] = str(self.version)
            kept = {**metadata.get("annotations", {}), **wanted["annotations"]}
            metadata["annotations"] = {name: value for name, value in kept.items() if value is not None}

        if not dry_run:
            self.make(merge)
        return found

    def post(self, path: str, body: Any, dry_run: bool = False) -> Json:
        """Admission lets every pod in."""
        assert dry_run
        return dict(body)

    def log(self, namespace: str, pod: str, container: str, lines: int, previous: bool = False) -> Any:
        return [f"last words of {pod}"]

    def phases(self) -> dict[str, str]:
        """The phase of each pod that has one."""
        found = {name: pod["metadata"].get("annotations", {}).get(PHASE) for name, pod in self.pods.items()}
        return {name: phase for name, phase in found.items() if phase}

    def annotate(self, name: str, **annotations: str) -> None:
        """Annotations by a person."""
        metadata = {**self.pods, **self.sets}[name]["metadata"]
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            **{f"upgrade.stateful/{key.replace('_', '-')}": value for key, value in annotations.items()},
        }

    def look(self, pod: Pod, file: str = "") -> Process:
        running = pod.name in self.running
        return Process(running=running, identity=f"{pod.name}/{self.processes[pod.name]}" if running else "")

    def stop(self, pod: Pod, process: Process) -> None:
        name = pod.name

        def end() -> None:
            if self.look(pod).identity != process.identity:
                return
            self.stopped.append(process.identity)
            self.running.discard(name)
            del self.servers.state["nodes"][identity(name)]
            self.pods[name]["status"]["containerStatuses"] = [objects.terminated(143, "Error", self._restarts(name))]
            self.ready(name, ready=False)
            crashes = [lambda: self._crash(name)] * self.crashes
            self.on_tick += [*crashes, lambda: self.begin(name), lambda: self.joined(name)]

        self.make(end)

    def start(self, pod: Pod, expected: str) -> None:
        """The kubelet starts it by itself."""

    def _restarts(self, name: str) -> int:
        (status,) = self.pods[name]["status"]["containerStatuses"]
        return int(status["restartCount"])

    def ready(self, name: str, ready: bool) -> None:
        self.pods[name]["status"]["conditions"][0]["status"] = "True" if ready else "False"

    def _crash(self, name: str) -> None:
        last = {"exitCode": 1, "reason": "Error"}
        status = objects.waiting("CrashLoopBackOff", "back-off", self._restarts(name) + 1, last)
        self.pods[name]["status"]["containerStatuses"] = [status]

    def begin(self, name: str) -> None:
        self.pods[name]["status"]["containerStatuses"] = [objects.running(restarts=self._restarts(name) + 1)]
        self.processes[name] += 1
        self.running.add(name)

    def joined(self, name: str) -> None:
        ephemeral = f"ephemeral-{name}-{self.processes[name]}"
        self.servers.state["nodes"][identity(name)] = {"name": name, "ephemeral_id": ephemeral}
        self.servers.nodes[identity(name)] = {**info(name), "ephemeral_id": ephemeral}
        self.ready(name, ready=True)

    def restart(self, *batch: str, check: bool = False, **params: Any) -> Json:
        """One run of the module on a batch."""
        given = {name: option.get("default") for name, option in CONTRACT.argument_spec.items()}
        own = {"namespace": "search", "pools": ["data"], "batch": list(batch), "expected": list(NAMES)}
        task = Task({**given, **own, "wait_timeout": 60, **params}, clock=self, check_mode=check)
        clients = cast(KubernetesClient, self), cast(OpenSearchClient, self.servers)
        return perform(lambda given: carry_out(given, *clients, self), task)
