"""The results that tasks have registered. The start of a name says to which part of a run a result belongs.

The variables of a role start with its name. So the name of a result of a system starts with that of its role:
`opensearch_roll_replaced`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .run_options import SYSTEM, GivenVariables
from .variables import roles_of

OF_BATCH, OF_SETTLING = "roll_", "settle_"
SIGNS = frozenset({"failed", "verdict"})
"""A result has at least one of these fields."""


def registered(variables: Mapping[str, Any], part: str, without: Collection[str] = ()) -> list[tuple[str, Any]]:
    """The results of a part of a run with their names, in the order of their tasks; those of a loop one by one."""
    beginnings = (part, *(f"{role}_{part}" for role in roles_of(variables.get(SYSTEM))))
    # Ansible fills in the templates of a variable when its value is read.
    found = [(name, variables[name]) for name in variables if name.startswith(beginnings) and name not in without]
    whole = [(name, value) for name, value in found if isinstance(value, Mapping)]
    each = [(name, one) for name, value in whole for one in value.get("results", (value,))]
    return [(name, one) for name, one in each if isinstance(one, Mapping) and SIGNS & one.keys()]


def of_system(given: GivenVariables, name: str) -> Any:
    """A result that the role of the system has registered, or a variable of that role, by its name without that of the
    role; None if there is none."""
    found = (given(f"{role}_{name}") for role in roles_of(given(SYSTEM)))
    return next((each for each in found if each is not None), None)
