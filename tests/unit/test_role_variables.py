"""A role sets variables of its own name only, and those that users and their tasks know: all of these start alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[2] / "roles"
OF_USERS = "upgrade_"
"""The start of the names of the collection's documented variables."""
OF_MEMBER_ROLES = "member_"
"""The start of the names that roles share which can take a step on the host of a member."""
HANDED_OVER = {"steps_moment", "roll_is_back", "begin_lined_up", "begin_sizes"}
"""Parameters of the role steps, which begin and finish include, of the tasks of the user in the role roll, and of the
batches of the next version of a chain, which roll has begin line up."""
SETTING = ("ansible.builtin.set_fact", "vars")


def set_in(tasks: Any) -> Iterator[str]:
    """The names of the variables that tasks set, those of their blocks included."""
    if isinstance(tasks, list):
        for each in tasks:
            yield from set_in(each)
    elif isinstance(tasks, dict):
        control = tasks.get("loop_control") or {}
        yield from (tasks["register"],) if "register" in tasks else ()
        yield from (control[name] for name in ("loop_var", "index_var") if name in control)
        for word in SETTING:
            yield from (tasks[word] if isinstance(tasks.get(word), dict) else ())
        for word in ("block", "rescue", "always"):
            yield from set_in(tasks.get(word, []))


def variables_of(role: Path) -> set[str]:
    """The names of all variables that the role sets. A name that is made by a template is that of a user's variable."""
    found = {name for file in role.glob("tasks/*.yml") for name in set_in(yaml.safe_load(file.read_text()))}
    for file in (*role.glob("vars/*.yml"), *role.glob("defaults/*.yml")):
        found |= set(yaml.safe_load(file.read_text()) or {})
    return {name for name in found if "{{" not in name}


@pytest.mark.parametrize("role", sorted(each.name for each in ROLES.iterdir()))
def test_a_role_sets_variables_of_its_own_name_only(role: str) -> None:
    own = (f"{role}_", OF_USERS, *((OF_MEMBER_ROLES,) if role.startswith(OF_MEMBER_ROLES) else ()))
    assert {name for name in variables_of(ROLES / role) if not name.startswith(own)} - HANDED_OVER == set()


def test_each_kind_of_variable_is_found() -> None:
    tasks = [
        {"register": "a", "loop_control": {"loop_var": "b"}, "vars": {"c": 1}},
        {
            "block": [{"ansible.builtin.set_fact": {"d": 1}}],
            "rescue": [{"register": "e"}],
            "always": [{"register": "f"}],
        },
    ]
    assert sorted(set_in(tasks)) == ["a", "b", "c", "d", "e", "f"]
