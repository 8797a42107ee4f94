# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools behind StatefulSets: what both sides say of them, and whether the two fit together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..common.errors import Refusal, Unreachable
from ..common.task import Task
from ..common.verdict import Reason, State, Verdict, combine, refused, remark
from ..common.words import enumerate_few
from ..kubernetes import client as kubernetes
from ..kubernetes.disruption import Budget, judge_planned, list_budgets
from ..kubernetes.judge import pod_is_current
from ..kubernetes.namespace import observe_namespace
from ..kubernetes.owners import judge_owned, missing, pods_left
from ..kubernetes.partition import judge_own_partition, judge_rolling
from ..kubernetes.rights import missing_rights, rights_for
from ..kubernetes.state import Namespace, Pod, StatefulSet
from ..kubernetes.stateful_sets import list_stateful_sets
from ..planning.batches import Batch
from ..planning.images import container_for, name_of, with_tag
from ..planning.pools import Pool
from ..planning.versions import Version
from .admission import admits
from .client import OpenSearchClient, connect, judge_connection
from .data_paths import DataPaths, keeps_data, said_by_all
from .lost_data import judge_lost, judge_unseen
from .named_pools import member_of
from .observe import observe, observe_data_paths
from .policy import Policy
from .quorum import successors
from .standing import Standing, holding_unseen, judge_leaving, judge_recognised, judge_unread, need_pods
from .state import ClusterState, voting_again

SERVER = "opensearch"


@dataclass(frozen=True)
class Seen:
    """Both sides of the cluster: the sets and their pods, and what the members say of themselves."""

    sets: tuple[StatefulSet, ...]
    pods: Mapping[str, tuple[Pod, ...]]
    """Pods by the name of their set, in the order of their names."""
    state: ClusterState
    everyone: tuple[Pod, ...] = ()
    """All pods of the namespace, whoever owns them."""
    others: tuple[StatefulSet, ...] = ()
    """The other sets of the namespace, which are not planned for."""
    budgets: tuple[Budget, ...] = ()
    paths: DataPaths = field(default_factory=dict)
    """Where the members keep their data."""


def see(task: Task) -> tuple[Seen | None, list[Verdict]]:
    """Both sides, and every trouble on the way: an unreachable API and a wrong password are told together."""
    params = task.params
    (there, members, _troubles), verdict = task.wait(lambda: _both_sides(params), lambda seen: combine(seen[2]))
    troubles = [_told_together(verdict), judge_connection(params["opensearch"])]
    if there is None or members is None:
        return None, troubles
    (namespace, every, budgets), (state, paths) = there, members
    sets = namespace.sets
    pods = {s.name: tuple(pod for _name, pod in sorted(namespace.pods_of(s).items())) for s in every}
    named = sets if params["pools"] else tuple(s for s in sets if _belongs(pods[s.name], state))
    if not named:
        troubles.append(_no_pool(params["namespace"], sets))
        return None, troubles
    others = tuple(s for s in every if s.name not in {one.name for one in named})
    return Seen(named, pods, state, namespace.pods, others, budgets, paths), troubles


def _in_opensearch(search: OpenSearchClient) -> tuple[ClusterState, DataPaths]:
    """The cluster as it is to be planned with, and where its members keep their data."""
    state = observe(search)
    paths = said_by_all(observe_data_paths(search), [member.name for member in state.members.values()])
    return voting_again(state), paths


def _both_sides(params: Mapping[str, Any]) -> tuple[Any, Any, list[Verdict]]:
    """One look at both, and the troubles; what does not answer may do so later, and what goes will be gone."""
    troubles: list[Verdict] = []
    there = _attempt(troubles, lambda: _in_kubernetes(params, troubles))
    search = params["opensearch"], params["kubernetes"]
    members = _attempt(troubles, lambda: _in_opensearch(connect(*search)))
    if there is not None and members is not None:
        meant = there[0].sets if params["pools"] else ()
        troubles.append(_attempt(troubles, lambda: _judge_pods(there[0], members[0], meant)) or Verdict())
    return there, members, troubles


def _judge_pods(there: Namespace, state: ClusterState, meant: Collection[StatefulSet]) -> Verdict:
    """None of the members goes but those under way, and the pods with names of the sets that are meant are theirs.

    A pod that goes to come back on the revision its set wants is followed by the run, as long as that takes.

    Raises:
        NotUnderstood: a pod that may be of the cluster, or of one of the sets `meant`, cannot be read.
    """
    need_pods(state, there, meant)
    standing = Standing(state, there.pods)
    of_members = [pod for pod in there.pods if standing.of(pod)]
    owned = (judge_owned(one, of_members) for one in there.sets)
    found = ((one, pod) for one in there.sets for pod in there.pods_of(one).values())
    under_way = {pod.name for one, pod in found if not pod_is_current(one, pod)}
    return combine((judge_leaving(state, there.pods, under_way), *owned, judge_unread(there)))


def _told_together(verdict: Verdict) -> Verdict:
    """Where one side refuses, nobody waits for the other any more, and it is told all the same."""
    if verdict.state is not State.REFUSED:
        return verdict
    reasons = (replace(one, state=State.REFUSED) if one.state is State.WAITING else one for one in verdict.reasons)
    return Verdict(tuple(reasons))


def _in_kubernetes(
    params: Mapping[str, Any], troubles: list[Verdict]
) -> tuple[Namespace, tuple[StatefulSet, ...], tuple[Budget, ...]] | None:
    """The sets that are meant with all pods, and all sets. Whatever right is missing, all that are missing are told."""
    cluster = kubernetes.connect(params["kubernetes"])
    kept_in = (params["lock"] or {}).get("kept_in") or params.get("kept_in")
    asked = rights_for(locks=kept_in != SERVER, proves_images=params.get("prove_images", True))
    try:
        every = observe_namespace(cluster, params["namespace"])
        there = _meant(every, _labelled(cluster, every, params["label_selector"]), params)
    except Refusal as error:
        rights = missing_rights(cluster, params["namespace"], asked) if _is_of_rights(error) else Verdict()
        if rights.state is not State.REFUSED:
            raise
        troubles.append(rights)
        return None
    troubles += [cluster.judge_connection(), missing_rights(cluster, params["namespace"], asked)]
    return there, every.sets, list_budgets(cluster, params["namespace"])


def _is_of_rights(error: Refusal) -> bool:
    return any(reason.code == "kubernetes_rights" for reason in error.verdict.reasons)


def _attempt(troubles: list[Verdict], ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Refusal as error:
        troubles.append(error.as_waiting() if isinstance(error, Unreachable) else error.verdict)
        return None


def _labelled(cluster: kubernetes.KubernetesClient, every: Namespace, selector: str | None) -> Namespace:
    """The namespace with those of its sets that match the label selector."""
    if not selector:
        return every
    names = {one.name for one in list_stateful_sets(cluster, every.name, selector)}
    return replace(every, sets=tuple(one for one in every.sets if one.name in names))


def _meant(every: Namespace, there: Namespace, params: Mapping[str, Any]) -> Namespace:
    """The namespace with those of its selected sets that are named, in that order; all of them where none is."""
    pools: Sequence[str] = params["pools"]
    if not pools:
        return there
    known = {stateful_set.name: stateful_set for stateful_set in there.sets}
    unknown = [name for name in pools if name not in known]
    if unknown:
        raise Refusal(*(_unknown(every, there, name, params["label_selector"]) for name in unknown))
    return replace(there, sets=tuple(known[name] for name in pools))


def _unknown(every: Namespace, there: Namespace, name: str, selector: str | None) -> Reason:
    those = ", ".join(sorted(one.name for one in there.sets)) or "none"
    if name in {one.name for one in every.sets}:
        return refused(
            "pool_unknown",
            f"The label selector {selector} does not select pool (StatefulSet) {name} of namespace {there.name}.",
            f"Correct label_selector or pools (upgrade_pools); it selects: {those}.",
        )
    if pods_left(name, there.pods):
        return missing(there.name, name, there.pods)
    return refused(
        "pool_unknown",
        f"There is no pool (StatefulSet) {name} in namespace {there.name}.",
        f"Correct pools (upgrade_pools); those there are: {those}.",
    )


def _belongs(pods: Iterable[Pod], state: ClusterState) -> bool:
    names = {member.name for member in state.members.values()}
    addresses = {member.address for member in state.members.values()}
    return any(pod.name in names or pod.address in addresses for pod in pods)


def _no_pool(namespace: str, sets: Sequence[StatefulSet]) -> Verdict:
    there = ", ".join(sorted(stateful_set.name for stateful_set in sets)) or "none"
    return Verdict(
        (
            refused(
                "no_pools",
                f"No StatefulSet in namespace {namespace} holds members of this OpenSearch cluster (there: {there}).",
                "Check namespace, label_selector and opensearch.hosts: they must name the same cluster.",
            ),
        )
    )


def in_cluster(seen: Seen) -> Iterable[StatefulSet]:
    return (stateful_set for stateful_set in seen.sets if seen.pods[stateful_set.name])


def pool_of(stateful_set: StatefulSet, seen: Seen, params: Mapping[str, Any], target: Version) -> Pool:
    """The pool behind a StatefulSet, its kind taken from what its members say of themselves.

    Raises:
        Refusal: it is not clear which container or image is meant.
    """
    container = container_for(stateful_set.name, stateful_set.images, params["container"], SERVER)
    image = stateful_set.images[container]
    names = sorted({*stateful_set.member_names(), *(pod.name for pod in seen.pods[stateful_set.name])})
    known = [seen.state.named(name) for name in names]
    unready = {pod.name for pod in seen.pods[stateful_set.name] if not pod.ready}
    zone = params["zone_attribute"]
    roles = frozenset(role for member in known if member for role in member.roles)
    return Pool(
        name=stateful_set.name,
        uid=stateful_set.uid,
        members=tuple(
            member_of(name, stateful_set.name, seen.state, roles, zone, ready=name not in unready) for name in names
        ),
        container=container,
        image=image,
        target_image=params["image"] or with_tag(image, str(target)),
        strategy=stateful_set.strategy,
        in_use=any(_proves_image(pod, stateful_set, seen.state) for pod in seen.pods[stateful_set.name]),
        returning=tuple(p.name for p in seen.pods[stateful_set.name] if p.images.get(container, image) != image),
        ephemeral=not keeps_data(stateful_set, seen.paths),
        by_partition=params["strategy"] == stateful_set.strategy == "RollingUpdate",
    )


def _proves_image(pod: Pod, stateful_set: StatefulSet, state: ClusterState) -> bool:
    """Whether a pod is in the cluster with the present image of its set, so that another one could join with it."""
    there = state.named(pod.name)
    return bool(pod.ready and pod.revision == stateful_set.update_revision and there and admits(state, there.version))


def pools_outside(seen: Seen, pools: Iterable[Pool]) -> tuple[StatefulSet, ...]:
    """The sets that are not planned for, run the same server, and have no pod in the cluster."""
    servers = {name_of(pool.image) for pool in pools}
    return tuple(
        one
        for one in seen.others
        if servers & {name_of(image) for image in one.images.values()} and not _belongs(seen.pods[one.name], seen.state)
    )


def judge_outside(seen: Seen, pools: Iterable[Pool]) -> Verdict:
    """Pools that may be of this cluster and are not in it: their members might never join it again."""
    return Verdict(tuple(_outside(one, len(seen.pods[one.name])) for one in pools_outside(seen, pools)))


def _outside(one: StatefulSet, pods: int) -> Reason:
    said = f"none of its {pods} pods is a member of this cluster" if pods else "it has no pods"
    return remark(
        "pool_outside",
        f"Pool {one.name} runs the same server and {said}: the plan leaves it as it is.",
        "If it is of this cluster, name it in pools (upgrade_pools) with all others, or its pods may never join again.",
    )


def judge_membership(seen: Seen) -> Verdict:
    """Every pod is the member of its own name, and every member belongs to a pool."""
    standing = Standing(seen.state, seen.everyone)
    reasons: list[Reason] = []
    pods = [pod for stateful_set in seen.sets for pod in seen.pods[stateful_set.name]]
    for pod in pods:
        other = standing.of(pod)
        if other is not None and other.name != pod.name:
            reasons.append(
                refused(
                    "name_differs",
                    f"Pod {pod.name} is the member {other.name} of the cluster: a member must have its pod's name, or"
                    " it could not be recognised after the restart.",
                    "Set node.name to the pod's name (for example from metadata.name).",
                )
            )
    for stateful_set in seen.sets:
        if not seen.pods[stateful_set.name] and stateful_set.replicas:
            reasons.append(
                refused(
                    "pool_without_pods",
                    f"Pool {stateful_set.name} should have {stateful_set.replicas} pods and has none.",
                    "Look at the events of the StatefulSet.",
                )
            )
    reasons += judge_recognised(seen.state, pods, seen.everyone).reasons
    reasons += (
        remark(one.code, one.message, "It is followed until it is back, before another member goes.")
        for one in judge_leaving(seen.state, seen.everyone, ()).reasons
    )
    names = {pod.name for pod in pods}
    strangers = sorted(member.name for member in seen.state.members.values() if member.name not in names)
    if strangers:
        reasons.append(
            remark(
                "members_outside",
                f"These members of the cluster are in none of the pools and stay as they are: {', '.join(strangers)}.",
            )
        )
    return Verdict(tuple(reasons))


def judge_sets(seen: Seen, pools: Iterable[Pool], batches: Sequence[Batch], policy: Policy) -> Verdict:
    """What the pools themselves are like: whether their data outlives a pod, and what says that a pod is Ready."""
    pools = list(pools)
    members = {pool.name: [member.name for member in pool.members] for pool in pools}
    by_partition = {pool.name for pool in pools if pool.by_partition}
    leaving = {name for batch in batches for name in batch.members}
    heirs = any(successors(seen.state, seen.state.ids(batch.members)) for batch in batches)
    expected = replace(policy, hands_over=policy.hands_over and (heirs or policy.awaits_manager))
    verdicts: list[Verdict] = []
    for one in seen.sets:
        going = [name for name in members.get(one.name, ()) if name in leaving]
        if going and not keeps_data(one, seen.paths):
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


def _lost_with(one: StatefulSet, seen: Seen, going: Sequence[str], policy: Policy) -> list[Verdict]:
    """What is lost for good with members of a pool that keeps no data; the proof waits for what recovers."""
    away = holding_unseen(seen.state, [pod for pod in seen.pods[one.name] if pod.name in going])
    unseen = judge_unseen(seen.state, away, one.member_names(), one.name, policy.allow_red_indices)
    refusing = Verdict(unseen.deciding() if unseen.state is State.REFUSED else ())
    return [judge_lost(seen.state, going, one.name, policy), refusing]


def judge_rolls(seen: Seen) -> Verdict:
    """No pool of the cluster, planned for or not, is being rolled by its own controller, without any gate.

    What an interrupted run has let through by its partition is waited for before the next batch.
    """
    found = [
        (one, seen.pods[one.name]) for one in (*seen.sets, *seen.others) if _belongs(seen.pods[one.name], seen.state)
    ]
    verdict = combine([judge_rolling(one, {pod.name: pod for pod in pods}) for one, pods in found])
    return Verdict(verdict.deciding() if verdict.state is State.REFUSED else ())


def judge_returning(pools: Iterable[Pool]) -> Verdict:
    """Pools of which somebody has changed the image already: what dies comes back on that."""
    return Verdict(
        tuple(
            remark(
                "template_changed",
                f"Pool {pool.name} has the image {pool.image} already, and {enumerate_few(pool.returning)}"
                f" {'runs' if len(pool.returning) == 1 else 'run'} another one. A pod of these that dies comes back on"
                " the image of the pool.",
                "" if pool.image == pool.target_image else f"The plan sets {pool.target_image} when its turn comes.",
            )
            for pool in pools
            if pool.returning
        )
    )
