"""The options of tasks that put back what runs have changed: at the end of a run, and without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .hosts_of_run import texts_in
from .of_run import OF_HOSTS, Run
from .run_options import GROUPS, GivenVariables, value_of

STATES = ("absent", "completed", "restored")
"""The states of modules that put back."""


def options_to_settle(module: str, arguments: Mapping[str, Any], given: GivenVariables, run: Run) -> dict[str, Any]:
    """The options of a task; empty for one that puts nothing back, or only what a batch has changed.

    A run checks everything that it has changed, whatever the undo says. Without a run, settings that seem left over are
    named, and those in `upgrade_reset` are set to null.
    """
    if arguments.get("state") not in STATES or "part" in arguments:
        return {}
    if module == "shard_allocation":
        reset = None if run.plan else value_of("upgrade_reset", given) or []
        goes_on = bool(run.plan) and not run.missed and (run.failed or bool(run.waiting()))
        own = {"reset": reset, "keep_replicas": goes_on}
        return {"before": run.plan.get("settings"), "batch": run.plan.get("members", []), **own}
    if module in ("extra_machines", "pool_image"):
        return {"wait": run.waits_for_settling() if run.plan else True}
    return {"pools": _pools(run)} if module == "process_restart" else {}


def of_settling_state(arguments: Mapping[str, Any], given: GivenVariables, run: Run) -> dict[str, Any]:
    """The options of a state of a system at the end of a run, from its plan: the target, which may come from an image.
    A state that puts back also gets the members, with what their roles have noted, none without a run, and whether this
    is the playbook abort."""
    target = {"target_version": run.plan.get("target_version")}
    if arguments.get("state") not in STATES:
        return target
    noted = {option: run.hosts.noted(fact) for option, fact in OF_HOSTS.items()}
    members = list(run.plan.get("members") or ())
    return {**target, **noted, "batch": members, "aborted": given("abort_stopped") is not None}


def pools_to_settle(given: GivenVariables, run: Run) -> list[str]:
    """The pools whose update strategies are put back; an empty name means every pool that carries an undo."""
    if given(GROUPS):
        return []
    return _pools(run) or texts_in(given("upgrade_pools")) or [""]


def _pools(run: Run) -> list[str]:
    return [str(each["name"]) for each in run.plan.get("pools") or ()]
