"""The agent of a machine whose operating system is an image: it writes it, restarts the machine, and runs a script.

It is slow, it fails, it restarts the machine at a bad time, it forgets, and its answers may be invalid.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tests.sandbox.kubeadm.process import Ended, Process, Steps, after
from tests.sandbox.kubeadm.upgrading import OnMachine, Shared, upgrade

if TYPE_CHECKING:
    from tests.sandbox.kubeadm.machine import Machine

AGENT, BOOT = "osagent", "/proc/sys/kernel/random/boot_id"
WRITING, RESTART = 120.0, 45.0
"""Seconds to write an image, and for a machine to come back."""
BEGUN, DONE, REMOVED = "begun", "done", "removed"
Event = tuple[str, str]
"""One of these, and the name of an operation, which is empty where all stored plans are removed."""


class Agent:
    """It carries out one operation at a time, and none of one name twice."""

    def __init__(self, shared: Shared, written: OnMachine) -> None:
        self._shared, self._written = shared, written
        self.image = ""
        """The checksum of the image that runs."""
        self.boots = 1
        self.files: dict[str, str] = {}
        """The files that were written on the machine by `tee`."""
        self.documents: list[dict[str, Any]] = []
        """The host configurations that were started, in their order."""
        self.events: list[Event] = []
        self.fails: list[dict[str, str]] = []
        """The failures of the next operations, as the agent reports them."""
        self.hangs = False
        self.forgets = False
        """Whether it knows nothing of its operation after the next restart, and does not go on with it."""
        self.silent = False
        """Whether it gives no answer that can be read."""
        self.delay = 0.0
        """Seconds after its answer until it takes a host configuration."""
        self.lies = False
        """Whether it says that it has succeeded although the machine has started with its old image."""
        self._told: dict[str, str] = {}
        self._known: set[str] = set()

    def remove_plans(self) -> None:
        """Remove the stored plans, as a person does who has corrected the cause of a failure."""
        self.files.clear()
        self.events.append((REMOVED, ""))

    @property
    def state(self) -> str:
        """The state of its last operation, as it says itself."""
        return self._told.get("state", "")

    @property
    def at_work(self) -> str:
        """The name of the operation under way, whatever the agent says; empty without one."""
        return self._told["operation"] if self.state == "Running" else ""

    def steps(self, argv: Sequence[str], stdin: str, machine: Machine) -> Steps:
        """The command of the agent."""
        if self.silent:
            return after(self._shared.pace.look, Ended(0, "Segmentation fault"))
        if argv[1] == "status":
            return after(self._shared.pace.look, Ended(0, json.dumps({**self._told, "image": self.image})))
        return self._submitted(json.loads(stdin), machine)

    def _submitted(self, document: dict[str, Any], machine: Machine) -> Steps:
        yield self._shared.pace.look
        if self._told.get("state") == "Running":
            return Ended(1, "", "another operation is at work")
        if document["operation"] not in self._known:
            self._known.add(document["operation"])
            if self.delay:
                self._shared.clock.later(self.delay, lambda: self._begin(document, machine))
            else:
                self._begin(document, machine)
        return Ended(0, "accepted")

    def _begin(self, document: dict[str, Any], machine: Machine) -> None:
        self.documents.append(document)
        self.events.append((BEGUN, document["operation"]))
        self._told = {"operation": document["operation"], "state": "Running"}
        Process(self._shared.clock, self._work(document, machine))

    def _work(self, document: dict[str, Any], machine: Machine) -> Steps:
        yield WRITING
        while (self.hangs or not machine.has_power) and machine.agent is self:
            yield WRITING
        if machine.agent is not self:
            return Ended()
        if self.fails:
            self._told |= {"state": "Failed", **self.fails.pop(0)}
            return Ended()
        version = document["kubernetesVersion"].removeprefix("v")
        machine.packages.installed["kubeadm"] = version
        if document["activate"]:
            yield from self._restart(document, machine, version)
            if self.forgets or machine.agent is not self:
                self.forgets = False
                self._told, self._known = {}, set()
                return Ended()
        for line in document["script"]:
            if line.startswith("kubeadm"):
                ended: Ended = yield from upgrade(
                    self._shared, self._written, version, version if " apply " in line else ""
                )
                if ended.rc:
                    self._told |= {"state": "Failed", "failureReason": "Script", "failureMessage": ended.stderr}
                    return Ended()
            else:
                machine.kubelet.restart(self._written.kubelet_configuration)
        self._told |= {"state": "Succeeded"}
        if not document["activate"] or self.image == document["image"]["sha256"]:
            self.events.append((DONE, document["operation"]))
        return Ended()

    def _restart(self, document: dict[str, Any], machine: Machine, version: str) -> Any:
        machine.power_off()
        yield RESTART
        if machine.agent is not self:
            return
        self.boots += 1
        if not self.lies:
            self.image = document["image"]["sha256"]
            machine.packages.installed.update(dict.fromkeys(machine.packages.installed, version))
        machine.power_on()
        yield self._shared.pace.kubelet + self._shared.pace.static_pod
