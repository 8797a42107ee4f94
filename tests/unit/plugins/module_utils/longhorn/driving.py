"""The modules on Longhorn in memory: tasks on its clock, with the real client and without a socket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract, Outcome, Task, attempt
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.entry import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn import node_engine_plan, node_engine_switch
from ansible_collections.stateful.upgrade.plugins.module_utils.run.runs import contract_of, work_of

from tests.sandbox.kubernetes.in_process import TOKEN, InProcess
from tests.sandbox.kubernetes.rights import User
from tests.sandbox.longhorn.description import QUICK, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE, SNAPSHOTS
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.longhorn.runs import leftovers, shipped_rights

ACCEPTED = ["instance_manager_replacement"]
NODES_OF_THREE = ("n1", "n2", "n3")
SPREAD = ("n1", "n2", "n3")


def three(
    *volumes: Volume,
    nodes: tuple[str, ...] = NODES_OF_THREE,
    settings: dict[str, str] | None = None,
    frontends_outlive: bool = False,
) -> Longhorn:
    """A Longhorn of some nodes with these volumes."""
    machines = tuple(Machine(name) for name in nodes)
    return Longhorn(Described(machines, volumes, settings or {}, frontends_outlive=frontends_outlive), pace=QUICK)


def outliving(*volumes: Volume, **more: Any) -> Longhorn:
    """The same where frontends outlive their instance manager, which no one has shown: for tests of other things."""
    return three(*volumes, frontends_outlive=True, **more)


class Killed(BaseException):
    """The controller is killed here."""


@dataclass
class Killing:
    """A guard that kills before one act, or has the run asked to stop from some look on."""

    acts_left: int = 1_000_000
    stopped: bool = False
    at: Callable[[], bool] = lambda: False
    """Whether it kills before the look that comes now."""

    def before_look(self, _doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        if self.at():
            raise Killed
        if self.stopped and stoppable:
            raise refusal("stopped_by_request", "Somebody asked the run to stop.", "Run again.")

    def before_act(self) -> None:
        """See `Guard`."""
        if self.acts_left == 0:
            raise Killed
        self.acts_left -= 1


class Driver:
    """The work of the modules, asked of one Longhorn."""

    def __init__(self, longhorn: Longhorn) -> None:
        self.longhorn = longhorn
        server = longhorn.kubernetes.server
        server.rights.users[TOKEN] = User("upgrader")
        longhorn.kubernetes.apply(shipped_rights("upgrader"))
        self.api = InProcess(server=server, namespaces=())
        self.said: list[str] = []
        self.run = "run-1"
        """The run that asks; empty for a task of a role author outside of a run."""
        self.lock = "stateful-upgrade"
        """The name of the lock of the run."""
        self.guard: Killing | None = None
        self.interrupted: list[str] = []
        """The refusals after an interruption, which a person has read."""

    def connect(self, _options: object) -> Any:
        """The client of the collection."""
        return self.api.client()

    def asked(self, contract: Contract, run: Callable[[Task], Outcome], given: dict[str, Any]) -> Outcome:
        check = bool(given.pop("check_mode", False))
        lock = {"run": self.run, "name": self.lock, "kept_in": "kubernetes", "namespace": NAMESPACE}
        held = {"lock": lock} if self.run else {}
        params = contract.arguments({"kubernetes": {}, "opensearch": {}, **held, **given})
        task = Task(
            params, check, voice=Lines(self.said.append), clock=self.longhorn.clock, parents=(), guard=self.guard
        )
        return attempt(run, task)

    def switch(self, *nodes: str, **more: Any) -> Outcome:
        """The module node_engine_switch."""
        given = {"nodes": list(nodes), "accept_unverified": ACCEPTED, "wait_timeout": 120, "wait_sleep": 2.0, **more}
        return self.asked(node_engine_switch.CONTRACT, node_engine_switch.run, given)

    def killed_before(self, acts: int, **more: Any) -> bool:
        """Whether a run was killed before this act of the switch of the first node, which succeeds otherwise."""
        self.guard = Killing(acts)
        try:
            assert self.switch("n1", **more).verdict.passed
        except Killed:
            return True
        return False

    def plan(self, **more: Any) -> Outcome:
        """The module node_engine_plan."""
        system = node_engine_plan.SYSTEM
        given = {"target_version": "v1.12.0", "accept_unverified": ACCEPTED, "wait_timeout": 60, **more}
        return self.asked(contract_of(system), work_of(system), given)

    def clean_up(self, **more: Any) -> Outcome:
        """The end of a run that has completed, before it is recorded."""
        system = node_engine_plan.SYSTEM
        assert system.clean_up is not None
        return self.asked(contract_of(system), system.clean_up, {"wait": True, "wait_timeout": 60, **more})

    def gate(self, moment: str, **more: Any) -> Outcome:
        """The module cluster_health_gate with the subject longhorn."""
        given = {"subject": "longhorn", "moment": moment, "wait_timeout": 60, **more}
        return self.asked(health_gate.CONTRACT, health_gate.run, given)

    def images(self) -> dict[str, str]:
        """The image of the running instance manager of each node."""
        names = [each.name for each in self.longhorn.described.machines]
        return {name: self.longhorn.manager(name)["spec"]["image"].rpartition(":")[2] for name in names}

    def manager_runs(self, node: str) -> bool:
        """Whether the instance manager of a node comes to run."""
        return self.longhorn.until(lambda: self.longhorn.manager(node)["status"].get("currentState") == "running", 600)

    def leftovers(self) -> list[str]:
        """The objects that carry an undo or a mark of a run, and the engines that are not at home."""
        return leftovers(self.longhorn.objects.all)

    def snapshots(self) -> int:
        """The number of snapshots that runs have made."""
        return sum(
            "upgrade.stateful/run" in (each["metadata"].get("labels") or {})
            for each in self.longhorn.objects.all(SNAPSHOTS)
        )
