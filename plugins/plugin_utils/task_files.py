"""The files with the user's own tasks that a run includes, and why Ansible cannot read them.

Ansible reads an included file only when it gets there. If it cannot, it ends at once, without any rescue, and nothing
would be put back. So the files are read before anything is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.validation import check_type_list
from ansible.playbook.play import Play
from ansible.vars.manager import VariableManager
from jinja2.exceptions import UndefinedError

from ..module_utils.common.words import shortened
from .variables import table

STEPS = "upgrade_steps"
"""The variable with steps, each of which can name a file."""
PLACE = "The error appears to be in"
"""How the lines start in which ansible-core before 2.19 shows the place of an error in a file."""
LONGEST = 250
"""Characters of a cause that a message repeats."""


def faults_of_task_files(given: Mapping[str, Any], loader: Any) -> Iterator[str]:
    """One sentence for each file that is not there, or that Ansible cannot read as tasks. `loader` is Ansible's own."""
    holding = [name for name, each in table().items() if each.holds_tasks]
    named = {
        name: [path for path in _paths(given.get(name)) if path not in table()[name].ready]
        for name in holding
        if name != STEPS
    }
    named[STEPS] = [str(step["tasks"]) for step in steps_in(given.get(STEPS)) if step.get("tasks")]
    for name, paths in named.items():
        for path in paths:
            # A relative path starts where the playbook was started, as on a command line.
            file = os.path.realpath(os.path.expanduser(path))
            if not os.path.isfile(file):
                ready = f", or give {' or '.join(sorted(table()[name].ready))}" if table()[name].ready else ""
                yield f"{name} names {path}, and there is no file {file}: correct the path{ready}."
            elif fault := _fault(file, loader):
                yield f"{name} names {path}, which Ansible cannot read as tasks: {fault.rstrip('.')}. Correct the file."


def steps_in(value: Any) -> list[Mapping[str, Any]]:
    """The steps that a user has given; none if this is not a list of dictionaries, which another sentence reports."""
    given = value if isinstance(value, (list, tuple)) else []
    return list(given) if all(isinstance(step, Mapping) and step.get("name") for step in given) else []


def _paths(value: Any) -> list[str]:
    """The paths; none if the value is not a list, which another sentence reports."""
    try:
        return [str(path).strip() for path in check_type_list(value or [])]
    except TypeError:
        return []


def _fault(file: str, loader: Any) -> str:
    """The cause in one line, from Ansible itself; empty if there is none."""
    tasks = [{"ansible.builtin.import_tasks": file}]
    play = {"name": "Read", "hosts": "localhost", "gather_facts": False, "tasks": tasks}
    try:
        Play.load(play, variable_manager=VariableManager(loader=loader), loader=loader)
    except (AnsibleError, UndefinedError) as error:
        return shortened(" ".join(str(error.message).partition(PLACE)[0].split()), LONGEST)
    return ""
