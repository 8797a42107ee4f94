"""The argument specifications of the roles, from the one table of variables.

The purpose of a role is in its own file. Its options come from the table: for a playbook those that name it, and
for a role of every run those that its tasks read.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.run.steps import KNOWN
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import PLAYBOOKS, of_every_system, table

from tests.checks.tree import ROOT
from tests.pages.module_tasks import handed_by, handed_to_system, variables_given_to

SHELLS = ("begin", "finish", "roll", "settle", "steps")
"""The roles of every run, whatever is upgraded."""
READ_BY_CODE = {
    "begin": ("plugin_utils/of_run.py", "plugin_utils/order_of_run.py"),
    "finish": ("plugin_utils/of_run.py",),
    "opensearch": ("plugin_utils/capacity_of_run.py", "plugin_utils/settling_of_run.py"),
    "restart": ("plugin_utils/settling_of_run.py",),
    "roll": ("plugin_utils/batch_of_run.py",),
    "steps": ("plugin_utils/step_of_run.py", "module_utils/run/steps.py"),
}
"""The files of plugins that read variables for the tasks of a role."""
HEAD = "---\n# The options are made by code from meta/variables (make pages).\n"
READ = re.compile(r"\b(?:target_version|upgrade_\w+)\b")
"""The name of a variable in a text."""
NAMED = re.compile(r"\bO\((\w+)\)")
IN_LINE = re.compile(r"\s*\w+: (&\w+ )?\[")
"""The beginning of a list in one line, under whose first element the next line begins."""
WIDTH = 160


class _Dumper(yaml.SafeDumper):
    """Lists of names in one line, and the elements of other lists below their name."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _sequence(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    in_line = all(not isinstance(each, (dict, list)) and " " not in str(each) for each in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=in_line)


_Dumper.add_representer(list, _sequence)


def file_of(role: str) -> Path:
    """The file of the argument specification of a role."""
    return ROOT / "roles" / role / "meta" / "argument_specs.yml"


def roles() -> list[str]:
    """The roles whose options come from the table."""
    return sorted({*SHELLS, *(each.role for each in PLAYBOOKS.values())})


def specification(role: str) -> str:
    """The argument specification of a role, as its file has it."""
    entries = yaml.safe_load(file_of(role).read_text(encoding="utf-8"))["argument_specs"]
    # Options that several entry points share are one object, to which YAML refers.
    shared: dict[str, Any] = {}
    made = {name: {**_about(entry), "options": _options(role, name)} for name, entry in entries.items()}
    for entry in made.values():
        entry["options"] = {
            name: shared.setdefault(repr((name, each)), each) for name, each in entry["options"].items()
        }
    text = yaml.dump({"argument_specs": made}, Dumper=_Dumper, sort_keys=False, width=math.inf, allow_unicode=True)
    return HEAD + "".join(f"{wrapped(line)}\n" for line in text.splitlines())


def wrapped(line: str) -> str:
    """A line of YAML with its text in lines of WIDTH at the most. PyYAML breaks lines behind the width alone."""
    opened = IN_LINE.match(line)
    indent = " " * (len(opened[0]) if opened else len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _about(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "options"}


def _options(role: str, entry: str) -> dict[str, Any]:
    read = read_by(role) if role in SHELLS else frozenset()
    place = role if role in SHELLS else playbook_of(role, entry)
    shown = [each for each in table().values() if place in each.playbooks or (each.name in read and not each.result)]
    found = {each.name: _linked(each.specification(place), {one.name for one in shown}) for each in shown}
    return dict(sorted(found.items(), key=lambda item: (not item[1].get("required"), item[0])))


def _linked(option: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """The option with links to those options alone that are in the same specification."""
    said = option["description"]
    texts = [
        NAMED.sub(lambda found: found[0] if found[1] in known else f"C({found[1]})", each) for each in _listed(said)
    ]
    return {**option, "description": texts[0] if isinstance(said, str) else texts}


def _listed(said: str | list[str]) -> list[str]:
    return [said] if isinstance(said, str) else said


def playbook_of(role: str, entry: str) -> str:
    """The playbook that an entry point of a role is for."""
    (found,) = (name for name, each in PLAYBOOKS.items() if (each.role, each.entry) == (role, entry))
    return found


@cache
def texts(role: str) -> list[str]:
    """The role's tasks, templates and variables, without comments and without the names of modules."""
    paths = (each for each in (ROOT / "roles" / role).rglob("*") if each.parent.name in {"tasks", "templates", "vars"})
    left_out = re.compile(r"^\s*#.*$|\bstateful\.upgrade\.\w+", re.MULTILINE)
    return [left_out.sub("", each.read_text("utf-8")) for each in sorted(paths)]


def named_in(role: str) -> frozenset[str]:
    """The names of the variables that a role reads by name."""
    return frozenset(name for text in texts(role) for name in READ.findall(text))


@cache
def read_by(role: str) -> frozenset[str]:
    """The variables of `named_in`, and those that give an option to a task of the role, and not to every task."""
    tasks = sorted((ROOT / "roles" / role / "tasks").glob("*.yml"))
    given = {name for path in tasks for name, *_option in handed_by(path)}
    given |= {name for name, *_option in handed_to_system(role)}
    given |= {
        name for each in KNOWN if role == "steps" and each.part for name in variables_given_to(each.part, {}).values()
    } & {each.name for each in of_every_system()}
    given = {name for name in given if not table()[name].shared}
    code = [(ROOT / "plugins" / name).read_text() for name in READ_BY_CODE.get(role, ())]
    by_name = {name for text in code for name in READ.findall(text) if name in table()}
    by_column = frozenset(each.name for each in of_every_system() if each.holds_tasks)
    return (
        named_in(role) | given | by_name | (by_column if any("holds_tasks" in text for text in code) else frozenset())
    )
