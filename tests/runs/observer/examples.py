"""Observations for the tests of the invariants: a cluster that is right, and ways to another state of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.runs.observer.sight import Member, Pod, Pool, Shard, Sight

ALL = ("m-0", "m-1", "m-2")
KEY = ("orders", 0)
ON_DELETE, ROLLING = {"type": "OnDelete"}, {"type": "RollingUpdate"}
NO_MEMBERS = frozenset[str]()
POOL = Pool("m", 3, "new", ON_DELETE, {"opensearch": "opensearch:2"}, {}, {"replicas": 3})
GOOD = Sight(
    pods={name: Pod(f"uid of {name}", "old") for name in ALL},
    pools={"m": POOL},
    holder="run",
    upgrading=(frozenset({"m-0"}),),
    members={name: Member(f"process of {name}", "2.0.0", zone=name[-1]) for name in ALL},
    shards={KEY: Shard(2, frozenset({"m-0", "m-1"}))},
    committed=frozenset(ALL),
    accepted=frozenset(ALL),
    indices={"orders": {"number_of_replicas": "1", "uuid": "u"}},
)


def with_member(sight: Sight, name: str, **changed: Any) -> Sight:
    """The sight with another state of a member."""
    return replace(sight, members={**sight.members, name: replace(sight.members[name], **changed)})


def with_pod(sight: Sight, name: str, **changed: Any) -> Sight:
    """The sight with another state of a pod."""
    return replace(sight, pods={**sight.pods, name: replace(sight.pods[name], **changed)})


def with_pool(sight: Sight, **changed: Any) -> Sight:
    """The sight with another state of its pool."""
    return replace(sight, pools={"m": replace(sight.pools["m"], **changed)})


def with_copies(copies: int, *started: str, fresh: bool = False) -> Sight:
    """The sight with other copies of its shard."""
    return replace(GOOD, shards={KEY: Shard(copies, frozenset(started), fresh)})


def one(said: Iterable[str]) -> str:
    """The only sentence."""
    (found,) = said
    return found
