"""The machine of a task whose work another program carries out, and the options that the task gets from its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .run_options import GivenVariables, OfHost, localhost

DELEGATED = "delegated"
"""The state with which a step on a machine is delegated."""
ROLE = "member_delegated_"
"""How the names of the variables start that the role for delegated work has."""


def options_of_machine(
    module: str, arguments: Mapping[str, Any], given: GivenVariables, variables: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a task that delegates a step on the machine of its host; empty for any other task."""
    if module != "machine_upgrade" or arguments.get("state") != DELEGATED:
        return {}
    run, node = localhost(variables), given("upgrade_member") or variables["inventory_hostname"]
    batch = given("upgrade_batch_host")
    # A machine is prepared before its batch has started.
    fit = OfHost(variables, batch).get("machines_roll_fit") if batch else None
    return {
        "batch": [node],
        "course": ((fit or {}).get("kubeadm") or {}).get(node),
        # The version of a batch may be one on the way to the target.
        "target_version": given("upgrade_version") or given("target_version"),
        "lock": (run.get("begin_plan") or {}).get("lock"),
        "task_source": (run.get("begin_request") or {}).get("source"),
        "retries": given(f"{ROLE}retries"),
        "wait_timeout": given(f"{ROLE}timeout"),
    }
