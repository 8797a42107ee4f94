# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a restart in the module `restart_plan`: the order, its further checks, scheduling, and putting back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from ..common.errors import Refusal
from ..common.side_by_side import Part
from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine
from ..engine.begin_and_end import System, part_of
from ..kubernetes import client as kubernetes
from ..kubernetes.rights import EXECUTE, PORT_FORWARD, missing_rights
from ..opensearch import health_gate, pool_order, shard_allocation
from ..opensearch.both_sides import see
from ..opensearch.judge.pools import Pool
from ..opensearch.judge.set_pools import pool_of_set
from ..opensearch.judge.upgrade_path import target_of
from ..opensearch.observe.cluster import uuid_for
from ..opensearch.observe.look import Seen
from . import process_restart
from .by_agent import THROUGH_KUBERNETES
from .configuration_plan import plan_configuration
from .judge.phases import Marked, judge_singles, judge_words, marked, phase_of
from .judge.request import Request, judge_request, request_of
from .look import annotations_of
from .options import AGENT, CONFIGURATION
from .rights import CONFIGURING, MARKING


def _order(task: Task) -> Outcome:
    """The members that are due, in their order."""
    seen, troubles = see(replace(task, params={**task.params, "prove_images": False}))
    if seen is None:
        raise Refusal(*combine(troubles).reasons)
    words = judge_words(annotations_of(seen.sets, chain(*seen.pods.values())), task.params["annotation"])
    if not words.passed:
        raise Refusal(*words.reasons)
    marks = _marks(seen, task.params["annotation"])
    planned_configuration = plan_configuration(task, seen, marks)
    request = request_of(marks, planned_configuration.due)
    names = {mark.name for mark in marks}
    versions = {str(each.version) for each in seen.state.members.values() if each.name in names}
    target = target_of(max(versions)) if versions else target_of("0.0.0")
    params = pool_order.CONTRACT.arguments(task.params, target_version=str(target))
    given = replace(task, params={**params, "skip_checks": task.params["skip_checks"]})
    pools = tuple(_due(pool_of_set(one, seen, params, target), request) for one in seen.sets if seen.pods[one.name])
    verdict = combine((*troubles, judge_request(request, marks, versions), planned_configuration.verdict))
    drawn = pool_order.drawn_from(seen, pools, verdict)
    conditions = (request.condition, f"by {task.params['way']}", *planned_configuration.conditions)
    planned = pool_order.planned(given, drawn, target, conditions)
    batches = planned.more["batches"]
    first = list(batches[0]["members"]) if batches else []
    alone = judge_singles([mark for mark in marks if not mark.stays_stopped], first)
    return replace(planned, verdict=combine((planned.verdict, alone)), more={**planned.more, "outdated": []})


def _marks(seen: Seen, key: str) -> list[Marked]:
    return [
        marked(pod.name, pod.uid, pod.annotations, phase_of(one.annotations, key), key)
        for one in seen.sets
        for pod in seen.pods[one.name]
    ]


def _due(pool: Pool, request: Request) -> Pool:
    """The pool with its members due that are requested. A pod of an older template stays on it."""
    members = tuple(
        replace(each, outdated=False, due=each.name in request.names, under_way=each.name in request.under_way)
        for each in pool.members
    )
    return replace(pool, members=members)


def _preflight(task: Task, order: Outcome) -> Iterator[Part]:
    params, more = task.params, order.more
    of_gate = {"moment": "before_upgrade", "expected": more["members"], "batch": more["broken"]}
    of_gate |= {"wait_limit": params["wait_timeout"], "target_version": more["target_version"]}
    yield Part(health_gate.run, health_gate.CONTRACT.arguments(params, **of_gate))
    yield Part(_rights, params)


def _rights(task: Task) -> Outcome:
    client = kubernetes.connect(task.params["kubernetes"])
    params = task.params
    by_agent = PORT_FORWARD if (params["agent"] or {}).get("through", THROUGH_KUBERNETES) == THROUGH_KUBERNETES else ()
    of_way = EXECUTE if params["way"] == "kubelet" else by_agent
    rights = (*MARKING, *of_way, *(CONFIGURING if params["configuration"] else ()))
    return Outcome(task.ask(lambda: missing_rights(client, task.params["namespace"], rights)))


def _put_back(task: Task) -> Outcome:
    return part_of(task, shard_allocation.CONTRACT, shard_allocation.run, state="restored")


def _schedule(task: Task, order: Outcome) -> Outcome:
    """Mark all pods of the plan, so that a run that is killed is gone on with."""
    going: dict[str, Any] = {
        "pools": sorted({pool for batch in order.more["batches"] for pool in batch["pools"]}),
        "batch": [name for batch in order.more["batches"] for name in batch["members"]],
    }
    if not going["batch"] or task.check_mode:
        return Outcome(Verdict())
    return part_of(task, process_restart.CONTRACT, process_restart.run, state="scheduled", **going)


_PLAN = pool_order.CONTRACT.argument_spec
SYSTEM = System(
    name="restart",
    options={
        **{
            name: _PLAN[name]
            for name in (
                *("pools", "label_selector", "container", "members", "order", "batching", "zone_attribute"),
                *("max_unavailable", "hand_over"),
                *("allow_single_copy", "allow_quorum_loss", "allow_red_indices"),
            )
        },
        **health_gate.SELECTION,
        "archived": shard_allocation.CONTRACT.argument_spec["archived"],
        "annotation": process_restart.CONTRACT.argument_spec["annotation"],
        **AGENT,
        **CONFIGURATION,
        "setting_ways": {"type": "dict", "default": {}},
        "way": process_restart.CONTRACT.argument_spec["way"],
    },
    uuid=uuid_for,
    order=_order,
    preflight=_preflight,
    put_back=_put_back,
    first=_schedule,
    has_target=False,
)
