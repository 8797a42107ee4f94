"""The invariants about members, copies and votes: sentences of what is wrong in an observation. Pure.

A member that is taken down is judged by the truth. Something that was changed by others is no fault of the run as long
as no look of it could show the change, so `seen` is the truth at the last look; `order` has the age of that look.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tests.runs.observer.sight import Consents, Key, Pod, Sight
from tests.sandbox.opensearch.voting import has_majority


@dataclass(frozen=True)
class Takedown:
    """Members that are taken down by one act of the run."""

    names: frozenset[str]
    away: frozenset[str] = frozenset()
    """Those that the run has taken down before, and that are not back."""

    @property
    def batch(self) -> frozenset[str]:
        """All of them."""
        return self.names | self.away


def listed(names: Collection[str]) -> str:
    """Names in a sentence."""
    return ", ".join(sorted(names))


def shard_of(key: Key) -> str:
    """A shard in a sentence."""
    return f"{key[0]}[{key[1]}]"


def kept_copies(now: Sight, seen: Sight, taken: Takedown, consents: Consents) -> Iterator[str]:
    """Each shard keeps a started copy outside the members that are down or going."""
    going = taken.batch | now.going
    known = taken.batch | seen.going
    for key, shard in now.shards.items():
        if not shard.started & taken.names or shard.started - going or consents.cover(key[0], shard.copies):
            continue
        before = seen.shards.get(key)
        if before is not None and not before.started - known:
            text = f"{listed(taken.names)} goes down with the last started copy of {shard_of(key)}"
            others = shard.started & going - taken.names
            yield f"{text}; the other copies are on {listed(others)}, going too" if others else text


def served(
    now: Sight, holders: Mapping[Key, frozenset[str]], hit: Collection[str], consents: Consents
) -> Iterator[str]:
    """Each shard has a started copy on a member that runs.

    `holders` are the members that have had a started copy since all of them served, `hit` those that a foreign fault
    has taken.
    """
    for key, shard in now.shards.items():
        held = holders.get(key, frozenset())
        if shard.started or shard.fresh or not held or held & {*hit} or consents.cover(key[0], shard.copies):
            continue
        yield f"{shard_of(key)} has no started copy on a member that runs; it was on {listed(held)}"


def kept_majority(now: Sight, hit: Collection[str], consents: Consents) -> Iterator[str]:
    """The members that run are a majority of both voting configurations; those hit by a foreign fault count, too."""
    if consents.quorum_loss:
        return
    there = {name for name, member in now.members.items() if member.booted and member.manages} | {*hit}
    for name, configuration in (("committed", now.committed), ("accepted", now.accepted)):
        if not has_majority(configuration, there):
            yield (
                f"{listed(configuration & there) or 'no member'} is no majority of the {name} voting configuration"
                f" {listed(configuration)}"
            )


def saved(now: Sight, target: str) -> Iterator[str]:
    """A whole snapshot of the upgrade to this version is there."""
    names = {
        f"{name} is {state}" for (_, name), state in now.snapshots.items() if name.startswith(f"upgrade-{target}-")
    }
    if not any(each.endswith(" is SUCCESS") for each in names):
        yield f"a member goes down before a snapshot of the upgrade to {target} is whole ({listed(names) or 'none'})"


def right_pod(now: Sight, name: str, uid: str) -> Iterator[str]:
    """A deletion has the UID of the pod that it hits, and its precondition says so."""
    pod = now.pods.get(name)
    if not uid:
        yield f"the pod of {name} is deleted without its UID as a precondition"
    elif pod is not None and pod.uid != uid:
        yield f"the deletion of the pod of {name} names the UID {uid}, and its pod is {pod.uid}"


def not_done(now: Sight, taken: Takedown) -> Iterator[str]:
    """No member goes down whose pod is of the revision that its pool wants, unless its Kubernetes node is emptied."""
    for name in sorted(taken.names):
        pool, pod = now.pool_of(name), now.pods.get(name)
        if pod is not None and pod.node in now.emptied:
            continue
        if pool is not None and pod is not None and pool.revision and pod.revision == pool.revision:
            yield f"{name} goes down although its pod is of the revision {pod.revision} that {pool.name} wants"


def one_batch(now: Sight, taken: Takedown, batching: str) -> Iterator[str]:
    """The members that the run has taken down together belong to one batch."""
    together = taken.batch
    if len(together) < 2:
        return
    if batching == "serial":
        yield f"{listed(taken.names)} goes down while {listed(taken.away)} is away, and a batch has one member"
        return
    zones = {now.members[name].zone for name in together if name in now.members}
    if batching == "zones" and len(zones) > 1:
        yield f"{listed(together)} are away together, and are of the zones {listed(zones)}"
    if now.upgrading and not any(together <= batch for batch in now.upgrading):
        batches = "; ".join(listed(each) for each in now.upgrading)
        yield f"{listed(together)} are away together, and the batch at work is {batches}"


def others_stand(seen: Sight, pods: Mapping[str, Pod], taken: Takedown) -> Iterator[str]:
    """Nothing is taken down while a member outside the batch is missing, or its pod is going or not Ready.

    `pods` are those of the last look at them. Taking down what is already away has no effect; and where no pod of the
    batch is Ready, it is brought back, although others may not be Ready either.
    """
    if not any(name in seen.members and seen.members[name].serves for name in taken.names):
        return
    planned = [batch for batch in seen.upgrading if taken.names <= batch]
    batch = taken.batch.union(*planned)
    pools = {pool.name for name in taken.names if (pool := seen.pool_of(name))}
    broken = not any(name in pods and pods[name].ready for name in batch)
    for name in sorted(seen.expected() - batch):
        pod, pool = pods.get(name), seen.pool_of(name)
        if not seen.members[name].joined:
            what = "is not in the cluster"
        elif pod is None or pod.going:
            what = "has a pod that is going" if pod else "has no pod"
        elif not pod.ready and not broken and pool is not None and pool.name in pools:
            what = "has a pod that is not Ready"
        else:
            continue
        yield f"{listed(taken.names)} goes down while {name} {what}"
