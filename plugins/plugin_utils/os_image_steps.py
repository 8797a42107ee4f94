"""The steps of the role member_os_image: each is a state of the part `os_image` of the module upgrade_part."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ..module_utils.machines.judge.host_operations import HostStep
from .kubeadm_settings import API_SERVER, OF_CONTROL_PLANE
from .on_machine import Refused, StepFailed, TaskMachine, as_failed, ended, proven
from .os_image_agent import Agent, reached
from .os_image_answers import (
    Answers,
    NextStep,
    WantedStep,
    configuration_of,
    decided,
    fault_of,
    is_busy,
    seconds_left,
    until_of,
)
from .os_image_settings import AFTER, BEFORE, OsImage

Result = dict[str, Any]
MACHINE_UPGRADE = "stateful.upgrade.machine_upgrade"
OPERATED = "member_os_image_operated"
"""The variable with the result of the step before or after the drain."""
SHORTEST_NOTE = 120
"""Seconds within which the operation is noted, also when the time of the step is over."""


def look(machine: TaskMachine, role: OsImage) -> Result:
    """Add to the fact of the machine whether an operation is under way. Without an answer it is not known."""
    answer = Agent(machine, role).asked(until_of(1))
    return {"machine": role.machine if fault_of(answer) else {**role.machine, "under_way": is_busy(answer)}}


def prepare(machine: TaskMachine, role: OsImage) -> Result:
    """Read which image the machine is to have (`specified`), and see that its agent can be used.

    Raises:
        StepFailed: it cannot, or no image is named.
    """
    read: Result = {}
    if role.text("field"):
        step = "Read which image the machine is to have"
        read = proven(step, _on_controller(machine, role, state="specified", **_of_specification(role)))
    image, url = role.image(read), role.text("url")
    is_one = bool(role.words("command")) != bool(url) and (not url or url.startswith("https://"))
    checksum = re.match(r"(sha256:)?[0-9a-f]{64}$", str(image.get("sha256") or ""))
    if not is_one or not image.get("url") or not checksum:
        said = (
            "Give member_os_image_image (or member_os_image_field of the specification) with url and sha256 (64"
            " digits), and either member_os_image_command or member_os_image_url, which begins with https://."
            f" {role.node} was left alone."
        )
        raise StepFailed("Refuse what says no image, or not one agent", {"msg": said})
    fault = fault_of(Agent(machine, role).asked(until_of(role.interval)))
    if fault:
        said = (
            f"{role.node} was left alone, since {fault}."
            " Correct member_os_image_command or member_os_image_url, or start the agent, and run again."
        )
        raise StepFailed("Refuse an agent that cannot be used", {"msg": said})
    return {"specified": read.get("specified") or {}}


def _of_specification(role: OsImage) -> Result:
    source, management = role.text("source"), role.management
    return {
        "field": role.text("field"),
        "task_source": source,
        **({"management": management} if management else {}),
    }


def _on_controller(machine: TaskMachine, role: OsImage, **options: Any) -> Result:
    shared = {"target_version": role.version, "batch": [role.node], "lock": role.fields("lock")}
    return machine.called(MACHINE_UPGRADE, on_controller=True, **shared, **options)


@dataclass
class _Operation:
    """The operation of a step, followed to its end over restarts of the machine, which are no failure."""

    machine: TaskMachine
    role: OsImage
    step: str
    under_way: bool | None = None
    """Whether one is, as far as is known; None as long as nothing was asked."""
    _until: int = field(init=False)
    _shown: str = ""
    """The last line that was shown."""

    def carry_out(self) -> None:
        """Come to its end.

        Raises:
            StepFailed: it has failed, or something on the way.
        """
        machine, role = self.machine, self.role
        controls = machine.exists(OF_CONTROL_PLANE, API_SERVER)
        if machine.checks or (self.step == BEFORE and not controls):
            return
        self._until = until_of(role.number("timeout"))
        folder = {"path": role.text("folder"), "state": "directory", "mode": "0700"}
        machine.did("Make the folder of the stored plans", "file", **folder)
        wanted = WantedStep(
            configuration_of(role, self.step, controls=controls),
            str(role.machine.get("kubelet") or ""),
            self._until,
            role.interval,
            role.fields("retries"),
        )
        delay = 0
        while True:
            step = self._turn(wanted, delay)
            if step is HostStep.READY:
                return
            # An agent may answer before it takes a configuration (202), and is not asked at once whether it has.
            delay = role.interval if step is HostStep.SUBMIT else 0

    def _turn(self, wanted: WantedStep, delay: int) -> HostStep:
        """From a machine that is there to what follows from its answers, done."""
        machine, plan = self.machine, self.role.plan(self.step)
        timing = {"timeout": seconds_left(self._until), "sleep": self.role.interval, "delay": delay}
        waited = machine.called("ansible.builtin.wait_for_connection", on_controller=False, **timing)
        proven("Wait until the machine is there", waited)
        kept = reached(machine, ["cat", plan])
        answer = Agent(machine, self.role).asked(self._until)
        boot = reached(machine, ["cat", "/proc/sys/kernel/random/boot_id"])
        following = decided(Answers(answer, kept, boot), wanted)
        self.under_way = following.under_way
        self._note(following)
        if following.step is HostStep.FAILED:
            said = (
                f"The work {self.step.replace('_', ' the ')} has failed on {self.role.node}: {following.cause}."
                f" Correct that, remove {plan} there, and run again: the run continues at this machine."
            )
            raise StepFailed("Refuse to go on after an operation that has failed", {"msg": said})
        if following.plan:
            machine.ran("Store the plan", ["tee", plan], stdin=following.plan)
        self._show(following)
        if following.step is HostStep.SUBMIT:
            Agent(machine, self.role).submit(following.document)
        return following.step

    def _show(self, following: NextStep) -> None:
        """Show what is followed, once. An image takes minutes, in which nothing else is shown."""
        doing = "gets" if following.step is HostStep.SUBMIT else "is at work on"
        since = f", since {following.cause}" if following.cause else ""
        line = f"The agent on {self.role.node} {doing} operation {following.operation}{since}."
        if following.operation and line != self._shown:
            self.machine.say(line)
            self._shown = line

    def _note(self, following: NextStep) -> None:
        """Note the operation at the Kubernetes node until its end is read.

        A playbook that puts things back does not ask the agent. Without an answer the note stays as it is.
        """
        if not following.answered or not self.role.fields("lock"):
            return
        limit = max(SHORTEST_NOTE, seconds_left(self._until))
        options = {"state": "noted", "operation": following.operation, "wait_timeout": limit}
        result = _on_controller(self.machine, self.role, **options)
        # After a failure its cause comes first. The end of the run removes the note.
        if following.step is not HostStep.FAILED:
            proven("Note the operation at the Kubernetes node until its end is read", result)


def operate(machine: TaskMachine, role: OsImage, step: str) -> Result:
    """Come to the end of the operation of a step.

    It does not fail: the fact of the machine has to be set in any case (`machine`). `end` is what it has failed with.
    """
    operation, end = _Operation(machine, role, step), dict[str, Any]()
    try:
        operation.carry_out()
    except (StepFailed, Refused) as failure:
        end = as_failed(failure)
    except AnsibleConnectionFailure as error:
        end = {"unreachable": True, "msg": str(error)}
    except AnsibleError as error:
        end = {"failed": True, "msg": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever it is, an agent may be at work
        end = {"failed": True, "msg": f"This is a bug in stateful.upgrade: {type(error).__name__}: {error}"}
    known = {} if operation.under_way is None else {"under_way": operation.under_way}
    return {"machine": {**role.machine, **known}, "end": end}


def end(_machine: TaskMachine, role: OsImage) -> Result:
    """Fail as the step before or after the drain has, if it has.

    Raises:
        AnsibleConnectionFailure: the machine could not be reached.
    """
    found = dict((role.given(OPERATED) or {}).get("end") or {})
    if found.get("unreachable"):
        raise AnsibleConnectionFailure(str(found["msg"]))
    return found


STEPS: Mapping[str, Callable[[TaskMachine, OsImage], Result]] = {
    "asked": look,
    "prepared": prepare,
    BEFORE: lambda machine, role: operate(machine, role, BEFORE),
    AFTER: lambda machine, role: operate(machine, role, AFTER),
    "ended": end,
}


def carried_out(machine: TaskMachine, role: OsImage, state: str) -> Result:
    """The result of a step."""
    return ended(machine, lambda: STEPS[state](machine, role))
