"""A field of the specification that a machine is to have, such as the image of its operating system.

An UpgradeTask has it in `newMachineSpec`. Where Cluster API starts the update it has written the new specification into
the objects of the Machine before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.errors import refusal
from ..common.task import Outcome, Task
from ..common.verdict import Verdict
from ..kubernetes.client import connect
from ..run.undo.undo import value_at
from .machine_marks import MachineMarks
from .observe.look import look
from .observe.requested_look import present_of
from .observe.state import plain
from .observe.upgrade_tasks import OBJECTS
from .requested import request_of

OPTIONS: dict[str, dict[str, Any]] = {"field": {"type": "str", "default": ""}}
"""The option of the state `specified`."""


def specified(task: Task) -> Outcome:
    """The object at the field of the machine of the batch; empty if its specification has none.

    A version on the way has none, since the objects are those of the last version.

    Raises:
        Refusal: the field is none of an object, or an object cannot be had or understood.
    """
    root, *path = str(task.params["field"]).split(".")
    if root not in OBJECTS or not path or not all(path):
        said = f"{task.params['field'] or 'An empty text'} is not a field of a specification of machines."
        raise refusal("field_unknown", said, f"Give one below {' or '.join(OBJECTS)}, such as infraMachine.spec.image.")
    found = task.ask(lambda: _found(task, root, tuple(path)))
    return Outcome(Verdict(), more={"specified": dict(found) if isinstance(found, Mapping) else {}})


def _found(task: Task, root: str, path: tuple[str, ...]) -> Any:
    if plain(str(task.params["target_version"] or "")) in map(plain, task.params["through"]):
        return None
    requested = request_of(task)
    if requested is not None and requested.wanted.get(root) is not None:
        return value_at(requested.wanted[root], path)
    marks = MachineMarks.of(task, look(connect(task.params["kubernetes"])))
    (name,) = task.params["batch"]
    machine = marks.owned.get(name) if marks is not None else None
    if marks is None or machine is None:
        return None
    return value_at(present_of(marks.api.client, machine, {root: {}})[0].get(root), path)
