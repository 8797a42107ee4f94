"""Whether indices without a replica can get one: rules, zones, room and time, judged on what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.replicas import (
    Raising,
    RaisingLook,
    judge_raising,
    judge_started,
    single_indices,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.disk import (
    Disks,
    MemberDisk,
    Watermark,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.finding_replicas import (
    LONGEST,
    listed,
    portions,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.index_replicas import (
    IndexReplicas,
    ReplicaLimits,
    limits_in,
    replicas_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import (
    ClusterMember,
    ClusterState,
    Index,
    ShardCopy,
    Voting,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

from tests.sandbox.opensearch.rooms import FROM

GIB = 1024**3


def look(
    sizes: Mapping[str, int],
    free: Mapping[str, int],
    *,
    zones: str = "",
    limits: ReplicaLimits | None = None,
    refusing: Mapping[str, frozenset[str]] | None = None,
) -> RaisingLook:
    """A cluster whose first member has the only copies of indices with these sizes; `free` is the room of each disk."""
    version = Version.parse(FROM)
    members = {
        name: ClusterMember(
            name, f"e-{name}", name, "", version, frozenset({"data"}), {"zone": zones[number]} if zones else {}
        )
        for number, name in enumerate(free)
    }
    first = next(iter(free))
    copies = tuple(ShardCopy(name, 0, primary=True, state="STARTED", member=first) for name in sizes)
    indices = {name: Index(name, open=True, shards=1, replicas=0, created=version) for name in sizes}
    state = ClusterState("uuid", 1, first, members, copies, indices, Voting(frozenset(), frozenset()))
    says = refusing if refusing is not None else {name: frozenset[str]() for name in free if name != first}
    disks = tuple(MemberDisk(name, 1000 * GIB, 150 * GIB + room) for name, room in free.items())
    return RaisingLook(
        state,
        {name: IndexReplicas(name, f"u-{name}", "0") for name in sizes},
        {(name, 0): size for name, size in sizes.items()},
        {(name, 0): says for name in sizes},
        Disks(disks, {"low": Watermark("85%", used=0.85)}),
        limits or ReplicaLimits(),
    )


def causes(raising: Raising) -> str:
    return " ".join(reason.message for reason in raising.verdict.reasons)


def test_the_largest_go_first_and_all_of_them_have_to_fit() -> None:
    fits = judge_raising(look({"a": 6 * GIB, "b": 5 * GIB, "c": 4 * GIB}, {"m0": 0, "m1": 10 * GIB, "m2": 6 * GIB}))
    assert fits.verdict.passed
    assert fits.places == {("a", 0): "m1", ("b", 0): "m2", ("c", 0): "m1"}
    assert fits.bytes == 15 * GIB
    full = judge_raising(look({"a": 6 * GIB, "b": 5 * GIB, "c": 5 * GIB}, {"m0": 0, "m1": 10 * GIB, "m2": 5 * GIB}))
    assert full.verdict.state is State.REFUSED
    assert "c cannot get a replica for the time of the upgrade: 5.4 GB find no place below the low watermark" in causes(
        full
    )
    assert full.indices == ["a", "b"]
    assert full.refused == {"c"}


def test_the_time_is_that_of_the_member_with_most_to_copy() -> None:
    limits = ReplicaLimits(bytes_a_second=GIB / 10)
    assert judge_raising(look({"a": GIB, "b": GIB}, {"m0": 0, "m1": GIB, "m2": GIB}, limits=limits)).seconds == 20
    assert judge_raising(look({"a": GIB}, {"m0": 0, "m1": GIB})).seconds == 0


def test_awareness_asks_for_another_zone_unless_there_is_but_one() -> None:
    zoned = ReplicaLimits({"zone": frozenset()})
    apart = judge_raising(look({"a": 1}, {"m0": 9, "m1": 9, "m2": 9}, zones="aab", limits=zoned))
    assert apart.places == {("a", 0): "m2"}
    one = judge_raising(look({"a": 1}, {"m0": 9, "m1": 9}, zones="aa", limits=zoned))
    assert one.places == {("a", 0): "m1"}
    forced = ReplicaLimits({"zone": frozenset({"a", "b"})})
    refused = judge_raising(look({"a": 1}, {"m0": 9, "m1": 9}, zones="aa", limits=forced))
    assert "at another zone (allocation awareness)" in causes(refused)


def test_deciders_are_named_with_the_members_that_they_refuse() -> None:
    says = {"m1": frozenset({"filter"}), "m2": frozenset({"filter", "disk_threshold"})}
    refused = judge_raising(look({"a": 1}, {"m0": 9, "m1": 9, "m2": 9}, refusing=says))
    assert "no other member takes it (disk_threshold on 1, filter on 2)" in causes(refused)
    assert "there is no other data member" in causes(judge_raising(look({"a": 1}, {"m0": 9}, refusing={})))


def test_a_shard_on_a_member_that_stays_up_needs_no_place() -> None:
    # Found by seed 400240: after an abort the only upgraded member held a shard, which no older one takes.
    older = {"m1": frozenset({"node_version"}), "m2": frozenset({"node_version"})}
    seen = look({"a": 1}, {"m0": 9, "m1": 9, "m2": 9}, refusing=older)
    other = ShardCopy("a", 1, primary=True, state="STARTED", member="m1")
    sizes, says = {**seen.sizes, ("a", 1): 1}, {**seen.refusing, ("a", 1): {"m0": frozenset[str](), "m2": frozenset()}}
    both = replace(seen, state=replace(seen.state, copies=(*seen.state.copies, other)), sizes=sizes, refusing=says)
    assert "no other member takes it (node_version on 2)" in causes(judge_raising(both))
    raising = judge_raising(replace(both, going=frozenset({"m1", "m2"})))
    assert raising.verdict.passed
    assert list(raising.places) == [("a", 1)]


def test_only_replicas_that_the_members_which_go_need_are_waited_for() -> None:
    state = look({"a": 1}, {"m0": 9, "m1": 9, "m2": 9}).state
    replica = ShardCopy("a", 0, primary=False, state="UNASSIGNED", member=None)
    without = replace(state, copies=(*state.copies, replica))
    assert judge_started(without, {"a"}, ["m1", "m2"], 0).passed
    assert [each.code for each in judge_started(without, {"a"}, ["m0"], 0).deciding()] == ["replicas_starting"]
    coming = replace(state, copies=(*state.copies, replace(replica, state="INITIALIZING", member="m1")))
    assert not judge_started(coming, {"a"}, ["m1", "m2"], 0).passed


def test_more_shards_than_the_cluster_takes_are_refused() -> None:
    few = ReplicaLimits(most_shards=1)
    refused = judge_raising(look({"a": 1, "b": 1}, {"m0": 9, "m1": 9}, limits=few))
    assert "2 more shards make 4, and cluster.max_shards_per_node allows 2" in causes(refused)
    whole = ReplicaLimits(in_cluster=3)
    refused = judge_raising(look({"a": 1, "b": 1}, {"m0": 9, "m1": 9}, limits=whole))
    assert "2 more shards make 4, and cluster.routing.allocation.total_shards_limit allows 3" in causes(refused)
    assert judge_raising(look({"a": 1}, {"m0": 9, "m1": 9}, limits=whole)).verdict.passed


@pytest.mark.parametrize(("most", "names"), [(1, "ab"), (1, "abc"), (2, "abcd"), (2, "abcde"), (None, "abcdefgh")])
def test_a_member_takes_no_more_replicas_than_the_cluster_lets_it_have(most: int | None, names: str) -> None:
    """The decider of that limit is asked for one shard at a time."""
    seen = look(dict.fromkeys(names, 1), {"m0": 9, "m1": 9, "m2": 4}, limits=ReplicaLimits(on_member=most))
    raising = judge_raising(seen)
    possible = most is None or len(names) <= 2 * most
    assert raising.verdict.passed is possible
    taken = list(raising.places.values())
    assert most is None or all(taken.count(name) <= most for name in taken)
    said = f"{names[-1]} cannot get a replica for the time of the upgrade: cluster.routing.allocation"
    assert possible or f"{said}.total_shards_per_node is {most}, and no member that takes it" in causes(raising)


def test_a_replica_with_one_choice_gets_it_before_larger_ones_with_several() -> None:
    seen = look({"large": 2, "small": 1}, {"m0": 9, "m1": 9, "m2": 4}, limits=ReplicaLimits(on_member=1))
    only = {"m1": frozenset[str](), "m2": frozenset({"filter"})}
    raising = judge_raising(replace(seen, refusing={**seen.refusing, ("small", 0): only}))
    assert raising.verdict.passed
    assert raising.places == {("small", 0): "m1", ("large", 0): "m2"}


def test_a_copy_that_moves_counts_where_it_goes() -> None:
    seen = look({"a": 1}, {"m0": 9, "m1": 9}, limits=ReplicaLimits(on_member=1))
    moving = ShardCopy("b", 0, primary=True, state="RELOCATING", member="m0", relocating_to="m1")
    full = replace(seen, state=replace(seen.state, copies=(*seen.state.copies, moving)))
    assert (judge_raising(seen).verdict.passed, judge_raising(full).verdict.passed) == (True, False)


@pytest.mark.parametrize(
    ("most", "shards", "possible"), [("1", 2, True), ("1", 3, False), ("2", 4, True), ("-1", 9, True)]
)
def test_replicas_that_each_have_a_place_and_not_together_are_refused(most: str, shards: int, possible: bool) -> None:
    """The decider of an index's own limit is asked for one shard at a time."""
    rules = {"allocation": {"total_shards_per_node": most}}
    settings = {"uuid": "u", "number_of_replicas": "0", "routing": rules}
    seen = look({"a": 1}, {"m0": 9, "m1": 9, "m2": 9})
    numbers = range(shards)
    copies = tuple(ShardCopy("a", number, primary=True, state="STARTED", member="m0") for number in numbers)
    asked = replace(
        seen,
        state=replace(seen.state, copies=copies),
        indices={"a": replicas_of("a", {"settings": {"index": settings}})},
        sizes={("a", number): 1 for number in numbers},
        refusing={("a", number): {"m1": frozenset(), "m2": frozenset()} for number in numbers},
    )
    raising = judge_raising(asked)
    assert raising.verdict.passed is possible
    assert possible or "leaves 2 places for 3 replicas" in causes(raising)


class Compared(str):
    """The name of an index that counts how often it is compared."""

    __hash__ = str.__hash__
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)


def test_no_index_is_compared_with_all_others() -> None:
    raising = judge_raising(look({Compared(f"i{number}"): 1 for number in range(100)}, {"m0": GIB, "m1": GIB}))
    assert len(raising.indices) == 100
    assert Compared.times < 100 * 30


def test_what_is_not_known_is_waited_for() -> None:
    known = look({"a": 1}, {"m0": 9, "m1": 9})
    for unknown in (
        RaisingLook(known.state, known.indices, {}, known.refusing, known.disks),
        RaisingLook(known.state, known.indices, known.sizes, {}, known.disks),
    ):
        assert judge_raising(unknown).verdict.state is State.WAITING


def test_a_plan_is_made_as_if_they_had_it() -> None:
    seen = look({"a": 1}, {"m0": 9, "m1": 9})
    planned = judge_raising(seen).as_if(seen.state)
    assert single_indices(seen.state, ["m0"], {"a"}) == ["a"]
    assert single_indices(seen.state, ["m1"], {"a"}) == []
    assert single_indices(planned, ["m0"], {"a"}) == []
    assert [(copy.member, copy.primary) for copy in planned.copies] == [("m0", True), ("m1", False)]


def test_names_are_asked_about_in_paths_that_servers_take() -> None:
    names = [f"index-{number:04}-äöü" for number in range(400)]
    parts = list(portions(names))
    assert [name for some in parts for name in some] == names
    assert len(parts) > 1
    assert max(len(listed(some)) for some in parts) <= LONGEST


def test_searchable_snapshots_take_no_room() -> None:
    def of(**store: Any) -> bool:
        settings = {"uuid": "u", "number_of_replicas": "0", "store": store}
        return replicas_of("i", {"settings": {"index": settings}}).in_repository

    assert of(type="remote_snapshot")
    assert of(type="snapshot", snapshot={"partial": "true"})
    assert not of(type="snapshot", snapshot={"repository_name": "r"})
    assert not of(type="fs")


def test_limits_are_read_from_the_scope_in_force() -> None:
    found = limits_in(
        {
            "defaults": {
                "cluster": {
                    "max_shards_per_node": "1000",
                    "max_shards_per_node.frozen": "3000",
                    "routing": {"allocation": {"awareness": {"attributes": []}}},
                },
                "indices": {"recovery": {"max_bytes_per_sec": "40mb"}},
            },
            "persistent": {
                "cluster": {
                    "routing": {
                        "allocation": {"awareness": {"attributes": "zone", "force": {"zone": {"values": "a,b"}}}}
                    }
                },
                "indices": {"recovery": {"max_bytes_per_sec": "80mb"}},
            },
            "transient": {"cluster": {"max_shards_per_node": "2000"}},
        }
    )
    assert found == ReplicaLimits({"zone": frozenset({"a", "b"})}, 2000, 80 * 1024**2)


def test_limits_of_copies_are_read_and_none_of_them_is_one_of_frozen_members() -> None:
    allocation = {"total_shards_per_node": "40", "total_shards_limit": "-1"}
    given = {"max_shards_per_node": {"frozen": "100"}, "routing": {"allocation": allocation}}
    defaults = {"max_shards_per_node": "1000", "routing": {"allocation": {"total_shards_per_node": "-1"}}}
    found = limits_in({"defaults": {"cluster": defaults}, "persistent": {"cluster": given}})
    assert (found.most_shards, found.on_member, found.in_cluster) == (1000, 40, None)
