"""The pool of three whose servers are stopped and started by agents, by the rules of `supervised_process.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.by_agent import ByAgent
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.agent import (
    AgentAnswer,
    AgentClient,
    Status,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.process_restart import CONTRACT, carry_out
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import identity
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, World

Json = dict[str, Any]


@dataclass
class Agent:
    """The agent of one pod."""

    world: AgentWorld
    pod: str
    mounted: str = "a" * 64
    runs: str = "a" * 64
    """The checksum on which the running process was started."""
    running: bool = True
    stopping: bool = False
    number: int = 1
    """The count of processes that this pod has had."""
    done: list[tuple[str, str]] = field(default_factory=list)
    """The requests that were carried out."""
    reachable: bool = True

    def status(self) -> Status:
        if not self.reachable:
            raise Unreachable.because("agent_unreachable", f"The agent of {self.pod} gives no answer.", "Run again.")
        return Status(
            running=self.running,
            stopping=self.stopping,
            stopped_by_request=self.stopping or not self.running,
            pid=40 if self.running else None,
            started_at=f"moment {self.number}" if self.running else None,
            checksum=self.mounted,
            running_checksum=self.runs if self.running else None,
            exit_code=None if self.running else 143,
            ended_at=f"end {self.number}" if not self.running else None,
            last_stop=next((each for act, each in reversed(self.done) if act == "stop"), None),
            last_start=next((each for act, each in reversed(self.done) if act == "start"), None),
            log=(),
        )

    def stop(self, request: str) -> AgentAnswer:
        def carry_out() -> None:
            if ("stop", request) in self.done:
                return
            self.done.append(("stop", request))
            if self.running and not self.stopping:
                self.stopping = True
                self.world.stopped.append(f"{self.pod}/{self.number}")
                self.world.on_tick.append(self._end)

        self.world.make(carry_out)
        return AgentAnswer(changed=True, status=self.status())

    def start(self, request: str, checksum: str) -> AgentAnswer:
        def carry_out() -> None:
            if ("start", request) in self.done:
                return
            if self.running or checksum != self.mounted:
                raise Conflict.because("agent_conflict", "Another configuration is mounted.", "Look again.")
            self.done.append(("start", request))
            self.number, self.running, self.runs = self.number + 1, True, self.mounted
            self.world.started.append(f"{self.pod}/{self.number}")
            self.world.on_tick.append(self._join)

        self.world.make(carry_out)
        return AgentAnswer(changed=True, status=self.status())

    def _end(self) -> None:
        self.running = self.stopping = False
        del self.world.servers.state["nodes"][identity(self.pod)]
        self.world.ready(self.pod, ready=False)

    def _join(self) -> None:
        self.world.processes[self.pod] = self.number
        self.world.joined(self.pod)


@dataclass
class AgentWorld(World):
    """See the module. The way is the real one; only the agents are scripted."""

    started: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.agents = {name: Agent(self, name) for name in NAMES}
        for number, name in enumerate(NAMES):
            self.pods[name]["status"]["podIP"] = f"10.0.0.{number}"

    def restart(self, *batch: str, check: bool = False, **params: Any) -> Json:
        """One run of the module on a batch. Each run connects anew."""
        given = {name: option.get("default") for name, option in CONTRACT.argument_spec.items()}
        own = {"namespace": "search", "pools": ["data"], "batch": list(batch), "expected": list(NAMES), "way": "agent"}
        task = Task({**given, **own, "wait_timeout": 60, **params}, clock=self, check_mode=check)
        clients = cast(KubernetesClient, self), cast(OpenSearchClient, self.servers)
        connected = {
            f"uid-{name} {self.pods[name]['status']['podIP']}": cast(AgentClient, agent)
            for name, agent in self.agents.items()
        }
        way = ByAgent(clients[0], {}, _agents=connected)
        return perform(lambda given: carry_out(given, *clients, way), task)
