"""The work of the module `pool_order`: look at the whole cluster, and plan the batches with order and reasons."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from ..common.arguments import CONNECTIONS, CONSENT, WAIT, Options
from ..common.errors import refusal
from ..common.task import Contract, Outcome, Task, passed_or_raise
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.kubernetes_nodes import visible
from ..pools.deployers import DEPLOYERS, judge_owner
from ..pools.given_images import given_images, judge_images
from ..run.colouring import readable_most
from .act.raising import RAISE_REPLICAS
from .both_sides import just_made, once_noticed, see
from .cluster_snapshot import SNAPSHOT
from .judge.admission import judge_left, left_by
from .judge.batches import BATCHING, Batch, Cutting, batches_of
from .judge.checks import IMAGES
from .judge.given_order import judge_canary, judge_narrowing, judge_order, place_of
from .judge.index_names import index_names, judge_covered
from .judge.named_pools import by_kind, groups_in, judge_groups, judge_names, pools_named
from .judge.policy import OF_INDICES, Policy, policy_of
from .judge.pools import TEMPLATE_CHANGED, Pool, digest_of, order_pools
from .judge.proof import Proofs, placement_of
from .judge.roles import judge_roles
from .judge.safety import judge_consent, judge_writes
from .judge.set_pools import (
    judge_membership,
    judge_outside,
    judge_returning,
    judge_rolls,
    judge_sets,
    pool_of_set,
    pools_outside,
)
from .judge.sizes import judge_capacity
from .judge.templates import judge_kinds, judge_templates
from .judge.upgrade_path import judge_product, target_of
from .observe.addresses import judge_connection
from .observe.client import connect
from .observe.cluster import observe
from .observe.look import MembersAndPods
from .observe.state import ClusterState, voting_again
from .observe.version import Version
from .replica_plan import RAISES, plan_replicas
from .volume_plan import conditions_of

PLAN: Options = {
    "groups": {"type": "dict", "default": {}},
    **CONSENT,
    "pools": {"type": "list", "elements": "str", "default": []},
    "label_selector": {"type": "str"},
    "container": {"type": "str"},
    "members": {"type": "list", "elements": "str", "default": []},
    "order": {"type": "list", "elements": "str", "default": []},
    "batching": {"type": "str", "default": "serial", "choices": list(BATCHING)},
    "zone_attribute": {"type": "str", "default": "zone"},
    "max_unavailable": {"type": "str"},
    "hand_over": {"type": "bool", "default": True},
    **RAISE_REPLICAS,
}
"""The options of a plan, whatever is done to the members."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 120},
        "namespace": {"type": "str"},
        **PLAN,
        "target_version": {"type": "str", "required": True},
        "image": {"type": "raw"},
        "canary": {"type": "str"},
        "extra_member": {"type": "str"},
        **SNAPSHOT,
        "strategy": {"type": "str", "default": "OnDelete", "choices": ["OnDelete", "RollingUpdate"]},
        "allow_left_behind": {"type": "bool", "default": False},
        "allow_field_managers": {"type": "list", "elements": "str", "default": [], "choices": list(DEPLOYERS)},
    }
)

TO_RESTART = "to restart"
"""The words after the version of a member whose process is to be restarted."""


@dataclass(frozen=True)
class Drawn:
    """The pools, their source, and the verdict on them."""

    state: ClusterState
    pools: tuple[Pool, ...]
    """The pools in the order of upgrading."""
    named: tuple[Pool, ...]
    """The pools as the user knows them, from which the digest is made."""
    verdict: Verdict
    sets: MembersAndPods | None = None
    outside: tuple[str, ...] = ()
    """The pools that may be of the cluster although none of their members is in it."""


def run(task: Task, changed: Callable[[Drawn, Version], Drawn] = lambda drawn, _target: drawn) -> Outcome:
    """Observe, judge and plan. Nothing is changed, so check mode does the same.

    `changed` gives the pools for the plan, such as with more members due.
    """
    params = task.params
    target = target_of(params["target_version"])
    drawn = drawn_from_hosts(task) if on_hosts(params) else _from_sets(task, target)
    return planned(task, changed(drawn, target), target)


def to_restart(task: Task, state: ClusterState, names: Collection[str]) -> tuple[Task, Version, frozenset[str]]:
    """The task that plans a restart of these members on their version, that version, and all versions that they run."""
    versions = frozenset(str(each.version) for each in state.members.values() if each.name in names)
    target = target_of(max(versions, key=Version.parse, default="0.0.0"))
    params = CONTRACT.arguments(task.params, target_version=str(target))
    return replace(task, params={**params, "skip_checks": task.params["skip_checks"]}), target, versions


def planned(
    task: Task,
    drawn: Drawn,
    target: Version,
    further: Sequence[str] = (),
    at_once: frozenset[str] = frozenset(),
    aim: Version | None = None,
) -> Outcome:
    """The plan for these pools. `further` are conditions that the digest covers as well.

    `at_once` are members that a person wants to go together. `aim` is the version that consent names, if the plan only
    leads to an earlier one.
    """
    params = task.params
    state = drawn.state
    passed_or_raise(judge_product([(member.name, member.version) for member in state.members.values()], target))
    pools = order_pools(drawn.pools, lambda pool: place_of(pool, params["order"]))
    drawn = replace(drawn, pools=pools)
    hands_over = params["hand_over"]
    canary = params.get("canary") or ""
    cutting = Cutting(
        params["batching"], params["max_unavailable"], hands_over=hands_over, at_once=at_once, canary=canary
    )
    batches = cut(pools, target, params["members"], cutting, state)
    going = [name for batch in batches for name in batch.members]
    replicas = plan_replicas(task, state, going)
    if replicas.state is not state:
        state, drawn = replicas.state, replace(drawn, state=replicas.state)
        batches = cut(pools, target, params["members"], cutting, state)
    # Members that are away and in the plan are brought back before any other goes.
    brought_back = [m for pool in pools for m in pool.members if m.version is None and m.name in going]
    policy = replace(
        policy_of(params, hands_over=hands_over),
        awaits_data=any(member.holds_data for member in brought_back),
        awaits_manager=any(member.electable for member in brought_back),
    )
    verdict = combine((replicas.verdict, _judged(params, drawn, batches, policy, cutting, target, replicas.to_agree)))
    conditions = [*_conditions(params, policy, cutting), *replicas.conditions, *further]
    digest = digest_of(state.uuid, aim or target, drawn.named, params["members"], conditions)
    stay = {*_outdated(pools, target)} - {*going}
    left = [*sorted({*left_by(state, pools, going, target), *stay}), *drawn.outside]
    outcome = _outcome(drawn, batches, verdict, target, digest, cutting, left)
    return replace(outcome, more={**outcome.more, RAISES: replicas.result})


def _judged(
    params: Mapping[str, Any],
    drawn: Drawn,
    batches: Sequence[Batch],
    policy: Policy,
    cutting: Cutting,
    target: Version,
    to_agree: ClusterState,
) -> Verdict:
    """All reasons about these batches. `to_agree` is the state by which consents are asked for."""
    state, pools, going = drawn.state, drawn.pools, [name for batch in batches for name in batch.members]
    return combine(
        (
            drawn.verdict,
            _judge_names(params, drawn),
            judge_narrowing(pools, params["members"]),
            judge_consent(to_agree, going, policy),
            *(judge_covered(state, index_names(params[option], option), option) for option in OF_INDICES),
            judge_sets(drawn.sets, pools, batches, policy) if drawn.sets else Verdict(),
            judge_templates(drawn.sets, pools, target) if drawn.sets else Verdict(),
            judge_returning(pools),
            judge_order(params["order"], pools, params["batching"]),
            judge_canary(params.get("canary") or "", pools, batches),
            judge_capacity(params, pools, on_hosts=drawn.sets is None),
            judge_left(state, pools, going, target, allowed=params["allow_left_behind"]),
            *(judge_roles(state, state.ids(batch.members)) for batch in batches),
            judge_writes(state, [batch.members for batch in batches]),
        )
    )


def _judge_names(params: Mapping[str, Any], drawn: Drawn) -> Verdict:
    """Whether each member has a name of its own. In one pass on hosts each may be new, as far as it is known."""
    names = {member.name for pool in drawn.pools for member in pool.members}
    if drawn.sets is not None:
        return judge_names(drawn.state, names, just_made(drawn.sets.everyone))
    return judge_names(drawn.state, names, () if params.get("wait", True) else names)


def _conditions(params: Mapping[str, Any], policy: Policy, cutting: Cutting) -> list[str]:
    """The words for the options that consent covers."""
    return [
        *(name for name in ("allow_quorum_loss", "allow_left_behind") if params[name] is True),
        *(f"{option}: {getattr(policy, option)}" for option in OF_INDICES if getattr(policy, option)),
        *(() if params["hand_over"] else ("no hand-over",)),
        *((f"order {' '.join(params['order'])}",) if params["order"] else ()),
        *((f"canary {cutting.canary}",) if cutting.canary else ()),
        *((f"extra member of {params['extra_member']}",) if params.get("extra_member") else ()),
        *(
            f"{each['extra']} extra machines of {each['namespace']}/{each['name']}"
            for each in params.get("extra_machines") or ()
        ),
        *((f"snapshot in {params['snapshot']}",) if params.get("snapshot") else ()),
        *(("empties Kubernetes nodes",) if params.get("tasks_emptied") else ()),
        *conditions_of(params.get("volumes")),
        *(f"without {check}" for check in params.get("skip_checks") or () if check != IMAGES),
        f"{cutting.batching} {cutting.max_unavailable} {params['zone_attribute']} {params['strategy']}",
    ]


def on_hosts(params: Mapping[str, Any]) -> bool:
    """Whether the members are on plain hosts. They are either pods in a namespace or named hosts, never both.

    Raises:
        Refusal: both or neither are given.
    """
    if bool(params["namespace"]) == bool(params["groups"]):
        given = "Both namespace and groups are" if params["groups"] else "Neither namespace nor groups is"
        remedy = "Give namespace if the members are pods, and groups if they are not."
        raise refusal("namespace_or_groups", f"{given} given.", remedy)
    return bool(params["groups"])


def drawn_from_hosts(task: Task) -> Drawn:
    """The pools that the user names. Kubernetes is not asked."""
    groups = groups_in(task.params["groups"])
    search = task.params["opensearch"], task.params["kubernetes"]
    names = {*chain.from_iterable(groups.values())}
    state = once_noticed(task, lambda: voting_again(observe(connect(*search))), names)
    named = pools_named(groups, state, task.params["zone_attribute"])
    pools = order_pools(part for pool in named for part in by_kind(pool))
    verdict = combine((judge_groups(groups, state), judge_connection(task.params["opensearch"])))
    return Drawn(state, pools, tuple(named), verdict)


def _from_sets(task: Task, target: Version) -> Drawn:
    """The pools of the StatefulSets of the namespace.

    Raises:
        Refusal: one side cannot be seen, or none of the sets belongs to the cluster.
    """
    seen, troubles = see(task)
    return drawn_from_sets(seen, troubles, task.params, target)


def drawn_from_sets(
    seen: MembersAndPods, troubles: Iterable[Verdict], params: Mapping[str, Any], target: Version
) -> Drawn:
    """The pools of the StatefulSets that were seen, on their way to a version; `troubles` are those of seeing.

    Raises:
        Refusal: it is not clear which container or image of a pool is meant.
    """
    pools = order_pools(
        pool_of_set(stateful_set, seen, params, target) for stateful_set in seen.sets if seen.pods[stateful_set.name]
    )
    owners = (judge_owner(stateful_set, params["allow_field_managers"]) for stateful_set in seen.sets)
    images = judge_images(
        given_images(params["image"]),
        {pool.name: pool.target_image for pool in pools},
        {one.name for one in (*seen.sets, *seen.others)},
    )
    kinds = judge_kinds(pools, given_images(params["image"]))
    return drawn_from(seen, pools, combine((*troubles, *owners, images, kinds)))


def drawn_from(seen: MembersAndPods, pools: tuple[Pool, ...], verdict: Verdict) -> Drawn:
    """The pools of both sides, and the verdict on how they fit each other."""
    verdict = combine((verdict, judge_membership(seen), judge_rolls(seen), judge_outside(seen, pools)))
    return Drawn(seen.state, pools, pools, verdict, seen, tuple(one.name for one in pools_outside(seen, pools)))


def cut(
    pools: Sequence[Pool], target: Version, only: Sequence[str], cutting: Cutting, state: ClusterState
) -> tuple[Batch, ...]:
    """The batches of these pools on their way to a version.

    Raises:
        Refusal: the most members that may be away at once are no number and no percentage.
    """
    readable_most(cutting.max_unavailable)
    return batches_of(pools, target, only, cutting, placement_of(state, pools))


def _outdated(pools: Iterable[Pool], target: Version) -> list[str]:
    return sorted(member.name for pool in pools for member in pool.members if member.replaced_on(target))


def _outcome(
    drawn: Drawn,
    batches: Sequence[Batch],
    verdict: Verdict,
    target: Version,
    digest: str,
    cutting: Cutting,
    left: Sequence[str],
) -> Outcome:
    state, pools = drawn.state, drawn.pools
    proofs = Proofs(state, hands_over=cutting.hands_over)
    versions = [member.version for pool in pools for member in pool.members if member.version is not None]
    running = {m.name: str(m.version) for m in state.members.values()}
    outdated = _outdated(pools, target)
    due = [m.name for pool in pools for m in pool.members if m.due and m.name in running]
    known = {
        **running,
        **{name: f"{running[name]} ({TO_RESTART})" for name in due},
        **{name: f"{running[name]} ({TEMPLATE_CHANGED})" for name in outdated},
    }
    before = {member.name: known.get(member.name) for pool in pools for member in pool.members}
    going = {name for batch in batches for name in batch.members}
    covered = "that is planned for " if left else ""
    after = {name: str(target) if name in going else version for name, version in before.items()}
    return Outcome(
        verdict,
        before=before,
        after=after,
        next="begin" if batches else f"nothing: every member {covered}runs the target version",
        more={
            "target_version": str(target),
            "cluster_uuid": state.uuid,
            "cluster_name": state.name,
            "product": state.product.name,
            "pools": [_pool_result(pool, target) for pool in pools],
            "deployed_version": str(min(versions)) if versions else None,
            "batches": [_batch_result(batch, proofs) for batch in batches],
            "members": sorted({*before, *running}),
            "broken": sorted(name for name, version in before.items() if version is None),
            "outdated": outdated,
            "left": list(left),
            "kubernetes_nodes": _kubernetes_nodes(drawn.sets, going) if drawn.sets else {},
            "digest": digest,
        },
    )


def with_visible_nodes(task: Task, planned: Outcome) -> Outcome:
    """The plan with those Kubernetes nodes of its members that the user may look at.

    Raises:
        Refusal: the Kubernetes API does not answer.
    """
    nodes = planned.more.get("kubernetes_nodes")
    if not nodes:
        return planned
    seen = task.ask(lambda: visible(kubernetes.connect(task.params["kubernetes"]), nodes))
    return replace(planned, more={**planned.more, "kubernetes_nodes": seen})


def _kubernetes_nodes(sets: MembersAndPods, going: Collection[str]) -> dict[str, str]:
    """The Kubernetes node of each member that goes, if its pod has one."""
    there = (pod for pods in sets.pods.values() for pod in pods)
    return {pod.name: pod.kubernetes_node for pod in there if pod.name in going and pod.kubernetes_node}


def _batch_result(batch: Batch, proofs: Proofs) -> dict[str, Any]:
    return {
        "name": batch.name,
        "pools": list(batch.pools),
        "members": list(batch.members),
        "cures": batch.brings_back,
        "kind": batch.kind,
        "reason": batch.reason,
        "proof": proofs.of(batch.members),
        "outdated": list(batch.outdated),
    }


def _pool_result(pool: Pool, target: Version) -> dict[str, Any]:
    of_pods = {
        "uid": pool.uid,
        "container": pool.container,
        "image": pool.image,
        "target_image": pool.target_image,
        "strategy": pool.strategy,
        "ephemeral": pool.ephemeral,
        "rolled_by": "RollingUpdate" if pool.by_partition else "OnDelete",
    }
    members = [member.name for member in pool.members]
    common = {"name": pool.name, "status": pool.status(target), "kind": pool.kind.value, "members": members}
    return {**common, **(of_pods if pool.container else {})}
