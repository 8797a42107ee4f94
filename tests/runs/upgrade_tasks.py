"""Upgrades of machines that an UpgradeTask requests, and something that upgrades machines as NodeUpdates ask for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.certificates import Identity
from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, machines
from tests.runs.turns import Killed
from tests.runs.world import world
from tests.sandbox.kubeadm.process import Process
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

FROM, TO = "1.35.4", "1.36.1"
FILES = Path(__file__).parents[2] / "roles" / "machines" / "files"
EVERY = ("cp-1", "cp-2", "cp-3", "worker-1")
OWNER = {"kind": "KubeadmControlPlane", "namespace": NAMESPACE, "name": "main"}


def shipped_rights() -> list[Json]:
    """The shipped roles, bound to the user."""
    found: list[Json] = []
    for file, namespace in (("role", NAMESPACE), ("system_role", "kube-system"), ("cluster_role", "")):
        role = yaml.safe_load((FILES / f"{file}.yml").read_text(encoding="utf-8"))
        kind, name = role["kind"], role["metadata"]["name"]
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        binding = {"apiVersion": role["apiVersion"], "kind": f"{kind}Binding", "metadata": metadata}
        binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}]
        found += [{**role, "metadata": metadata}, binding]
    return found


class Tasks:
    """A cluster whose upgrades UpgradeTasks request, which are in it or in a management cluster of its own."""

    def __init__(self, found: Machines, management: Kubernetes | None = None) -> None:
        self.found, self.here = found, found.here
        definition = yaml.safe_load((FILES / "upgrade_task.yml").read_text(encoding="utf-8"))
        self.here.sandbox.apply(shipped_rights())
        place = management or self.here.sandbox.kubernetes
        self.apply, self.server, self.resources = place.apply, place.server, place.server.resources
        self.apply([definition])
        kind = self.resources.kinds.named("upgrade.stateful/v1alpha1", "UpgradeTask")
        assert kind is not None
        self.kind: Kind = kind
        self.owner = OWNER
        self.namespace = NAMESPACE
        self.management: Json = {"kubeconfig": str(self.here.sandbox.kubeconfig(USER))}
        """The connection to the management cluster."""
        self.prefix = ""
        """The start of the name of each Machine, before that of its Kubernetes node."""

    def named(self, *machines: str) -> list[Json]:
        """Machines as a task names them, by their Kubernetes nodes."""
        return [{"name": f"{self.prefix}{each}", "nodeName": each} for each in machines]

    def request(self, name: str = "next", machines: tuple[str, ...] = EVERY, **spec: Any) -> None:
        """Ask for an upgrade, as a user does with strict validation."""
        own = {"controlPlaneRef": self.owner, "newMachineSpec": {"version": f"v{TO}"}}
        whole = {**own, "machinesRequireUpgrade": self.named(*machines), **spec}
        whole = {field: value for field, value in whole.items() if value is not None}
        body = {"apiVersion": "upgrade.stateful/v1alpha1", "kind": "UpgradeTask", "metadata": {"name": name}}
        self.resources.create(self.kind, self.namespace, {**body, "spec": whole}, Writing("kubectl", strict="Strict"))

    def killed_and_run_again(self, given: dict[str, Any], number: int) -> Played:
        """The run after one that was killed behind its act of this number, a quarter of an hour later; it ends well."""
        with self.here.killing_behind(number), pytest.raises(Killed):
            self.play(given)
        self.here.later(900)
        ended = self.play(given)
        assert ended.code == 0, ended.output
        return ended

    def task(self, name: str = "next") -> Json:
        """A task as it is now."""
        return self.resources.get(self.kind, self.namespace, name)

    def phase(self, name: str = "next") -> str:
        """The phase in its status; empty before there is one."""
        return str(self.task(name).get("status", {}).get("phase", ""))

    def condition(self, kind: str, name: str = "next") -> Json:
        """One of its conditions."""
        (found,) = [each for each in self.task(name)["status"]["conditions"] if each["type"] == kind]
        return dict(found)

    def progress(self, name: str = "next") -> dict[str, str]:
        """The reason of the condition of each machine."""
        machines = self.task(name).get("status", {}).get("machines", ())
        return {each["nodeName"]: each["conditions"][0]["reason"] for each in machines}

    def variables(self, name: str = "next", **more: Any) -> dict[str, Any]:
        """The variables of a run; the version is in the request."""
        source = name if self.namespace == NAMESPACE else f"{self.namespace}/{name}"
        given = self.found.variables(TO, USER, upgrade_request=f"upgradetask/{source}", **more)
        del given["target_version"]
        return given

    def agreed(self, name: str = "next", **more: Any) -> dict[str, Any]:
        """The same with consent to the present plan."""
        given = self.variables(name, **more)
        planned = self.here.play(PLAYBOOK, given, *self.found.arguments, CHECK)
        assert planned.code == 0, planned.output
        return {**given, "upgrade_confirm": digest_in(planned)}

    def at_the_first_machine(self, act: Callable[[Tasks], None]) -> None:
        """Act once when a run has changed the first Kubernetes node."""

        def look(request: Request) -> None:
            if request.method == "PATCH" and request.path.endswith("/nodes/cp-1"):
                self.here.calling.after = lambda _request: None
                act(self)

        self.here.calling.after = look

    def play(self, given: dict[str, Any]) -> Played:
        """A run."""
        return self.here.play(PLAYBOOK, given, *self.found.arguments)


@contextmanager
def requesting(*, separate: bool = False, workers: int = 2) -> Iterator[Tasks]:
    """Three machines of the control plane, and some workers; if `separate`, the tasks are in another cluster."""
    with world() as here, machines(here, FROM, [TO], control_plane=3, workers=workers) as found:
        yield with_management(found) if separate else Tasks(found)


def with_management(found: Machines) -> Tasks:
    """A management cluster with a server of its own, which knows the user by another token."""
    with found.here.calling.lock:
        management = Kubernetes(found.here.calling.clock)
    port = found.here.calling.serve(management.server, "10.3.0.1", 6443, Identity(b"", b""))
    tasks = Tasks(found, management)
    tasks.management = {"host": port.url, "api_key": TOKENS[USER], "validate_certs": False}
    return tasks


def codes(played: Played) -> list[str]:
    """The codes of the reasons with which a playbook ended."""
    said = re.search(r'"upgrade_reasons": (\[[^\]]*\])', played.output)
    return list(json.loads(said[1])) if said else []


def abort_it(tasks: Tasks, name: str = "next") -> None:
    tasks.resources.change(tasks.kind, tasks.namespace, name, lambda item: item["spec"].update(phase="Abort"))


class Upgrader:
    """Something that upgrades machines as NodeUpdates in their own cluster ask for it. Each failure in `fails` is
    reported once."""

    def __init__(self, found: Machines) -> None:
        self.found = found
        found.here.sandbox.apply([yaml.safe_load((FILES / "node_update.yml").read_text(encoding="utf-8"))])
        self.resources = found.here.sandbox.kubernetes.server.resources
        kind = self.resources.kinds.named("upgrade.stateful/v1alpha1", "NodeUpdate")
        assert kind is not None
        self.kind: Kind = kind
        self.began: list[tuple[str, int]] = []
        self.fails: list[Json] = []
        self.hangs = False
        """It works, and does not end before it is aborted."""
        self.hung: set[str] = set()
        """The NodeUpdates whose work has hung."""
        self.deaf = False
        """It does not end then either."""
        found.here.calling.after = self.look

    def look(self, request: Request) -> None:
        """Start what is asked for, as a controller that watches."""
        if "/nodeupdates" in request.path and request.method in ("POST", "PATCH"):
            self.begin_all()

    def begin_all(self) -> None:
        """Start what is asked for."""
        for item in self.resources.store.list(self.kind):
            self._begin(item)

    def _begin(self, item: Json) -> None:
        name, spec, status = item["metadata"]["name"], item["spec"], item.get("status", {})
        if spec["phase"] == "Abort" and status.get("phase") == "InProgress" and self.hangs and not self.deaf:
            self.tell(name, phase="Aborted", observedAttempt=spec["attempt"])
        if spec["phase"] == "Abort" or status.get("observedAttempt") == spec["attempt"]:
            return
        self.began.append((name, spec["attempt"]))
        self.tell(name, phase="InProgress", observedAttempt=spec["attempt"])
        if self.hangs:
            self.hung.add(name)
            return
        if self.fails:
            self.tell(name, phase="Failed", observedAttempt=spec["attempt"], **self.fails.pop(0))
            return
        self._work(name, spec)

    def finish(self, name: str) -> None:
        """Do the work that has hung, and hang no more."""
        self.hangs = False
        self._work(name, self.resources.get(self.kind, NAMESPACE, name)["spec"])

    def _work(self, name: str, spec: Json) -> None:
        machine, version = self.found.machines[spec["nodeName"]], spec["newMachineSpec"]["version"].removeprefix("v")
        machine.packages.install("kubeadm", version, held_too=True)
        if spec["step"] == "BeforeDrain":
            argv = [
                "kubeadm",
                "upgrade",
                spec["kubeadm"],
                *(["-y", f"v{version}"] if spec["kubeadm"] == "apply" else []),
            ]
            process = Process(self.found.cluster.shared.clock, machine.commands.steps(argv, "", machine))
            self._wait(name, spec["attempt"], process)
        else:
            machine.packages.install("kubelet", version, held_too=True)
            machine.kubelet.restart(machine.written.kubelet_configuration)
            self.tell(name, phase="Ready", observedAttempt=spec["attempt"])

    def _wait(self, name: str, attempt: int, process: Process) -> None:
        if process.ended is None:
            self.found.cluster.shared.clock.later(1.0, lambda: self._wait(name, attempt, process))
        else:
            self.tell(name, phase="Failed" if process.ended.rc else "Ready", observedAttempt=attempt)

    def tell(self, name: str, **said: Any) -> None:
        """Write the status of a NodeUpdate."""
        writing = Writing("upgrader", strict="Strict", subresource="status")
        self.resources.change(self.kind, NAMESPACE, name, lambda item: item.update(status=said), writing)
