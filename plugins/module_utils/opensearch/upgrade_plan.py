"""The OpenSearch part of the module `upgrade_plan`: the order, its further checks, and putting back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..common.arguments import OTHER_KUBERNETES
from ..common.side_by_side import ParallelWork
from ..common.task import Outcome, Task, sentences
from ..common.verdict import Verdict, combine
from ..common.words import counted
from ..extra_machines import extra_machines
from ..kubernetes import client as kubernetes
from ..kubernetes.events import warn
from ..kubernetes.stateful_sets import observe_namespace
from ..pools import admission, image_pull
from ..pools.kept_sets import MISSING
from ..pools.volume_sizes import VOLUMES
from ..run.begin_and_end import Counting, System, part_of
from ..run.output.plan_text import Words
from . import (
    chain,
    cluster_snapshot,
    emptied_nodes,
    emptied_plan,
    extra_member,
    followers,
    grown_volumes,
    health_gate,
    image_plugins,
    pool_order,
    shard_allocation,
)
from .act.cluster_lock import lock_store
from .act.raising import wanted_replicas
from .both_sides import see
from .extra_room import CAPACITY_POLICY
from .gate import SELECTION
from .judge.checks import IMAGES
from .observe.client import connect
from .observe.cluster import uuid_for
from .observe.documents import count_documents
from .replica_plan import RAISES, raised_words
from .shard_allocation import RECOVERIES, settings_of_a_run
from .volume_plan import GROWS, plan_volumes, volume_words

SWITCHED = ("RollingUpdate", "OnDelete")
"""The strategy of a pool that is set to another one for the run, and that one."""
MOVED = (
    "Pool {} keeps no data over a restart, so the shards of its members are moved to other members before they go"
    " (upgrade_ephemeral)."
)


def _uuid(task: Task) -> str:
    return uuid_for(task)


def _order(task: Task) -> Outcome:
    """The order, with the members that are emptied before their batch goes, and the capacity that is added."""
    params, emptying = task.params, emptied_plan.planned_with(task)
    order = chain.run(task, emptying.drawn)
    emptied = {name for pool in _emptied(params, order.more) for name in pool["members"]}
    batches = [
        {**batch, "drained": [name for name in batch["members"] if name in emptied]}
        for batch in order.more.get("batches", ())
    ]
    adds = {"adds": list(_adds(params)), "saved_in": params["snapshot"] or ""}
    own = {"batches": batches, **adds} if "batches" in order.more else {}
    found = emptying.judged(replace(order, more={**order.more, **own}))
    return pool_order.with_visible_nodes(task, _with_volumes(task, found))


def _with_volumes(task: Task, order: Outcome) -> Outcome:
    """The order with the volume claims that are made larger before its first batch."""
    if "batches" not in order.more:
        return order
    volumes = plan_volumes(task, before_batches=bool(order.more["batches"]))
    more = {**order.more, GROWS: [*volumes.result], "gains": dict(volumes.gains)}
    return replace(order, verdict=combine((order.verdict, volumes.verdict)), more=more)


def _emptied(params: Mapping[str, Any], more: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The pools that keep no data over a restart, so that their members are emptied before they go."""
    drains = params["ephemeral"] == "drain" and not params["groups"]
    return [pool for pool in more.get("pools", ()) if drains and pool.get("ephemeral")]


def _adds(params: Mapping[str, Any]) -> Iterator[str]:
    """The capacity that is added for the time of the upgrade."""
    if params["extra_member"]:
        yield f"one member of pool {params['extra_member']}"
    if params["extra_machines"]:
        yield f"machines of {', '.join(each['name'] for each in params['extra_machines'])}"


def _preflight(task: Task, order: Outcome) -> Iterator[ParallelWork]:
    more = order.more
    params = chain.options_of_hop(task.params, more)
    batches = [batch["members"] for batch in more["batches"]]
    later = more.get(chain.LATER, ())
    yield first_gate(params, more, expected=more["members"], batches=batches, later_versions=list(later))
    if params["groups"] and "plugins" not in params["skip_checks"]:
        yield ParallelWork(image_plugins.run_on_hosts, image_plugins.CONTRACT.arguments(params))
    # Once a batch has begun, the upgrade has its additional capacity, or goes on without it.
    if more["batches"] and not more["commenced"] and order.verdict.passed:
        yield from _capacity(params)
        if more["deployed_version"] != more["target_version"]:
            yield ParallelWork(followers.run, followers.CONTRACT.arguments(params))
    if params["snapshot"] and more["batches"] and not more["commenced"]:
        yield _snapshot(params, more)
    if params["tasks_emptied"] and order.verdict.passed:
        yield ParallelWork(emptied_nodes.run, emptied_nodes.planning(params, more["batches"]))
    if not params["groups"] and order.verdict.passed:
        yield ParallelWork(
            admission.run, {**params, "planned": returning(more, more["batches"], "container", "target_image")}
        )
    # If the plan lacks rights or has a wrong image, the throw-away pods would only report that again.
    if IMAGES not in params["skip_checks"] and order.verdict.passed and not params["groups"]:
        yield from (_proof_of_images(params, pool, more) for pool in _changing(more) if not _is_missing(pool))


def first_gate(params: Mapping[str, Any], more: Mapping[str, Any], **own: Any) -> ParallelWork:
    """The gate before the first batch of a plan. A plan has to be ready in time, however much progress there is."""
    own |= {"snapshot": None if more["commenced"] else params.get("snapshot")}
    own |= {"moment": "before_upgrade", "batch": more["broken"], "wait_limit": params["wait_timeout"]}
    own |= {"gains": more.get("gains", {})}
    return ParallelWork(health_gate.run, health_gate.CONTRACT.arguments(params, **own))


def _capacity(params: Mapping[str, Any]) -> Iterator[ParallelWork]:
    """Whether all capacity for the time of the upgrade can be added."""
    if params["extra_member"]:
        own: dict[str, Any] = {"state": "planned", "pool": params["extra_member"]}
        yield ParallelWork(extra_member.run, extra_member.CONTRACT.arguments(params, **own))
    if params["extra_machines"]:
        own = {"state": "planned", "machine_deployments": params["extra_machines"]}
        yield ParallelWork(extra_machines.run, extra_machines.CONTRACT.arguments(params, **own))


def _snapshot(params: Mapping[str, Any], more: Mapping[str, Any]) -> ParallelWork:
    """Whether the snapshot of the upgrade can be taken, or the one that an earlier run has taken is whole."""
    own = {"state": "planned", "target_version": more["target_version"], "started": more["begun_at"]}
    own |= {"recorded": params["record_kept_in"] != "none"}
    return ParallelWork(cluster_snapshot.run, cluster_snapshot.CONTRACT.arguments(params, **own))


def returning(more: Mapping[str, Any], batches: Iterable[Mapping[str, Any]], *fields: str) -> list[admission.Planned]:
    """The pools with members of these batches, whose pods are made again. `fields` name the container and the image
    that it gets before, if it gets one."""
    going = {name for batch in batches for name in batch["members"]}
    return [
        admission.Planned(pool["name"], members, *(pool[field] for field in fields))
        for pool in more["pools"]
        if not _is_missing(pool) and (members := [name for name in pool["members"] if name in going])
    ]


def _proof_of_images(params: Mapping[str, Any], pool: Mapping[str, Any], more: Mapping[str, Any]) -> ParallelWork:
    """The image of a pool, and then those that it gets in later hops: its throw-away pods are there once."""
    work = image_pull if "plugins" in params["skip_checks"] else image_plugins
    # It waits even in one pass, at the end of which no throw-away pod may be left.
    wait = {"wait": True, "wait_timeout": max(params["image_timeout"], params["wait_timeout"]), "wait_sleep": 0.1}
    # A killed run may have left the marked nodes cordoned; the next one uncordons them once its plan is agreed to.
    own = {"pool": pool["name"], "container": pool["container"], "left_out": more["marked_nodes"], **wait}
    later = [
        {"image": each["image"], "target_version": each["version"]}
        for each in more.get("images_of_later_hops", ())
        if each["pool"] == pool["name"]
    ]
    every = [{"image": pool["target_image"], "target_version": params["target_version"]}, *later]

    def in_turn(task: Task) -> Outcome:
        found: list[Outcome] = [
            work.run(replace(task, params=work.CONTRACT.arguments(params, **own, **each))) for each in every
        ]
        return replace(found[-1], verdict=combine(each.verdict for each in found))

    return ParallelWork(in_turn, work.CONTRACT.arguments(params, **own, **every[0]))


def _changing(more: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pools with a member to replace."""
    going = {pool for batch in more["batches"] for pool in batch["pools"]}
    return [pool for pool in more["pools"] if pool["name"] in going]


def _is_missing(pool: Mapping[str, Any]) -> bool:
    """Whether the run makes the StatefulSet of a pool again first, so that nothing can be asked about it until then."""
    return str(pool.get("uid", "")).startswith(MISSING)


def _words(params: Mapping[str, Any], more: Mapping[str, Any]) -> Words:
    changing = _changing(more)
    switched = [pool for pool in changing if (pool.get("strategy"), pool.get("rolled_by")) == SWITCHED]
    imaged = [pool for pool in changing if pool.get("target_image") not in (None, pool.get("image"))]
    adds = ", ".join(more.get("adds", ()))
    changes = [
        f"update strategy of {counted(len(switched), 'pool')}" if switched else "",
        settings_of_a_run(params["recoveries"]),
        f"{adds} added" if adds else "",
        raised_words(more.get(RAISES, {})),
        "the cordon of the Kubernetes node of each batch" if params["tasks_emptied"] else "",
    ]
    moved = [pool["name"] for pool in _emptied(params, more) if pool in changing and pool["kind"].startswith("data")]
    return Words(
        system=more["product"],
        changes=changes,
        stays=[
            f"image of {counted(len(imaged), 'pool')}" if imaged else "",
            f"snapshot in {params['snapshot']}" if params["snapshot"] and not more.get("commenced") else "",
            *volume_words(more.get(GROWS, ())),
        ],
        notes=[MOVED.format(name) for name in moved],
    )


def _put_back(task: Task) -> Outcome:
    goes_on = bool(wanted_replicas(task.params))
    own: dict[str, Any] = {"state": "restored", "keep_replicas": goes_on}
    restored = part_of(task, shard_allocation.CONTRACT, shard_allocation.run, **own)
    if task.params["groups"] or not restored.verdict.passed:
        return restored
    uncordoned = part_of(task, emptied_nodes.CONTRACT, emptied_nodes.run, state="restored")
    remade = part_of(task, grown_volumes.CONTRACT, grown_volumes.run, state="restored")
    verdict = combine((restored.verdict, uncordoned.verdict, remade.verdict))
    return replace(restored, verdict=verdict, changed=restored.changed or uncordoned.changed or remade.changed)


def _documents(task: Task) -> dict[str, int]:
    return count_documents(connect(task.params["opensearch"], task.params["kubernetes"]))


def _announce(task: Task, order: Outcome, verdict: Verdict) -> None:
    """Report the refusal as an event of each pool, if the pools are in a namespace."""
    namespace = task.params["namespace"]
    if namespace:
        client = kubernetes.connect(task.params["kubernetes"])
        for pool in order.more["pools"] if "pools" in order.more else _pools_there(task, client):
            warn(client, namespace, pool["name"], pool["uid"], " ".join(sentences(verdict).splitlines()))


def _pools_there(task: Task, client: kubernetes.KubernetesClient) -> list[Mapping[str, Any]]:
    """The pools of a cluster that has no plan.

    Raises:
        Refusal: they cannot be seen.
    """
    params = task.params
    if params["pools"]:
        sets = [one for one in observe_namespace(client, params["namespace"]).sets if one.name in params["pools"]]
    else:
        sets = [*see(task)[0].sets]
    return [{"name": one.name, "uid": one.uid} for one in sets]


OPTIONS_OF_RUN = {
    **SELECTION,
    "recoveries": RECOVERIES,
    "archived": shard_allocation.CONTRACT.argument_spec["archived"],
}
"""The options of every run on a cluster, also of one that restarts its processes."""

SYSTEM = System(
    name="opensearch",
    options={
        **pool_order.CONTRACT.argument_spec,
        **OPTIONS_OF_RUN,
        "hops": {"type": "raw"},
        "image_timeout": {"type": "int", "default": 300},
        "tasks_emptied": emptied_nodes.CONTRACT.argument_spec["tasks_emptied"],
        **VOLUMES,
        **CAPACITY_POLICY,
        "extra_machines": {**extra_machines.MACHINE_DEPLOYMENTS, "default": []},
        "management": OTHER_KUBERNETES,
        "ephemeral": {"type": "str", "default": "drain", "choices": ["drain", "restart"]},
    },
    uuid=_uuid,
    lock_store=lock_store,
    order=_order,
    preflight=_preflight,
    put_back=_put_back,
    announce=_announce,
    words=_words,
    counting=Counting("documents", "indices", _documents),
)
