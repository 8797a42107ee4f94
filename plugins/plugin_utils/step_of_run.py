"""The step that a run takes, read from its variables, and the options that tasks get from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..module_utils.common.timestamps import now_seconds
from ..module_utils.run.steps import LIMITS, NODES, OF_PLAN, SOAKS, STARTS, Step, StepPoint, run_waits, taken
from .capacity_of_run import done, options_of_member
from .monitoring_inputs import asking_to_soak
from .run_options import GivenVariables, value_of
from .silences_of_run import SILENCES, all_silences


def steps_of(given: GivenVariables, moment: StepPoint) -> list[Step]:
    """The steps that the run takes at this point, in order. `given` returns a variable with its templates filled in."""
    plan = given("begin_plan") or {}

    def has(needed: str) -> bool:
        if needed == SILENCES:
            return bool(all_silences(given))
        if needed == SOAKS:
            return bool(asking_to_soak(given))
        return bool(plan.get(needed) if needed in OF_PLAN else value_of(needed, given))

    steps, once = given("upgrade_steps") or [], plan.get("once") or ()
    found = taken(steps, moment, has, commenced=bool(plan.get("commenced")), once=once)
    return [each for each in found if each.own or each.name not in (plan.get("skips") or ())]


def options_of_step(
    module: str, arguments: Mapping[str, Any], given: GivenVariables, variables: Mapping[str, Any]
) -> Any:
    """The options of a task of a step; empty outside of one."""
    step = given("steps_step")
    if step is None:
        return {}
    begun = given("steps_begun") or {}
    if module == "upgrade_record" and arguments.get("state") == "step":
        tried = {} if "step_state" in arguments else {"tried": _tried(step, begun, given, variables)}
        return {"step": step["name"], "wait": run_waits(given("upgrade_wait")), **tried}
    no_worse = given("upgrade_health_policy") == "no_worse"
    # The record knows the time at which the upgrade started, also in its later runs.
    since = begun.get("record", {}).get("started")
    started = since if no_worse else None
    own = options_of_member(given) if module == "extra_member" and "state" not in arguments else {}
    if module == "kubernetes_nodes":
        own = {"names": sorted({*((given("begin_plan") or {}).get(NODES) or {}).values()})}
    if module == "start_window":
        plan = given("begin_plan") or {}
        own = {"until": plan[STARTS], "deed": plan["deed"]}
    if module == "health_figures":
        own = {"step": step["name"] == "health"}
    if module == "cluster_snapshot":
        own = {"started": since or ""}
    if module in ("grown_volumes", "raised_replicas"):
        batches = (given("begin_plan") or {}).get("batches") or ()
        own = {"batch": [name for batch in batches for name in batch["members"]]}
    if module == "grown_volumes":
        own |= {"state": "present" if step["name"] == "volumes" else "followed"}
    return {"wait_timeout": step["timeout"], "baseline": started, **own}


def _tried(
    step: Mapping[str, Any], begun: Mapping[str, Any], given: GivenVariables, variables: Mapping[str, Any]
) -> Any:
    known = next(each for each in steps_of(given, StepPoint(given("steps_moment"))) if each.name == step["name"])
    before = (given("steps_noted") or {}).get("step", {})
    results = [] if known.own else done(variables, known.results)
    return {
        **{limit: step[limit] for limit in LIMITS},
        "waits": given("upgrade_step_waits") or "",
        "reasons": [reason for result in results for reason in result.get("verdict", {}).get("reasons", ())],
        "without": known.without if known.policy and given(known.policy) == "continue" else "",
        # Without an answer of the record, the step has started just now.
        "since": begun.get("at", now_seconds()),
        "failure": given("steps_tried") or {},
        "before": before if before.get("name") == step["name"] else {},
    }
