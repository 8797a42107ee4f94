"""The steps of the role member_service: each is a state of the part `service` of the module upgrade_part.

The member is a service of systemd, or is stopped and started by commands. Its configuration is one file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .on_machine import StepFailed, TaskMachine, ended, proven
from .role_variables import RoleVariables

Result = dict[str, Any]
COPY = "ansible.builtin.copy"
CONFIGURATION = "member_configuration"
"""The fact with the configuration that is there (`present`), and the one that the plan has seen (`wanted`)."""
SEE, PLACE = "See the configuration that is there", "Place the wanted configuration"


@dataclass(frozen=True)
class Service(RoleVariables):
    """The variables of the role, each read when it is needed."""

    role: ClassVar[str] = "member_service"

    @property
    def wanted(self) -> str:
        """The configuration that is wanted; empty if the one that is there stays."""
        return self.text("content") or (self.text("rendered") if self.text("template") else "")

    @property
    def planned(self) -> str:
        """The one that the plan has seen. A template may have another content by now, which no person has agreed to."""
        seen = self.given(CONFIGURATION)
        return str(seen["wanted"]) if isinstance(seen, Mapping) and "wanted" in seen else self.wanted


def look(machine: TaskMachine, role: Service) -> Result:
    """The configuration that is there, and the wanted one, if any is wanted.

    Raises:
        StepFailed: the one that is there cannot be read.
    """
    if not role.wanted:
        return {}
    path = role.text("path")
    # A host that has none yet gets one.
    content = machine.looked(SEE, "slurp", src=path)["content"] if _seen(machine, path)["exists"] else ""
    present = base64.b64decode(content).decode(errors="replace")
    return {"configuration": {"present": present, "wanted": role.wanted}}


def install(machine: TaskMachine, role: Service) -> Result:
    """Place the wanted configuration, and keep the one that it replaces.

    Raises:
        StepFailed: that was not possible, or the file has another content since.
    """
    wanted, path = role.planned, role.text("path")
    if not wanted:
        return {}
    checksum, there = hashlib.sha256(wanted.encode()).hexdigest(), _seen(machine, path)
    if there.get("checksum") == checksum:
        return {}
    if there["exists"]:
        # Until the restart has completed, the first one that was replaced stays: it is the last one that worked.
        kept = {"dest": f"{path}.previous", "remote_src": True, "mode": "preserve", "force": False}
        _copied(machine, "Keep the previous configuration", src=path, **kept)
    owners = {"owner": there.get("pw_name"), "group": there.get("gr_name")}
    own = {"mode": there.get("mode") or role.text("mode"), **{name: value for name, value in owners.items() if value}}
    _copied(machine, PLACE, content=wanted, dest=path, follow=True, **own)
    placed = "" if machine.checks else _seen(machine, path).get("checksum")
    if placed not in ("", checksum):
        said = (
            f"The file {path} has the checksum {placed} after it was written, and the wanted one is {checksum}:"
            " something else writes this file. End that, and run again. The member is stopped."
        )
        raise StepFailed("Refuse to start the member on another configuration", {"msg": said})
    return {}


def _seen(machine: TaskMachine, path: str) -> Result:
    options = {"path": path, "checksum_algorithm": "sha256", "follow": True}
    found: Result = machine.looked(SEE, "stat", **options)["stat"]
    return found


def _copied(machine: TaskMachine, step: str, **options: Any) -> None:
    """Copy, without the difference between the contents, which may have secrets."""
    if machine.checks or proven(step, machine.called(COPY, on_controller=False, **options)).get("changed"):
        machine.changed(step)


def stop(machine: TaskMachine, role: Service) -> Result:
    """Stop the member.

    Raises:
        StepFailed: it was not stopped.
    """
    return _service(machine, role, "stop", "stopped")


def start(machine: TaskMachine, role: Service) -> Result:
    """Start the member.

    Raises:
        StepFailed: it was not started.
    """
    return _service(machine, role, "start", "started")


def _service(machine: TaskMachine, role: Service, deed: str, state: str) -> Result:
    argv = role.words(deed)
    if not argv:
        machine.did(f"{deed.capitalize()} the service", "systemd", name=role.text("name"), state=state)
        return {}
    step = f"{deed.capitalize()} the member by the given command"
    machine.ran(step, argv)
    machine.changed(step)
    return {}


def forget(machine: TaskMachine, role: Service) -> Result:
    """Remove the configuration that was replaced.

    Raises:
        StepFailed: it was not removed.
    """
    if role.wanted:
        machine.did("Forget the previous configuration", "file", path=f"{role.text('path')}.previous", state="absent")
    return {}


STEPS: Mapping[str, Callable[[TaskMachine, Service], Result]] = {
    "seen": look,
    "stopped": stop,
    "installed": install,
    "started": start,
    "forgotten": forget,
}


def carried_out(machine: TaskMachine, role: Service, state: str) -> Result:
    """The result of a step."""
    return ended(machine, lambda: STEPS[state](machine, role))
