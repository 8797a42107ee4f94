"""The module on a Cluster API in memory, by a user with the shipped Role, and runs that are killed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines import extra_machines

from tests.sandbox.kubernetes.in_process import TOKEN, InProcess
from tests.sandbox.kubernetes.kinds import ROLE_BINDINGS, ROLES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.rights import User
from tests.sandbox.machines.kinds import DELETE_FIRST
from tests.sandbox.machines.machines import MANAGEMENT, SEARCH, Machines
from tests.sandbox.web import Answer, Request

ROLE = Path(__file__).resolve().parents[5] / "roles" / "steps" / "files" / "machines_role.yml"
UNDO = "upgrade.stateful/undo"
OF_MEMBERS = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
]
"""The rights in the namespace of the members that the Role of the upgrade gives."""


class Killed(BaseException):
    """The controller is killed here."""


@dataclass
class Killing:
    """A guard that kills before one act."""

    acts_left: int

    def before_look(self, _doing: str, _stoppable: bool) -> None:
        """See `Guard`."""

    def before_act(self) -> None:
        """See `Guard`."""
        if self.acts_left == 0:
            raise Killed
        self.acts_left -= 1


@dataclass
class Connection(InProcess):
    """A connection: the controller may be killed after any of its acts, and something may happen before them."""

    acts_left: int = 1_000_000
    before_act: Callable[[Request], None] = lambda _request: None

    def answer(self, request: Request) -> Answer:
        """See `InProcess`."""
        if request.method == "PATCH":
            self.before_act(request)
        answer = super().answer(request)
        if request.method == "PATCH" and answer.status < 400:
            self.acts_left -= 1
            if self.acts_left == 0:
                raise Killed
        return answer


class Driver:
    """Runs of the module."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        machines.server.rights.users[TOKEN] = User("upgrader")
        self.grant(MANAGEMENT, yaml.safe_load(ROLE.read_text(encoding="utf-8"))["rules"])
        self.grant(SEARCH, OF_MEMBERS)
        self.api = Connection(server=machines.server, namespaces=())
        self.run = "run-1"
        self.lock = "stateful-upgrade"
        self.guard: Killing | None = None
        self.said: list[str] = []

    def grant(self, namespace: str, rules: list[Json]) -> None:
        """Give the user exactly these rights in a namespace."""
        metadata = {"name": "extra"}
        resources = self.machines.resources
        if resources.store.get(ROLES, namespace, "extra") is not None:
            resources.change(ROLES, namespace, "extra", lambda item: item.update(rules=rules))
            return
        resources.create(ROLES, namespace, {"metadata": metadata, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "extra"}
        user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "upgrader"}
        resources.create(ROLE_BINDINGS, namespace, {"metadata": metadata, "roleRef": reference, "subjects": [user]})

    def task(self, *deployments: str | Json, **given: Any) -> Json:
        """The result of one task."""
        check, diff = (bool(given.pop(name, False)) for name in ("check_mode", "diff_mode"))
        named = [{"name": each} if isinstance(each, str) else each for each in deployments]
        wanted = [{"namespace": MANAGEMENT, "extra": 1, **each} for each in named]
        lock = {"run": self.run, "name": self.lock, "kept_in": "kubernetes", "namespace": SEARCH}
        own = {"kubernetes": {}, "namespace": SEARCH, "lock": lock, "wait_timeout": 300, **given}
        params = extra_machines.CONTRACT.arguments({}, machine_deployments=wanted, **own)
        voice = Lines(self.said.append)
        task = Task(params, check, diff, voice, clock=self.machines.clock, parents=(), guard=self.guard)
        return perform(extra_machines.run, task)

    def replicas(self, deployment: str) -> int:
        """The machines that a MachineDeployment is to have."""
        return int(self.machines.deployment(deployment)["spec"]["replicas"])

    def undo(self, deployment: str) -> str:
        """The undo that a MachineDeployment carries."""
        return str(self.machines.deployment(deployment)["metadata"].get("annotations", {}).get(UNDO, ""))

    def marked(self, deployment: str) -> list[str]:
        """The machines that go first."""
        return [
            name
            for name, each in self.machines.machines(deployment).items()
            if DELETE_FIRST in each["metadata"].get("annotations", {})
        ]


def codes(result: Json) -> list[str]:
    """The codes of the reasons."""
    return [each["code"] for each in result["verdict"]["reasons"]]


def acts(result: Json) -> list[tuple[str, str]]:
    """The acts, each with its target."""
    return [(each["action"], each["target"]) for each in result["actions"]]
