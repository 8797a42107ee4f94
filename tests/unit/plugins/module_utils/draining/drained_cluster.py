"""A Kubernetes in memory whose nodes are drained by a user with the listed rights, and runs that are killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common import timestamps
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.act.draining import AT_ONCE, Draining
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.drain import DrainRules, drain
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.drain_look import ATTACHMENTS
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.rights import DRAIN, FORCED_DRAIN
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import Right

from tests.lab.namespace import probe_container, probe_set
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import MERGE
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.in_process import TOKEN, InProcess
from tests.sandbox.kubernetes.kinds import (
    BUDGETS,
    NODES,
    PODS,
)
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.rights import User
from tests.sandbox.web import Answer, Request

HERE, NODE = "search", "node-b1"
UNDO = "upgrade.stateful/undo"


class Killed(BaseException):
    """The controller is killed here."""


@dataclass
class KillingConnection(InProcess):
    """A connection at one of whose acts the controller is killed, after it was made."""

    acts_left: int = 1_000_000
    sent: list[str] = field(default_factory=list)
    """The paths of the evictions that were asked for, also in vain."""

    def answer(self, request: Request) -> Answer:
        """See `InProcess`."""
        if request.path.endswith("/eviction"):
            self.sent.append(request.path)
        answer = super().answer(request)
        if request.method != "GET" and answer.status < 400:
            self.acts_left -= 1
            if self.acts_left == 0:
                raise Killed
        return answer


class DrainedCluster:
    """Three Kubernetes nodes with a pod of the set `data` each, and drains of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kubernetes = Kubernetes(Clock())
        self.clock = self.kubernetes.clock
        monkeypatch.setattr(timestamps, "time", SimpleNamespace(time=self.clock.now))
        self.kubernetes.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HERE}}])
        self.apply(probe_set("data"))
        assert self.kubernetes.until(lambda: [self.is_ready(f"data-{number}") for number in range(3)] == [True] * 3)
        self.kubernetes.server.rights.users[TOKEN] = User("upgrader")
        self.grant((*DRAIN, *FORCED_DRAIN))
        self.api = KillingConnection(server=self.kubernetes.server, namespaces=())
        self.run = "run-1"

    def grant(self, rights: Sequence[Right]) -> None:
        """Give the user exactly these rights."""
        rules = [{"apiGroups": [each.group], "resources": [each.resource], "verbs": [each.verb]} for each in rights]
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "drain"}}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "drain"}
        user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "upgrader"}
        bound = {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [user]}
        self.kubernetes.apply([{**role, "rules": rules}, bound])

    def apply(self, item: Json) -> None:
        """Make an object in the namespace."""
        self.kubernetes.apply([{**item, "metadata": {**item["metadata"], "namespace": HERE}}])

    def budget(self, name: str = "data", **spec: Any) -> None:
        """Make a budget of the set, which lets one pod go if nothing else is given."""
        rule = {"selector": {"matchLabels": {"app": "data"}}, **(spec or {"maxUnavailable": 1})}
        self.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": rule})
        self.clock.advance(1)

    def pod(self, name: str, owner: str = "", **metadata: Any) -> None:
        """Make a pod at the Kubernetes node that is drained, of an owner of this kind if one is given."""
        if owner:
            made = self.kubernetes.ask(
                "POST", f"/apis/apps/v1/namespaces/{HERE}/{owner.lower()}s", self._owner(owner, name)
            )
            assert made.status == 201, made.body
            reference = {"apiVersion": "apps/v1", "kind": owner, "name": name, "uid": made.body["metadata"]["uid"]}
            metadata["ownerReferences"] = [{**reference, "controller": True}]
        spec = {"nodeName": NODE, "containers": [probe_container("1")], "terminationGracePeriodSeconds": 5}
        body = {"metadata": {"name": name, "labels": {"app": name}, **metadata}, "spec": spec}
        made = self.kubernetes.ask("POST", PODS.path(HERE), body)
        assert made.status == 201, made.body
        assert self.kubernetes.until(lambda: self.is_ready(name))

    @staticmethod
    def _owner(kind: str, name: str) -> Json:
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [probe_container("1")]}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

    def attach(self, name: str, volume: str, node: str = NODE, **status: Any) -> None:
        """Attach a volume to a Kubernetes node."""
        source = {"persistentVolumeName": volume}
        spec = {"attacher": "csi.example", "nodeName": node, "source": source}
        body = {"metadata": {"name": name}, "spec": spec, "status": {"attached": True, **status}}
        self.api.put_there(f"{ATTACHMENTS}/{name}", body)

    def detach(self, name: str) -> None:
        """End the attachment."""
        del self.api.objects[f"{ATTACHMENTS}/{name}"]

    def task(self, *, check_mode: bool = False, **given: Any) -> Task:
        """A task of the present run."""
        lock = {"run": self.run, "name": "stateful-upgrade", "kept_in": "kubernetes", "namespace": HERE}
        params = {"kubernetes": {}, "lock": lock, "wait": True, "wait_timeout": 120, "wait_sleep": 1.0, **given}
        return Task(params, check_mode, voice=Lines(lambda _line: None), clock=self.clock, parents=())

    def drain(self, names: Sequence[str] = (NODE,), rules: DrainRules | None = None, **given: Any) -> Json:
        """The result of one task that drains."""

        def run(task: Task) -> Outcome:
            return drain(task, self.api.client(), names, "machine_upgrade", rules)

        return perform(run, self.task(**given))

    def draining(self, at_once: int = AT_ONCE) -> tuple[Draining, Task]:
        """The acts of a task, and the task."""
        task = self.task()
        return Draining(task, self.api.client(), "machine_upgrade", at_once), task

    def is_ready(self, name: str) -> bool:
        """Whether a pod is Ready."""
        found = self.kubernetes.server.store.get(PODS, HERE, name)
        conditions = (found or {}).get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def uid(self, name: str) -> str:
        """The UID of a pod; empty without one."""
        found = self.kubernetes.server.store.get(PODS, HERE, name)
        return str(found["metadata"]["uid"]) if found else ""

    def on_node(self) -> list[str]:
        """The names of the pods at the Kubernetes node that is drained."""
        pods = self.kubernetes.server.store.each(PODS, HERE)
        return sorted(each["metadata"]["name"] for each in pods if each["spec"].get("nodeName") == NODE)

    def node(self) -> Json:
        """The Kubernetes node that is drained."""
        return self.api.objects[NODES.path("", NODE)]

    def person_sets(self, *, unschedulable: bool, **more: Any) -> None:
        """A person cordons the Kubernetes node, or uncordons it. `more` are further fields of its spec."""
        body = {"spec": {"unschedulable": unschedulable or None, **more}}
        assert self.kubernetes.ask("PATCH", NODES.path("", NODE), body, media_type=MERGE).status == 200

    def allowed(self) -> int:
        """The pods that the budget lets go now."""
        return int(self.api.objects[BUDGETS.path(HERE, "data")]["status"]["disruptionsAllowed"])


def codes(result: Json) -> list[str]:
    """The codes of the reasons."""
    return [each["code"] for each in result["verdict"]["reasons"]]


def acts(result: Json) -> list[tuple[str, str]]:
    """The acts, each with its target."""
    return [(each["action"], each["target"]) for each in result["actions"]]
