"""The capacity that a run adds during the upgrade, read from its plan and the results of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .registered import registered
from .run_options import GivenVariables, of_pool

ADDING, REMOVING, SETTLING = "add_capacity", "remove_capacity", "settle_capacity"
"""How the names of the results start for adding capacity, removing it, and putting it back with everything else."""


def grown(given: GivenVariables) -> Mapping[str, Any]:
    """The pool that is to have one member more, as the plan has it; empty if there is none."""
    pools = (given("begin_plan") or {}).get("pools") or ()
    return next((each for each in pools if each["name"] == given("upgrade_extra_member")), {})


def options_of_member(given: GivenVariables) -> dict[str, Any]:
    """The options of the task that gives that pool one member more."""
    return of_pool(grown(given))


def added(given: GivenVariables, variables: Mapping[str, Any]) -> str:
    """The capacity that was added during the upgrade, in words; empty once it is removed."""
    removed, come = [*done(variables, REMOVING), *done(variables, SETTLING)], done(variables, ADDING)
    gone = bool(removed) and not any(result.get("failed") for result in removed)
    return ", ".join((given("begin_plan") or {}).get("adds", ())) if come and not gone else ""


def done(variables: Mapping[str, Any], part: str) -> list[Mapping[str, Any]]:
    """The results of this part of the run, of tasks that were not skipped."""
    return [result for _name, result in registered(variables, part) if not result.get("skipped")]
