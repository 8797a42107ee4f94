"""ExternalUpgrade: all machines of one owner are requested at once, and accepted or declined. Pure: no I/O.

This is the request of the design that came before the hooks of Cluster API. Cluster API itself does not make it; it is
for a controller of your own, and is answered like the other hooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .bodies import BadBody, part, success
from .coverage import SPEC, covered
from .fields import Json
from .policy import OBJECTS, Policy
from .tasks import Task, TaskState

HOOK = "ExternalUpgrade"
MOST = 1000
"""The most machines of one request."""


def machines_of(body: Json) -> list[Json]:
    """The machines that require the upgrade, each with its current objects.

    Raises:
        BadBody: there are none, or too many.
    """
    found: Any = body.get("machinesRequireUpgrade")
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        raise BadBody("The request has no list machinesRequireUpgrade with objects.")
    if len(found) > MOST:
        raise BadBody(f"The request has more than {MOST} machines.")
    return found


def desired_of(machine: Json, body: Json) -> dict[str, Json]:
    """The objects that a machine is to have: its own, with the specs of newMachineSpec over them."""
    new = part(body, "newMachineSpec")
    made: dict[str, Json] = {}
    for name in OBJECTS:
        current = machine.get(name)
        if name == "machine" or current is not None:
            before = part(machine, name)
            spec = {**part(before, "spec"), **part(new, name)} if name in new else part(before, "spec")
            made[name] = {**before, "spec": spec}
        elif name in new:
            raise BadBody(f"The request wants another {name}, but has no current one to compare it with.")
    return made


def uncovered_in(body: Json, policy: Policy) -> list[str]:
    """The fields of all machines that the allow-list does not cover, each once."""
    names = {name: name for name in OBJECTS}
    found: dict[str, None] = {}
    for machine in machines_of(body):
        found.update(dict.fromkeys(covered(machine, desired_of(machine, body), policy, names, SPEC).uncovered))
    return list(found)


def declined(message: str) -> Json:
    """The answer that nothing is done."""
    return success(HOOK, message, result="Decline")


def accepted(tasks: Sequence[Task]) -> Json:
    """The answer that each machine has a task, with the state of all; ask again to see it."""
    states = [task.state for task in tasks]
    counts = ", ".join(f"{states.count(state)} {state.value}" for state in TaskState if state in states)
    failed = "".join(f" {task.wanted.name}: {task.reason}." for task in tasks if task.state is TaskState.FAILED)
    machines = "1 machine" if len(tasks) == 1 else f"{len(tasks)} machines"
    return success(HOOK, f"{machines}: {counts}.{failed}", result="Accept")
