# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `upgrade_plan`: the order, and everything that stands in the way of carrying it out; and the
begin and the end of the run that carries it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..common.arguments import WAIT
from ..common.errors import Refusal
from ..common.side_by_side import Part, side_by_side
from ..common.task import Contract, Outcome, Task, sentences
from ..common.verdict import State, Verdict, combine
from ..engine.begin_and_end import Parts, begin, end, judge_same, part_of
from ..engine.lock import name_for
from ..engine.pace import seconds_a_batch
from ..kubernetes import client as kubernetes
from ..kubernetes.client import KubernetesClient
from ..kubernetes.record_store import list_records
from ..kubernetes.warning_events import warn
from ..opensearch import health_gate, pool_order, shard_allocation
from ..pools import image_pull
from . import upgrade_lock, upgrade_record
from .guard import under_lock

CONTRACT = Contract(
    argument_spec={
        **pool_order.CONTRACT.argument_spec,
        **WAIT,
        **health_gate.SELECTION,
        "wait_timeout": {"type": "int", "default": 120},
        "prove_images": {"type": "bool", "default": True},
        "image_timeout": {"type": "int", "default": 300},
        "announce": {"type": "bool", "default": False},
        "state": {"type": "str", "default": "planned", "choices": ["planned", "begun", "ended"]},
        "target_version": {"type": "str"},
        "confirmed": {"type": "str"},
        **{name: upgrade_lock.CONTRACT.argument_spec[name] for name in ("kept_in", "seconds", "take_over")},
        **{name: upgrade_record.CONTRACT.argument_spec[name] for name in ("event", "summary")},
        "archived": shard_allocation.CONTRACT.argument_spec["archived"],
    },
    required_if=[
        ("state", "planned", ("target_version",)),
        ("state", "begun", ("target_version", "confirmed")),
        ("state", "ended", ("event", "lock")),
    ],
    # To begin is to take the lock, and to end is to give it back.
    guarded=False,
)


SYSTEM = "opensearch"
PATIENCE = upgrade_lock.CONTRACT.argument_spec["wait_timeout"]["default"]
"""Seconds for the lock and for each API, whatever the time for the cluster to be fit."""


def run(task: Task) -> Outcome:
    """Bring the plan into the wanted state."""
    state = task.params["state"]
    if state == "planned":
        return plan(task)
    parts = Parts(_hold, under_lock, pool_order.run, _put_back, _note_begin, _note_end, _release)
    return {"begun": begin, "ended": end}[state](task, parts, PATIENCE)


def _hold(task: Task) -> Outcome:
    return part_of(task, upgrade_lock.CONTRACT, upgrade_lock.run, state="held", lock=None)


def _release(task: Task) -> Outcome:
    return part_of(replace(task, guard=None), upgrade_lock.CONTRACT, upgrade_lock.run, state="released")


def _put_back(task: Task) -> Outcome:
    return part_of(task, shard_allocation.CONTRACT, shard_allocation.run, state="restored", members=[])


def _note_begin(task: Task, again: Outcome) -> Outcome:
    return _record(task, state="begun", plan={**again.more, "before": again.before, "system": SYSTEM})


def _note_end(task: Task) -> Outcome:
    return _record(task, state="ended")


def _record(task: Task, **own: Any) -> Outcome:
    """Note it in the record; there is none where the members are on plain hosts."""
    if not task.params["namespace"]:
        return Outcome(Verdict())
    return part_of(task, upgrade_record.CONTRACT, upgrade_record.run, members=[], **own)


def plan(task: Task) -> Outcome:
    """The plan, and what stands in its way; nothing is changed."""
    order = pool_order.run(task)
    found = side_by_side(task, list(_parts(task, order)))
    confirmed, digest = task.params["confirmed"], str(order.more["digest"])
    same = judge_same(digest, confirmed) if confirmed else Verdict()
    verdict = combine((order.verdict, *(outcome.verdict for outcome in found), same))
    if not task.params["namespace"]:
        return replace(order, verdict=verdict)
    client = kubernetes.connect(task.params["kubernetes"])
    if verdict.state is State.REFUSED and task.params["announce"] and not task.check_mode:
        for pool in order.more["pools"]:
            warn(client, task.params["namespace"], pool["name"], pool["uid"], sentences(verdict))
    return replace(
        order, verdict=verdict, more={**order.more, "predicted_seconds": _predicted(task, client, order.more)}
    )


def _predicted(task: Task, client: KubernetesClient, more: Mapping[str, Any]) -> int | None:
    """Seconds that the batches will take, from those that were measured on this cluster; None where none was."""
    try:
        records = list_records(client, task.params["namespace"]).values()
    except Refusal:
        return None
    pace = seconds_a_batch(record for record in records if record.cluster == more["cluster_uuid"])
    return None if pace is None else round(pace * len(more["batches"]))


def _parts(task: Task, order: Outcome) -> Iterator[Part]:
    params, more = task.params, order.more
    # Whoever plans wants to know within that time, however much advances.
    of_gate = {"moment": "before_upgrade", "members": more["members"], "batch": more["broken"]}
    of_gate["wait_limit"] = params["wait_timeout"]
    # Another pass would begin its watch on a lock anew, and so never find that the holder is dead.
    of_lock = {"state": "free", "lock": _own_lock(params, more), "cluster_uuid": more["cluster_uuid"], "wait": True}
    yield Part(health_gate.run, health_gate.CONTRACT.arguments(params, **of_gate))
    yield Part(upgrade_lock.run, upgrade_lock.CONTRACT.arguments(params, **of_lock))
    # Without the rights that the plan misses, or with a wrong image, the throw-away pods would only repeat it.
    if params["prove_images"] and order.verdict.passed and not params["hosts"]:
        yield from (_proof_of_image(params, pool) for pool in _changing(more))


def _own_lock(params: Mapping[str, Any], more: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The lock of this run, where it is that of this cluster: another cluster's says nothing."""
    lock = params["lock"]
    return lock if lock and lock["name"] == name_for(more["cluster_uuid"]) else None


def _proof_of_image(params: Mapping[str, Any], pool: Mapping[str, Any]) -> Part:
    own = {"pool": pool["name"], "image": pool["target_image"], "container": pool["container"]}
    # Also in one pass, at the end of which no throw-away pod may be left.
    wait = {"wait": True, "wait_timeout": params["image_timeout"], "wait_sleep": 0.25}
    return Part(image_pull.run, image_pull.CONTRACT.arguments(params, **own, **wait))


def _changing(more: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pools of which a member is to be replaced."""
    going = {pool for batch in more["batches"] for pool in batch["pools"]}
    return [pool for pool in more["pools"] if pool["name"] in going]
