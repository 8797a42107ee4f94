"""The versions that the cluster lets join, and the members that a plan would lock out. Pure.

The elected manager refuses a member whose major version is below that of every member in the cluster, and one that is
older than an index was created in (server source, JoinTaskExecutor.ensureMajorVersionBarrier and
ensureIndexCompatibility). That of Elasticsearch refuses a member whose whole version is below that of every other one
(`Product.major_barrier`). A new index has the version of the oldest member that holds data or can be elected
(MetadataCreateIndexService), so members that only coordinate do not hold it down.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.state import ClusterMember, ClusterState
from ..observe.version import Version
from .pools import Pool


def admits(state: ClusterState, version: Version) -> bool:
    """Whether a member of this version may join. It may not if an index does not report its version."""
    lowest = min((member.version for member in state.members.values()), default=version)
    barred = version.major < lowest.major if state.product.major_barrier else version < lowest
    created = [index.created for index in state.indices.values()]
    return not barred and all(one is not None and one <= version for one in created)


MODE = "remote_store.compatibility_mode"
"""The setting that lets members with and without a remote store into one cluster, to migrate from one to the other."""


@as_verdict
def judge_migration(state: ClusterState, mode: object, target: Version) -> Iterator[Reason]:
    """Whether no migration to a remote store is under way, in which the servers let no newer member join.

    `mode` is the value of `MODE`. As long as it is `mixed` and a member has a remote store, a member that is newer than
    all others is refused (server source, JoinTaskExecutor.ensureRemoteStoreNodesCompatibility).

    Under `strict` a member joins only with the same attributes of the remote store. The attributes that a new
    template gives a member are known only when it has started. If they differ, the first one does not join, no other
    member is taken down, and its log is shown.
    """
    stored = sorted(member.name for member in state.members.values() if member.has_remote_store)
    newest = max((member.version for member in state.members.values()), default=target)
    if str(mode).lower() != "mixed" or not stored or newest >= target:
        return
    message = (
        f"{MODE} is {mode}, and {enumerate_few(stored)} {'has' if len(stored) == 1 else 'have'} a remote store: the"
        f" cluster is being migrated, and lets no member join that is newer than {newest}."
    )
    remedy = f"End the migration on {newest} and set {MODE} to strict, or null; then run again."
    yield refused("remote_store_migration", message, remedy)


FORMAT_CHANGED, FORMATS_CONFUSED = Version(3, 0, 0), Version(3, 8, 0)
"""From the first version on, a primary describes its segments in a remote store in another format. A member reads all
descriptions in the format that it read first (RemoteSegmentMetadataHandlerFactory keeps one handler); this is known up
to the second version."""


@as_verdict
def judge_stored_format(state: ClusterState, target: Version) -> Iterator[Reason]:
    """Whether members of the target version can read the remote store that older and newer members write.

    Seen from 2.19.6 to 3.8.0: the second upgraded member found both formats, took other bytes for a length, and ended
    with an OutOfMemoryError at each start. Soon the first one did, too, and no primary was left.
    """
    before = [m for m in state.members.values() if m.has_remote_store and m.version < FORMAT_CHANGED]
    if not before or target < FORMAT_CHANGED:
        return
    versions = " and ".join(sorted({str(member.version) for member in before}))
    message = (
        f"These members have a remote store and run {versions}: {enumerate_few(member.name for member in before)}."
        f" Members of {FORMAT_CHANGED} to {FORMATS_CONFUSED} confuse the format that older members have written there"
        " with that of newer ones: they end with an OutOfMemoryError, or fail the shard."
    )
    another_way = "move the indices into a new cluster, by a snapshot or by reindexing."
    if target <= FORMATS_CONFUSED:
        yield refused("remote_store_format", message, f"Instead of upgrading this cluster, {another_way}")
    else:
        unknown = f"{message} It is not known whether {target} reads both."
        yield remark("remote_store_format", unknown, f"Try this upgrade on a copy first; or {another_way}")


def left_by(state: ClusterState, pools: Collection[Pool], going: Collection[str], target: Version) -> list[str]:
    """The names of the members, in the cluster or not, that do not run the target version after the plan."""
    there = {member.name for member in state.members.values() if member.version == target}
    every = {member.name for member in state.members.values()} | {m.name for pool in pools for m in pool.members}
    return sorted(every - there - set(going))


@as_verdict
def judge_left(
    state: ClusterState, pools: Sequence[Pool], going: Collection[str], target: Version, *, allowed: bool
) -> Iterator[Reason]:
    """Whether each member that the plan leaves below the target version could join again after a stop.

    It could as long as another member that holds data or can be elected is left there too. That its pool gets the new
    image does not help it: a container that restarts keeps the image of its pod, and only a pod that is made again has
    that of the pool (Kubernetes documentation, StatefulSets, Update strategies: OnDelete). `going` are the names of the
    members that the plan upgrades. If the plan upgrades the major version, the user has to consent (`allowed`);
    otherwise it is a remark.
    """

    def is_below(version: Version) -> bool:
        return version.major < target.major if state.product.major_barrier and locks_out else version < target

    locks_out = any(m.name in going and _bars(m.version, target, state) for m in state.members.values())
    left = [m for m in state.members.values() if m.name not in going and is_below(m.version)]
    holding = {member.name for member in left if member.holds_data or member.manager_eligible}
    away = {m.name for pool in pools for m in pool.members if m.version is None and m.name not in going}
    away -= {m.name for pool in pools for m in pool.members if _comes_back_renewed(pool, m.name)}
    stands_still = {member.name for member in left if _stands_still_without(member, state)}
    endangered = ({member.name for member in left} | away) - stands_still
    locked = [name for name in endangered if not holding - {name}]
    if not locked:
        return
    stays, it, them = ("stays", "it", "it") if len(locked) == 1 else ("stay", "they", "them")
    end = f"{it} can no longer join" if locks_out else f"any index made since keeps {them} out"
    known = sorted({member.version for member in left if member.name in locked})
    versions = " and ".join(str(version) for version in known) or "the image of its pool"
    message = (
        f"{enumerate_few(locked)} {stays} on {versions}, while every other member that holds data or can"
        f" be elected goes to {target} or runs it already. Once stopped, {end}.{_of_pods(pools, locked, going)}"
    )
    if not locks_out:
        yield remark("left_behind", message, "Upgrade the remaining members, too.")
    elif allowed:
        yield remark("left_behind", f"{message} That is allowed.")
    else:
        yield refused(
            "left_behind",
            message,
            "Upgrade all members in one run: leave out pools (upgrade_pools), members (upgrade_members) and"
            " label_selector; or accept it with allow_left_behind.",
        )


def _bars(version: Version, target: Version, state: ClusterState) -> bool:
    """Whether a member of this version could not join any more, if every other one ran the target version."""
    return version.major < target.major if state.product.major_barrier else version < target


def _stands_still_without(member: ClusterMember, state: ClusterState) -> bool:
    """Whether no manager can be elected without it: when it comes back it is elected, and lets the others join."""
    configurations = (state.voting.committed, state.voting.accepted)
    return any(2 * len(voters - {member.id}) <= len(voters) for voters in configurations if voters)


def _comes_back_renewed(pool: Pool, name: str) -> bool:
    """Whether the pod of a member that is away has the new image already, or gets it when it is made."""
    return bool(pool.container) and pool.image == pool.target_image and name not in pool.returning


def _of_pods(pools: Sequence[Pool], locked: Collection[str], going: Collection[str]) -> str:
    """The words for members whose pool has the new image or gets it for others: their pods keep the old one."""
    names = [
        member.name
        for pool in pools
        if pool.container and not pool.by_partition
        if pool.image == pool.target_image or any(member.name in going for member in pool.members)
        for member in pool.members
        if member.name in locked
    ]
    if not names:
        return ""
    return (
        f" A container that restarts keeps the image of its pod: {enumerate_few(names)} would then be away until"
        f" {'that pod is' if len(names) == 1 else 'those pods are'} deleted, and made again on the new image."
    )
