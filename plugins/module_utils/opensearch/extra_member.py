"""The work of the module `extra_member`: a pool has one more member for the time of an upgrade.

The member is made on the new version, so it needs no batch. It goes when its shards have moved to others, and its
volumes go with it. If it went in another way, they stay as long as the cluster misses a shard. A run that was killed
leaves its mark on the StatefulSet, from which any later run continues.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..common.arguments import CONNECTIONS, CONSENT, NAMESPACE, WAIT
from ..common.attempts import until_unchanged
from ..common.errors import Denied, Refusal, refusal
from ..common.task import Contract, Outcome, Task, attempt, passed_or_raise
from ..common.timestamps import timestamp_of, utc_now
from ..common.verdict import State, Verdict, combine, remark
from ..kubernetes import client as kubernetes
from ..kubernetes.claims import claim_path
from ..kubernetes.client import Json, KubernetesClient
from ..kubernetes.rights import missing_rights
from ..kubernetes.state import StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set, list_stateful_sets, path_of, stateful_set
from ..pools import pool_image
from ..pools.deployers import DEPLOYERS, judge_owner
from ..pools.extra import (
    MARK,
    changed_by_another,
    claims_of,
    is_of_cluster,
    mark_of,
    marking,
    shrinking,
    taking_over,
    unmarking,
)
from ..pools.pod_roll import Questions, roll
from ..pools.size import next_member
from ..pools.volume_sizes import VOLUMES
from ..run.begin_and_end import part_of, with_arguments
from ..run.lock.lease import lease_at
from ..run.lock.lock_watch import Writers, writer_of
from ..run.undo.temporary_changes import ATTEMPTS
from ..run.undo.undo import Undo
from . import pod_roll, shard_allocation
from .batch_proof import BatchProof
from .extra_room import CAPACITY_POLICY, as_optional, judge_extra_room
from .judge.index_names import index_names
from .judge.lost_data import judge_last_copies
from .judge.sizes import judge_extra
from .judge.upgrade_path import target_of
from .observe.client import OpenSearchClient, connect
from .observe.cluster import cluster_uuid, observe
from .observe.state import ClusterState
from .removal import judge_gone, proven_anew, remove_member, while_proven
from .rights import EXTRA_MEMBER

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 1200},
        **CONSENT,
        "state": {"type": "str", "default": "present", "choices": ["present", "planned", "absent"]},
        "pool": {"type": "str"},
        "image": {"type": "str"},
        "container": {"type": "str"},
        "strategy": pool_image.CONTRACT.argument_spec["strategy"],
        "target_version": {"type": "str"},
        "allow_field_managers": {"type": "list", "elements": "str", "choices": list(DEPLOYERS), "default": []},
        **VOLUMES,
        **CAPACITY_POLICY,
        "take_over": {"type": "str", "default": ""},
    },
    required_if=[("state", "present", ("pool",)), ("state", "planned", ("pool",))],
)


def run(task: Task) -> Outcome:
    """Make the member and follow it until it has joined, judge whether it may be made, or remove it."""
    cluster = kubernetes.connect(task.params["kubernetes"])
    search = connect(task.params["opensearch"], task.params["kubernetes"])
    if task.params["state"] == "planned":
        return task.settled(lambda: _foreseen(task, cluster, search))
    return (_present if task.params["state"] == "present" else _absent)(task, cluster, search)


def _foreseen(task: Task, cluster: KubernetesClient, search: OpenSearchClient) -> Outcome:
    """The verdict on making the member. One that is there already was judged before."""
    pool = get_stateful_set(cluster, task.params["namespace"], task.params["pool"])
    if mark_of(pool) is not None:
        return Outcome(Verdict(), before={"replicas": pool.replicas})
    # The member could be made without these rights, and its claims would stay.
    claims = claims_of(pool, next_member(pool))
    rights = missing_rights(cluster, pool.namespace, EXTRA_MEMBER, seen=True) if claims else Verdict()
    verdict = _judged(task, cluster, pool, observe(search)) if rights.passed else rights
    room = judge_extra_room(task, cluster, pool) if verdict.passed else Verdict()
    optional = task.params["capacity_policy"] == "continue"
    verdict = combine((verdict, as_optional(room) if optional else room))
    return Outcome(verdict, before={"replicas": pool.replicas})


def _judged(task: Task, cluster: KubernetesClient, pool: StatefulSet, state: ClusterState) -> Verdict:
    claims = claims_of(pool, next_member(pool))
    there = [each for each in claims if cluster.get(claim_path(pool.namespace, each)) is not None]
    return combine((judge_owner(pool, task.params["allow_field_managers"]), judge_extra(pool, there, state)))


def _present(task: Task, cluster: KubernetesClient, search: OpenSearchClient) -> Outcome:
    params, before = task.params, get_stateful_set(cluster, task.params["namespace"], task.params["pool"])
    if mark_of(before) is None:
        passed_or_raise(_judged(task, cluster, before, task.ask(lambda: observe(search))))
        passed_or_raise(judge_extra_room(task, cluster, before))
    if params["image"]:
        own = {"state": "present", "wait_timeout": 300}
        imaged = attempt(lambda given: part_of(given, pool_image.CONTRACT, pool_image.run, **own), task)
        if not imaged.verdict.passed:
            return imaged
    uuid = task.ask(lambda: cluster_uuid(search))
    pool = task.ask(lambda: until_unchanged(lambda: _grown(task, cluster, uuid), ATTEMPTS))
    mark = mark_of(pool) if not task.check_mode else None
    name = str(mark.more["member"]) if mark is not None else next_member(before)
    was, now = {"replicas": before.replicas}, {"replicas": pool.replicas}
    if task.check_mode:
        return Outcome(Verdict(), mark_of(before) is None, was, now, more={"member": name})
    joined = _followed(task, cluster, search, name)
    changed = joined.changed or bool(task.journal.as_result())
    return Outcome(_in_time(task, mark, joined.verdict), changed, was, now, more={"member": name})


def _in_time(task: Task, mark: Undo | None, verdict: Verdict) -> Verdict:
    """The verdict of a single pass, whose time counts from the creation of the member."""
    if mark is None or verdict.state is not State.WAITING or task.params["wait"]:
        return verdict
    seconds = (utc_now() - timestamp_of(mark.writer.at)).total_seconds()
    return verdict.without_waiting() if seconds > task.params["wait_timeout"] else verdict


def _grown(task: Task, cluster: KubernetesClient, uuid: str) -> StatefulSet:
    """The pool with its additional replica, which is made at most once."""
    params = task.params
    pool = get_stateful_set(cluster, params["namespace"], params["pool"])
    mark, writer = mark_of(pool), writer_of(task)
    if mark is None:
        return _patched(task, cluster, pool, marking(pool, writer, uuid), "added_member", next_member(pool))
    if pool.replicas != mark.changes[0].set_to:
        remedy = f"Set the replicas as they should be, and remove the annotation {MARK}."
        raise refusal("extra_member_changed_by_another", changed_by_another(pool, mark), remedy)
    if mark.writer.run != writer.run:
        return _patched(task, cluster, pool, taking_over(pool, mark, writer), "took_over", str(mark.more["member"]))
    return pool


def _followed(task: Task, cluster: KubernetesClient, search: OpenSearchClient, name: str) -> Outcome:
    """The member once it is Ready and in the cluster, on the target version if there is one."""
    target = target_of(task.params["target_version"]) if task.params["target_version"] else None
    rolling = _rolling(task, name, task.params["pool"], ())
    batch = BatchProof(rolling, search, target, loses_data=True)
    asked = Questions(batch.proof, batch.joined)
    return roll(rolling, cluster, task.params["namespace"], [task.params["pool"]], [name], asked)


def _rolling(task: Task, name: str, pool: str, expected: tuple[str, ...]) -> Task:
    own: dict[str, Any] = {"batch": [name], "pools": [pool], "expected": list(expected)}
    own |= {"allocation": "restrict", "hand_over": True, "until": "ready", "replace_marked": []}
    return with_arguments(task, **pod_roll.CONTRACT.arguments(task.params, **own))


def _absent(task: Task, cluster: KubernetesClient, search: OpenSearchClient) -> Outcome:
    """Remove the extra member of the pool, or of each pool of the cluster; each is tried even if another fails."""
    params, namespace = task.params, task.params["namespace"]
    there = task.ask(lambda: list_stateful_sets(cluster, namespace))
    marked = [pool for pool in there if MARK in pool.annotations and params["pool"] in (None, pool.name)]
    if marked:
        state = task.ask(lambda: observe(search))
        names = {member.name for member in state.members.values()}
        marked = [pool for pool in marked if is_of_cluster(pool, state.uuid, names)]
    writers = Writers(task, partial(lease_at, cluster), "extra_member")
    # A single pass could neither leave the exclusion in place nor start it again.
    patient = with_arguments(task, wait=True)
    removal = partial(_removed, cluster, search, writers)
    done = [attempt(partial(removal, pool), patient) for pool in marked]
    return Outcome(
        combine(each.verdict for each in done),
        any(each.changed for each in done),
        before={pool.name: {"replicas": pool.replicas} for pool in marked},
        after={pool.name: {"replicas": _replicas_before(pool)} for pool in marked},
    )


def _replicas_before(pool: StatefulSet) -> int:
    try:
        mark = mark_of(pool)
    except Refusal:
        return pool.replicas
    return int(mark.changes[0].was) if mark is not None else pool.replicas


def _removed(
    cluster: KubernetesClient, search: OpenSearchClient, writers: Writers, pool: StatefulSet, task: Task
) -> Outcome:
    mark = mark_of(pool)
    if mark is None:
        return Outcome(Verdict())
    writers.judge(mark.writer)
    change, name = mark.changes[0], str(mark.more["member"])
    if pool.replicas not in (change.was, change.set_to):
        _finished(task, cluster, pool)
        return Outcome(_left_alone(pool, mark), True)
    gone = (
        proven_anew(task, partial(_drained_and_gone, task, cluster, search, pool, mark))
        if pool.replicas == change.set_to
        # A run that was killed has removed it with a proof, but another may have made the pool smaller without one.
        else Outcome(_without_last_copies(task, search, name), changed=task.check_mode)
    )
    if not gone.verdict.passed or task.check_mode:
        return gone
    left = _without_claims(task, cluster, pool, name)
    _finished(task, cluster, pool)
    return Outcome(left, True)


def _left_alone(pool: StatefulSet, mark: Undo) -> Verdict:
    said = f"{changed_by_another(pool, mark)} They are left as they are."
    return Verdict((remark("extra_member_changed_by_another", said),))


def _drained_and_gone(
    task: Task, cluster: KubernetesClient, search: OpenSearchClient, pool: StatefulSet, mark: Undo
) -> Outcome:
    """The outcome once the member has no shard, no pod and no place in the cluster."""
    name = str(mark.more["member"])
    state = task.ask(lambda: observe(search))
    members = tuple(each.name for each in state.members.values())
    shrink = partial(_shrunk, task, cluster, pool.name)
    if name not in members:
        proven = _without_last_copies(task, search, name)
        if not proven.passed:
            return Outcome(proven)
        while_proven(task, shrink)
        if task.check_mode:
            return Outcome(Verdict(), True)
        return Outcome(
            task.wait(partial(judge_gone, cluster, search, pool.namespace, name), lambda found: found)[1], True
        )
    drained = attempt(lambda given: _allocation(given, state="drained", batch=[name]), task)
    gone = drained
    if drained.verdict.passed:
        rolling = _rolling(task, name, pool.name, members)
        gone = attempt(lambda given: remove_member(given, cluster, search, shrink), rolling)
    back = attempt(lambda given: _allocation(given, state="restored", part="batch"), task)
    return Outcome(combine((gone.verdict, back.verdict)), drained.changed or gone.changed)


def _without_last_copies(task: Task, search: OpenSearchClient, name: str) -> Verdict:
    """Whether the cluster misses no data that the volumes of this member may hold."""
    given_up = index_names(task.params["allow_red_indices"], "allow_red_indices")
    return task.wait(lambda: observe(search), lambda state: judge_last_copies(state, name, given_up))[1]


def _allocation(task: Task, **own: Any) -> Outcome:
    return part_of(task, shard_allocation.CONTRACT, shard_allocation.run, **own)


def _shrunk(task: Task, cluster: KubernetesClient, name: str) -> bool:
    def attempt_once() -> bool:
        pool = get_stateful_set(cluster, task.params["namespace"], name)
        mark = mark_of(pool)
        if mark is None or pool.replicas != mark.changes[0].set_to:
            return False
        _patched(task, cluster, pool, shrinking(pool, mark), "removed_member", str(mark.more["member"]))
        return True

    return until_unchanged(attempt_once, ATTEMPTS)


def _without_claims(task: Task, cluster: KubernetesClient, pool: StatefulSet, member: str) -> Verdict:
    """Delete the volume claims of the member, which were made with it. One that may not be deleted is a remark.

    They stay if another has given the pool its replica back: its pod uses them again.
    """
    for claim in claims_of(pool, member):
        now = task.ask(partial(get_stateful_set, cluster, pool.namespace, pool.name))
        mark = mark_of(now)
        if mark is not None and member in now.member_names():
            return _left_alone(now, mark)
        path = claim_path(pool.namespace, claim)
        try:
            found = task.ask(partial(cluster.get, path))
            if found is not None:
                task.ask(partial(_delete_claim, task, cluster, path, found))
        except Denied as error:
            said = f"The volume claim {claim} of the extra member stays. {error.verdict.reasons[0].message}"
            return Verdict((remark("extra_member_claim_left", said, "Delete it by hand."),))
    return Verdict()


def _delete_claim(task: Task, cluster: KubernetesClient, path: str, found: Json) -> None:
    task.still_wanted()
    with task.journal.doing(("deleted_claim", path.rpartition("/")[2], {})):
        cluster.delete(path, found["metadata"]["uid"])


def _finished(task: Task, cluster: KubernetesClient, pool: StatefulSet) -> None:
    def attempt_once() -> None:
        found = get_stateful_set(cluster, pool.namespace, pool.name)
        if MARK in found.annotations:
            _patched(task, cluster, found, unmarking(found), "unmarked", pool.name)

    task.ask(lambda: until_unchanged(attempt_once, ATTEMPTS))


def _patched(
    task: Task, cluster: KubernetesClient, pool: StatefulSet, patch: dict[str, Any], action: str, target: str
) -> StatefulSet:
    if not task.check_mode:
        task.still_wanted()
    with task.journal.doing((action, target, {"pool": pool.name})):
        answer = cluster.patch(path_of(pool.namespace, pool.name), patch, "merge", dry_run=task.check_mode)
    return stateful_set(answer)
