"""Pools of StatefulSets, judged by the views of both sides: Kubernetes and OpenSearch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...common.errors import Refusal
from ...common.verdict import Reason, State, Verdict, as_verdict, combine, refused, remark
from ...common.words import enumerate_few
from ...kubernetes.owners import controllers_of, is_left_alone
from ...kubernetes.state import Pod, StatefulSet
from ...pools.disruption import judge_planned
from ...pools.extra import extra_member_of
from ...pools.given_images import given_images, image_for
from ...pools.images import container_for, name_of
from ...pools.partition import judge_own_partition, judge_rolling
from ...pools.pool_changes import carried_undo
from ...run.lock.lock import name_for
from ..observe.data_paths import keeps_data
from ..observe.look import MembersAndPods
from ..observe.products import ELASTICSEARCH, OPENSEARCH
from ..observe.state import ClusterState
from ..observe.version import Version
from .admission import admits
from .batches import Batch
from .lost_data import judge_lost, judge_unseen
from .named_pools import member_of
from .policy import Policy
from .pools import Pool
from .quorum import successors
from .standing import PodsOfMembers, holding_unseen, judge_leaving, judge_recognised
from .templates import fingerprint_of, image_of_target, outdated_pods


def server_in(images: Mapping[str, str]) -> str:
    """The name that the server's image or container has, given all of a pod; that of OpenSearch if there is none."""
    names = {*images, *(name_of(image) for image in images.values())}
    return next(
        (product.server for product in (OPENSEARCH, ELASTICSEARCH) if product.server in names), OPENSEARCH.server
    )


def server_container(whose: Pod | StatefulSet, named: str | None) -> str:
    """The container that runs the server of a pod, or of the pods of a pool. See `container_for`."""
    return container_for(whose.name, whose.images, named, server_in(whose.images))


def belongs(pods: Iterable[Pod], state: ClusterState) -> bool:
    names = {member.name for member in state.members.values()}
    addresses = {member.address for member in state.members.values()}
    return any(pod.name in names or pod.address in addresses for pod in pods)


def is_of_cluster(stateful_set: StatefulSet, pods: Iterable[Pod], state: ClusterState) -> bool:
    """Whether a set is a pool of the cluster: one of its pods is a member, or a run on this cluster has changed it.

    All members of a small pool are away while a batch is. A pool that carries an undo of a run on another cluster, or
    one that cannot be read, does not count for that.
    """
    if belongs(pods, state):
        return True
    try:
        undo = carried_undo(stateful_set)
    except Refusal:
        return False
    return undo is not None and undo.writer.lock.get("name") == name_for(state.uuid)


def pool_of_set(stateful_set: StatefulSet, seen: MembersAndPods, params: Mapping[str, Any], target: Version) -> Pool:
    """The pool of a StatefulSet. Its kind comes from the roles that its members report.

    Raises:
        Refusal: it is not clear which container or image is meant.
    """
    container = container_for(stateful_set.name, stateful_set.images, params["container"], seen.state.product.server)
    image = stateful_set.images[container]
    names = sorted({*stateful_set.member_names(), *(pod.name for pod in seen.pods[stateful_set.name])})
    known = [seen.state.named(name) for name in names]
    pods = seen.pods[stateful_set.name]
    machines = {pod.name: pod.kubernetes_node for pod in pods}
    unready = {pod.name for pod in pods if not pod.ready}
    given = image_for(stateful_set.name, given_images(params["image"]))
    target_image = image_of_target(stateful_set, container, given, seen, target)
    outdated = outdated_pods(stateful_set, seen, container, target_image, given, target)
    zone = params["zone_attribute"]
    roles = frozenset(role for member in known if member for role in member.roles)
    return Pool(
        name=stateful_set.name,
        uid=stateful_set.uid,
        members=tuple(
            replace(
                member_of(
                    name,
                    stateful_set.name,
                    seen.state,
                    roles,
                    zone,
                    ready=name not in unready,
                    outdated=name in outdated,
                ),
                machine=machines.get(name, ""),
            )
            for name in names
        ),
        container=container,
        image=image,
        target_image=target_image,
        strategy=stateful_set.strategy,
        in_use=any(_proves_image(pod, stateful_set, seen.state) for pod in pods),
        returning=tuple(pod.name for pod in pods if pod.images.get(container, image) != image),
        ephemeral=not keeps_data(stateful_set, seen.paths, seen.state.product),
        in_order=stateful_set.in_order,
        by_partition=params["strategy"] == stateful_set.strategy == "RollingUpdate",
        template=fingerprint_of(stateful_set, container),
        extra=extra_member_of(stateful_set),
    )


def _proves_image(pod: Pod, stateful_set: StatefulSet, state: ClusterState) -> bool:
    """Whether a pod is in the cluster on the present revision of its set, so that another one could join on it."""
    there = state.named(pod.name)
    return bool(pod.ready and pod.revision == stateful_set.update_revision and there and admits(state, there.version))


def pools_outside(seen: MembersAndPods, pools: Iterable[Pool]) -> tuple[StatefulSet, ...]:
    """The sets that are not planned for, run the same server, and have no pod in the cluster.

    A set that wants no pods is not planned for although it is named. If it has the image of the target version, its
    pods can join whenever it gets some.
    """
    pools = tuple(pools)
    servers, targets = {name_of(pool.image) for pool in pools}, {pool.target_image for pool in pools}
    empty = (one for one in seen.sets if not one.replicas and not seen.pods[one.name])
    return tuple(
        one
        for one in (*empty, *seen.others)
        if servers & {name_of(image) for image in one.images.values()}
        and (seen.pods[one.name] or targets.isdisjoint(one.images.values()))
        and not is_of_cluster(one, seen.pods[one.name], seen.state)
    )


@as_verdict
def judge_outside(seen: MembersAndPods, pools: Iterable[Pool]) -> Iterator[Reason]:
    """Remarks on pools that may be of this cluster and are not in it: their members might never join it again."""
    for one in pools_outside(seen, pools):
        pods = len(seen.pods[one.name])
        said = f"none of its {pods} pods is a member of this cluster" if pods else "it has no pods"
        name_it = "name it in pools (upgrade_pools) with all others, or its pods may never join again."
        set_image = "set the image of the target version in it, or pods that it gets later may never join."
        yield remark(
            "pool_outside",
            f"Pool {one.name} runs the same server and {said}: the plan leaves it as it is.",
            f"If it is of this cluster, {set_image if not one.replicas and not pods else name_it}",
        )


@as_verdict
def judge_membership(seen: MembersAndPods) -> Iterator[Reason]:
    """Whether every pod is the member of its own name. Members that belong to no pool are a remark."""
    standing = PodsOfMembers(seen.state, seen.everyone)
    pods = [pod for stateful_set in seen.sets for pod in seen.pods[stateful_set.name]]
    for pod in pods:
        other = standing.of(pod)
        if other is not None and other.name != pod.name:
            yield refused(
                "name_differs",
                f"Pod {pod.name} is the member {other.name} of the cluster: a member must have its pod's name, or it"
                " could not be recognised after the restart.",
                "Set node.name to the pod's name (for example from metadata.name).",
            )
    for stateful_set in seen.sets:
        if not seen.pods[stateful_set.name] and stateful_set.replicas:
            yield refused(
                "pool_without_pods",
                f"Pool {stateful_set.name} should have {stateful_set.replicas} pods and has none.",
                "Look at the events of the StatefulSet.",
            )
    yield from judge_recognised(seen.state, pods, seen.everyone).reasons
    for one in judge_leaving(seen.state, seen.everyone, ()).reasons:
        yield remark(one.code, one.message, "It is followed until it is back, before another member goes.")
    names = {pod.name for pod in pods}
    strangers = sorted(member.name for member in seen.state.members.values() if member.name not in names)
    if strangers:
        said = f"These members of the cluster are in none of the pools and stay as they are: {', '.join(strangers)}."
        alone = [pod for pod in seen.everyone if is_left_alone(pod) and pod.name not in names and standing.of(pod)]
        if not alone:
            yield remark("members_outside", said)
            return
        # A pod of a Deployment is a member as well, and no plan upgrades it.
        controlled = controllers_of(alone)
        said += f" Only pods of StatefulSets are upgraded, and these have another controller or none: {controlled}."
        yield remark("members_outside", said, "Upgrade them by the means of their controller, after all others.")


def judge_sets(seen: MembersAndPods, pools: Iterable[Pool], batches: Sequence[Batch], policy: Policy) -> Verdict:
    """The pools themselves: whether their data outlives a pod, their partition, readiness probe and budgets."""
    pools = list(pools)
    members = {pool.name: [member.name for member in pool.members] for pool in pools}
    by_partition = {pool.name for pool in pools if pool.by_partition}
    leaving = {name for batch in batches for name in batch.members}
    heirs = any(successors(seen.state, seen.state.ids(batch.members)) for batch in batches)
    expected = replace(policy, hands_over=policy.hands_over and (heirs or policy.awaits_manager))
    verdicts: list[Verdict] = []
    for one in seen.sets:
        going = [name for name in members.get(one.name, ()) if name in leaving]
        if going and not keeps_data(one, seen.paths, seen.state.product):
            verdicts += _lost_with(one, seen, going, expected)
        if going:
            verdicts.append(judge_own_partition(one, by_partition=one.name in by_partition))
        if going and not one.has_readiness_probe:
            text = f"The pods of pool {one.name} have no readiness probe, so they count as Ready as soon as they run."
            following = "The cluster is asked all the same whether a member has joined on the target version."
            verdicts.append(Verdict((remark("no_readiness_probe", text, following),)))
    pods = {pod.name: pod for found in seen.pods.values() for pod in found}
    steps = [[pods[name] for name in batch.members if name in pods] for batch in batches]
    return combine((*verdicts, judge_planned(seen.budgets, steps)))


def _lost_with(one: StatefulSet, seen: MembersAndPods, going: Sequence[str], policy: Policy) -> list[Verdict]:
    """Whether nothing is lost for good with members of a pool that keeps no data. The proof waits for recoveries."""
    away = holding_unseen(seen.state, [pod for pod in seen.pods[one.name] if pod.name in going])
    unseen = judge_unseen(seen.state, away, one.member_names(), one.name, policy.allow_red_indices)
    refusing = Verdict(unseen.deciding() if unseen.state is State.REFUSED else ())
    return [judge_lost(seen.state, going, one.name, policy), refusing]


def judge_rolls(seen: MembersAndPods) -> Verdict:
    """Whether no pool of the cluster, planned for or not, is being rolled by its own controller, without any gate.

    Pods that an interrupted run has let through by its partition are waited for before the next batch.
    """
    found = [
        (one, seen.pods[one.name])
        for one in (*seen.sets, *seen.others)
        if is_of_cluster(one, seen.pods[one.name], seen.state)
    ]
    verdict = combine([judge_rolling(one, {pod.name: pod for pod in pods}) for one, pods in found])
    return Verdict(verdict.deciding() if verdict.state is State.REFUSED else ())


@as_verdict
def judge_returning(pools: Iterable[Pool]) -> Iterator[Reason]:
    """Remarks on pools whose image another has changed already: a pod that dies comes back on the new one."""
    for pool in (pool for pool in pools if pool.returning):
        yield remark(
            "template_changed",
            f"Pool {pool.name} has the image {pool.image} already, and {enumerate_few(pool.returning)}"
            f" {'runs' if len(pool.returning) == 1 else 'run'} another one. A pod of these that dies comes back on"
            " the image of the pool.",
            "" if pool.image == pool.target_image else f"The plan sets {pool.target_image} when its turn comes.",
        )
