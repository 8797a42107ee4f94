# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `upgrade_plan`: the order, and everything that stands in the way of carrying it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..common.arguments import WAIT
from ..common.errors import Refusal
from ..common.side_by_side import Part, side_by_side
from ..common.task import Contract, Outcome, Task, sentences
from ..common.verdict import State, Verdict, combine, refused
from ..kubernetes import client as kubernetes
from ..kubernetes import image_pull
from ..kubernetes.client import KubernetesClient
from ..kubernetes.record_store import list_records
from ..kubernetes.warning_events import warn
from ..opensearch import health_gate, pool_order
from ..record.pace import seconds_a_batch
from . import upgrade_lock

CONTRACT = Contract(
    argument_spec={
        **pool_order.CONTRACT.argument_spec,
        **WAIT,
        **health_gate.SELECTION,
        "wait_timeout": {"type": "int", "default": 120},
        "prove_images": {"type": "bool", "default": True},
        "image_timeout": {"type": "int", "default": 300},
        "kept_in": upgrade_lock.CONTRACT.argument_spec["kept_in"],
        "take_over": upgrade_lock.CONTRACT.argument_spec["take_over"],
        "confirmed": {"type": "str"},
        "announce": {"type": "bool", "default": False},
    },
)


def run(task: Task) -> Outcome:
    """The plan. Once confirmed only that it is still the same: the rest is asked again before each batch."""
    plan = pool_order.run(task)
    confirmed = task.params["confirmed"]
    if confirmed:
        return replace(plan, verdict=combine((plan.verdict, judge_same(str(plan.more["digest"]), confirmed))))
    found = side_by_side(task, list(_parts(task, plan)))
    verdict = combine((plan.verdict, *(outcome.verdict for outcome in found)))
    if not task.params["namespace"]:
        return replace(plan, verdict=verdict)
    client = kubernetes.connect(task.params["kubernetes"])
    if verdict.state is State.REFUSED and task.params["announce"] and not task.check_mode:
        for pool in plan.more["pools"]:
            warn(client, task.params["namespace"], pool["name"], pool["uid"], sentences(verdict))
    return replace(plan, verdict=verdict, more={**plan.more, "predicted_seconds": _predicted(task, client, plan.more)})


def _predicted(task: Task, client: KubernetesClient, more: Mapping[str, Any]) -> int | None:
    """Seconds that the batches will take, from those that were measured on this cluster; None where none was."""
    try:
        records = list_records(client, task.params["namespace"]).values()
    except Refusal:
        return None
    pace = seconds_a_batch(record for record in records if record.cluster == more["cluster_uuid"])
    return None if pace is None else round(pace * len(more["batches"]))


def judge_same(digest: str, confirmed: str) -> Verdict:
    """The plan is still the one that was agreed to."""
    if digest == confirmed:
        return Verdict()
    changed = f"The plan has changed since it was shown: it was {confirmed} and is {digest} now."
    return Verdict((refused("plan_changed", changed, "Run again, and look at the new plan."),))


def _parts(task: Task, plan: Outcome) -> Iterator[Part]:
    params, more = task.params, plan.more
    of_gate = {"moment": "before_upgrade", "members": more["members"], "batch": more["broken"]}
    # Another pass would begin its watch on a lock anew, and so never find that the holder is dead.
    of_lock = {"state": "free", "cluster_uuid": more["cluster_uuid"], "wait": True}
    yield Part(health_gate.run, _arguments(health_gate.CONTRACT, params, of_gate))
    yield Part(upgrade_lock.run, _arguments(upgrade_lock.CONTRACT, params, of_lock))
    # Without the rights that the plan misses, or with a wrong image, the throw-away pods would only repeat it.
    if params["prove_images"] and plan.verdict.passed and not params["hosts"]:
        yield from (_proof_of_image(params, pool) for pool in _changing(more))


def _proof_of_image(params: Mapping[str, Any], pool: Mapping[str, Any]) -> Part:
    own = {"pool": pool["name"], "image": pool["target_image"], "container": pool["container"]}
    # Also in one pass, at the end of which no throw-away pod may be left.
    wait = {"wait": True, "wait_timeout": params["image_timeout"], "wait_sleep": 0.25}
    return Part(image_pull.run, _arguments(image_pull.CONTRACT, params, {**own, **wait}))


def _changing(more: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pools of which a member is to be replaced."""
    going = {pool for batch in more["batches"] for pool in batch["pools"]}
    return [pool for pool in more["pools"] if pool["name"] in going]


def _arguments(contract: Contract, params: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a module: its own, those of this task, or the defaults."""
    known = {name: params.get(name, option.get("default")) for name, option in contract.argument_spec.items()}
    return {**known, **own}
