"""Both sides of a cluster whose members are pods, looked at together, with all problems in one verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.errors import NoConnection, Refusal, Unreachable
from ..common.task import Task, passed_or_raise
from ..common.verdict import Reason, State, Verdict, combine, refused
from ..common.waiting import Patience
from ..kubernetes import client as kubernetes
from ..kubernetes.owners import is_left_alone, judge_owned, missing, pods_left, unsupported
from ..kubernetes.pods import list_budgets
from ..kubernetes.rights import judge_namespace, missing_rights
from ..kubernetes.state import Budget, Namespace, Pod, StatefulSet
from ..kubernetes.stateful_sets import list_stateful_sets, observe_namespace
from ..pools.extra import without_absent_extra
from ..pools.follow import age_of
from ..pools.judge import judge_revision, pod_is_current
from ..pools.kept_sets import MISSING, with_missing
from .judge.checks import IMAGES
from .judge.named_pools import judge_names
from .judge.set_pools import is_of_cluster
from .judge.standing import PodsOfMembers, judge_addresses, judge_leaving, judge_unread, need_pods
from .observe.addresses import judge_connection
from .observe.client import OpenSearchClient, connect
from .observe.cluster import observe, observe_data_paths
from .observe.data_paths import DataPaths, said_by_all
from .observe.look import MembersAndPods
from .observe.state import ClusterState, voting_again
from .rights import rights_for

NOTICED = 120.0
"""Seconds within which a cluster notices that a process is gone: by default after three checks of 10 s that fail."""


class _Troubles(list[Verdict]):
    """The problems of one look."""

    no_connection = False
    """Whether no connection could be made to one side."""

    def add(self, error: Refusal) -> None:
        """Add an error."""
        self.no_connection = self.no_connection or isinstance(error, NoConnection)
        self.append(error.as_waiting() if isinstance(error, Unreachable) else error.verdict)


class _UserRights:
    """The rights of the user, asked for once in a task, whose looks are made again while it waits for something else.

    A run that has shown its plan has checked them for that. If the API server denies an act later, the act reports it.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        kept_in = (params["lock"] or {}).get("kept_in") or params.get("kept_in")
        recorded = params.get("record_kept_in") in {None, "kubernetes"}
        proves = IMAGES not in (params.get("skip_checks") or ())
        self._asked = rights_for(locks=kept_in != "opensearch", records=recorded, proves_images=proves)
        self._namespace = params["namespace"]
        self._known = Verdict() if params.get("shown") else None

    def missing(self, cluster: kubernetes.KubernetesClient) -> Verdict:
        """The missing rights, as they are now."""
        return missing_rights(cluster, self._namespace, self._asked)

    def judge(self, cluster: kubernetes.KubernetesClient) -> Verdict:
        """The missing rights, as they were when they were asked for."""
        if self._known is None:
            self._known = self.missing(cluster)
        return self._known


def see(task: Task) -> tuple[MembersAndPods, list[Verdict]]:
    """Both sides, and all problems that were found.

    Raises:
        Refusal: one side cannot be seen, or none of the sets belongs to the cluster. It has all problems: an
            unreachable API and a wrong password are reported together.
    """
    params = task.params
    first = task.first_answer is not None and params.get("wait", True)
    look = partial(_first_look if first else _both_sides, params, _UserRights(params))
    (there, members, _troubles), verdict = task.wait(look, lambda seen: combine(seen[2]))
    # A refusal of one side ends the wait for the other, whose problem is then refused, too.
    judged = verdict.without_waiting() if verdict.state is State.REFUSED else verdict
    troubles = [judged, judge_connection(params["opensearch"])]
    if there is None or members is None:
        raise Refusal(*combine(troubles).reasons)
    (namespace, every, budgets), (state, paths) = there, members
    joined = {member.name for member in state.members.values()}
    lasting = {s.name: without_absent_extra(s, namespace.pods_of(s), joined) for s in every}
    sets, every = (tuple(lasting[s.name][0] for s in each) for each in (namespace.sets, every))
    pods = {name: tuple(pod for _name, pod in sorted(of.items())) for name, (_set, of) in lasting.items()}
    named = sets if params["pools"] else tuple(s for s in sets if is_of_cluster(s, pods[s.name], state))
    if not named:
        raise Refusal(*combine(troubles).reasons, _no_pool(namespace, sets, state))
    own = [pod for one in named for pod in pods[one.name]]
    troubles.append(judge_addresses(state, own, named=bool(params["pools"])))
    others = tuple(s for s in every if s.name not in {one.name for one in named})
    return MembersAndPods(named, pods, state, namespace.pods, others, budgets, paths), troubles


def _in_opensearch(search: OpenSearchClient) -> tuple[ClusterState, DataPaths]:
    """The cluster state to plan with, and the data paths of its members."""
    state = observe(search)
    paths = said_by_all(observe_data_paths(search), [member.name for member in state.members.values()])
    return voting_again(state), paths


def _first_look(params: Mapping[str, Any], rights: _UserRights) -> tuple[Any, Any, _Troubles]:
    """The same for a task that has changed nothing yet.

    Raises:
        NoConnection: that is the only problem.
    """
    seen = _both_sides(params, rights)
    verdict = combine(seen[2])
    if seen[2].no_connection and verdict.state is State.WAITING:
        raise NoConnection(*verdict.without_waiting().deciding())
    return seen


def _both_sides(params: Mapping[str, Any], rights: _UserRights) -> tuple[Any, Any, _Troubles]:
    """One look at both sides, and the problems. Those that time may fix, such as pods that go, are only waiting."""
    troubles = _Troubles()
    there = _attempt(troubles, lambda: _in_kubernetes(params, rights, troubles))
    search = params["opensearch"], params["kubernetes"]
    members = _attempt(troubles, lambda: _in_opensearch(connect(*search)))
    if there is not None and members is not None:
        meant = there[0].sets if params["pools"] else ()
        troubles.append(_attempt(troubles, lambda: _judge_pods(there[0], members[0], meant)) or Verdict())
    return there, members, troubles


def _judge_pods(there: Namespace, state: ClusterState, meant: Collection[StatefulSet]) -> Verdict:
    """Whether no member goes except those under way, all members' pods are controlled by their sets, and the revisions
    of these are known.

    A pod that goes to come back on the revision that its set wants is under way: the run follows it.

    Raises:
        NotUnderstood: a pod that may be of the cluster, or of one of the sets `meant`, cannot be read.
    """
    need_pods(state, there, meant)
    standing = PodsOfMembers(state, there.pods)
    of_members = [pod for pod in there.pods if standing.of(pod)]
    own = [one for one in there.sets if one in meant or is_of_cluster(one, there.pods_of(one).values(), state)]
    owned = (judge_owned(one, of_members) for one in there.sets)
    found = ((one, pod) for one in there.sets for pod in there.pods_of(one).values())
    under_way = {pod.name for one, pod in found if not pod_is_current(one, pod)}
    observed = [judge_revision(one) for one in own]
    made = just_made(pod for one in own for pod in there.pods_of(one).values())
    twins = judge_names(state, made, made)
    return combine((judge_leaving(state, there.pods, under_way), *owned, *observed, twins, judge_unread(there)))


def just_made(pods: Iterable[Pod]) -> frozenset[str]:
    """The names of the pods that are so new that the cluster may not have noticed the end of those before them."""
    return frozenset(pod.name for pod in pods if age_of(pod) < NOTICED)


def once_noticed(task: Task, look: Callable[[], ClusterState], names: Collection[str]) -> ClusterState:
    """The cluster, which is looked at again while it lists two members of one name: it may not have noticed yet that
    one is gone. How long a process has been up is not asked for, so each of `names` may be new. One pass looks once."""
    state = task.ask(look)
    if judge_names(state, names).passed or not task.params.get("wait", True):
        return state
    patience = Patience(min(NOTICED, float(task.params["wait_timeout"])), hands_back=True)
    return task.wait_apart(lambda: task.ask(look), lambda now: judge_names(now, names, names), patience)[0]


def _in_kubernetes(
    params: Mapping[str, Any], rights: _UserRights, troubles: list[Verdict]
) -> tuple[Namespace, tuple[StatefulSet, ...], tuple[Budget, ...]] | None:
    """The namespace with the sets to plan for, all its sets, and its budgets. All missing rights are one verdict."""
    cluster = kubernetes.connect(params["kubernetes"])
    try:
        every = with_missing(cluster, observe_namespace(cluster, params["namespace"]))
        there = _meant(every, _labelled(cluster, every, params["label_selector"]), params)
    except Refusal as error:
        denied = any(reason.code == "kubernetes_rights" for reason in error.verdict.reasons)
        missing = rights.missing(cluster) if denied else Verdict()
        if missing.state is not State.REFUSED:
            raise
        troubles.append(missing)
        return None
    if not every.sets:
        passed_or_raise(judge_namespace(cluster, params["namespace"]))
    troubles += [cluster.judge_connection(), rights.judge(cluster)]
    return there, every.sets, list_budgets(cluster, params["namespace"])


def _attempt(troubles: _Troubles, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Refusal as error:
        troubles.add(error)
        return None


def _labelled(cluster: kubernetes.KubernetesClient, every: Namespace, selector: str | None) -> Namespace:
    """The namespace with only the sets that match the label selector, and those that are to be made again."""
    if not selector:
        return every
    names = {one.name for one in list_stateful_sets(cluster, every.name, selector)}
    return replace(every, sets=tuple(one for one in every.sets if one.name in names or one.uid.startswith(MISSING)))


def _meant(every: Namespace, there: Namespace, params: Mapping[str, Any]) -> Namespace:
    """The namespace with only the named ones of its selected sets, in that order; with all of them if none is named."""
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
        f"Correct pools (upgrade_pools); the namespace has: {those}.",
    )


def _no_pool(there: Namespace, sets: Sequence[StatefulSet], state: ClusterState) -> Reason:
    standing = PodsOfMembers(state, there.pods)
    members = [pod for pod in there.pods if standing.of(pod) is not None and is_left_alone(pod)]
    if members:
        return unsupported(members)
    found = ", ".join(sorted(stateful_set.name for stateful_set in sets)) or "none"
    return refused(
        "no_pools",
        f"No StatefulSet in namespace {there.name} holds members of this OpenSearch cluster (it has: {found}).",
        "Check namespace, label_selector and opensearch.hosts: they must name the same cluster.",
    )
