"""One turn of an elected manager to hand over, as the roll of the pods asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, combine
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.allocation import CONTRACT, restrict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.hand_over import HandOver
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.putting_back import restore
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import prove
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import observe, read_settings
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.voters import Voters

SETTINGS = "/_cluster/settings"
HANDS_OVER = Policy(hands_over=True)
RESTRICTED = {"state": "restricted", "flush": False, "batch": []}


@dataclass
class VirtualClock:
    """Time that passes when it is slept."""

    time: float = 0.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@dataclass
class Guard:
    """The lock of the run, lost after some acts."""

    acts: int = 99
    looks: list[bool] = field(default_factory=list)

    def before_look(self, _doing: str, stoppable: bool) -> None:
        self.looks.append(stoppable)

    def before_act(self) -> None:
        if not self.acts:
            raise refusal("lock_lost", "Run night no longer holds the lock.", "")
        self.acts -= 1


class Turn:
    """The proof of one batch, the hand-over, and the proof again, as the roll of the pods asks for them."""

    def __init__(self, servers: Voters, batch: str, guard: Guard | None = None, policy: Policy = HANDS_OVER) -> None:
        self.lines: list[str] = []
        clock, params = VirtualClock(), {"lock": {"run": "night"}, "wait": True}
        self.task = Task(params, clock=clock, guard=guard, voice=Lines(self.lines.append))
        self.servers, self.batch = servers, batch
        self.policy = policy
        self.hand_over = HandOver(self.task, cast(OpenSearchClient, servers), batch, policy)

    def proof(self) -> Verdict:
        state = observe(cast(OpenSearchClient, self.servers))
        proven = prove(state, [*self.servers.managers, *self.servers.others], self.batch, self.policy)
        return combine((proven, self.hand_over.judge(state)))

    def made(self) -> bool:
        assert self.proof().passed
        return self.hand_over.make(self.batch)

    def actions(self) -> list[tuple[str, str]]:
        return [(each["action"], each["target"]) for each in self.task.journal.as_result()]


def allocation(servers: Voters, state: str, *, check: bool = False, run: str = "night", **params: Any) -> Any:
    defaults = {name: option.get("default") for name, option in CONTRACT.argument_spec.items()}
    task = Task({**defaults, **RESTRICTED, "state": state, "lock": {"run": run}, **params}, check_mode=check)
    client = cast(OpenSearchClient, servers)
    act = restrict if state == "restricted" else restore
    return act(task, client, read_settings(client)), task.journal.as_result()


def codes(verdict: Verdict) -> list[tuple[str, State]]:
    return [(reason.code, reason.state) for reason in verdict.reasons]


def changing(servers: Voters) -> list[tuple[str, str]]:
    return [asked for asked in servers.asked if asked[0] != "GET"]
