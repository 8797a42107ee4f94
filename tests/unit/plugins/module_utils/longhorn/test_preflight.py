"""Everything that hinders a switch, all of it at once; and the order of the nodes with their proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.gate import all_whole, may_go_down
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.order import digest, is_done, order
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.preflight import (
    judge_target,
    preflight,
    version_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.volumes import left_to_rebuild
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe import reading
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import (
    Backup,
    Longhorn,
    LonghornDisk,
)

from tests.unit.plugins.module_utils.longhorn.world import (
    NEW,
    OLD,
    Places,
    manager,
    marked,
    moved,
    with_engine,
    with_managers,
    with_node,
    with_volume,
    world,
)

TRUE = StatusCondition("True", "", "")
FALSE = StatusCondition("False", "DiskNotReady", "the device is gone")
NODES = ("n1", "n2", "n3")
ACCEPTED = frozenset({"instance_manager_replacement"})
SPREAD = ("n1", "n2", "n3")
F1: Places = {"vol-1": ("n1", ("n1",)), "vol-2": ("n1", SPREAD), "vol-3": ("n1", SPREAD)}
F2: Places = {"vol-1": ("n1", ("n2",)), "vol-2": ("n1", SPREAD), "vol-3": ("n1", SPREAD)}
S1: Places = {"vol-1": ("n1", SPREAD), "vol-2": ("n1", SPREAD), "vol-3": ("n1", SPREAD)}
S2: Places = dict.fromkeys(("vol-1", "vol-2", "vol-3"), ("n1", ("n2", "n3")))
S3: Places = {"vol-1": ("n1", SPREAD), "vol-2": ("n2", SPREAD), "vol-3": ("n3", SPREAD)}


def codes(seen: Longhorn, accepted: frozenset[str] = ACCEPTED) -> dict[str, State]:
    """The codes of what hinders it, with their states."""
    return {each.code: each.state for each in preflight(seen, NODES, NEW, accepted).reasons}


@pytest.mark.parametrize("places", [F1, F2], ids=["F1", "F2"])
def test_the_failing_cases_of_the_design_are_refused_with_the_volume_named(places: Places) -> None:
    (reason,) = preflight(world(places), NODES, NEW, ACCEPTED).reasons
    assert (reason.code, reason.state) == ("single_replica", State.REFUSED)
    assert "Volume vol-1 has a single replica" in reason.message


def test_a_second_replica_needs_a_node_that_takes_it() -> None:
    seen = world(F1)
    assert preflight(seen, NODES, NEW, ACCEPTED, extra_replicas=True).passed
    shut = with_node(with_node(seen, "n2", allow_scheduling=False), "n3", disks=())
    (reason,) = preflight(shut, NODES, NEW, ACCEPTED, extra_replicas=True).reasons
    assert (reason.code, reason.state) == ("no_room_for_replica", State.WAITING)
    assert "second replica of volume vol-1 before node n1" in reason.message
    assert preflight(with_node(shut, "n2", mark="run-1"), NODES, NEW, ACCEPTED, extra_replicas=True).passed
    # A filesystem disk takes none of a v2 volume.
    file_system = with_node(shut, "n3", disks=(LonghornDisk("disk-2", "filesystem", TRUE, TRUE),))
    assert not preflight(file_system, NODES, NEW, ACCEPTED, extra_replicas=True).passed


@pytest.mark.parametrize(
    ("fields", "takes"),
    [
        ({"allowScheduling": True}, True),
        ({"allowScheduling": True, "evictionRequested": False}, True),
        ({"allowScheduling": True, "evictionRequested": True}, False),
        ({"allowScheduling": False}, False),
        ({}, False),
    ],
)
def test_a_disk_that_a_person_has_closed_takes_no_second_replica(fields: dict[str, bool], takes: bool) -> None:
    conditions = [{"type": each, "status": "True"} for each in ("Ready", "Schedulable")]
    item = {
        "metadata": {"name": "n3"},
        "spec": {"allowScheduling": True, "disks": {"disk-1": {"diskType": "block", **fields}}},
        "status": {"conditions": conditions, "diskStatus": {"disk-1": {"conditions": conditions}}},
    }
    seen = with_node(world(F1), "n2", allow_scheduling=False)
    seen = replace(seen, nodes={**seen.nodes, "n3": reading.node("n3", item)})
    found = preflight(seen, NODES, NEW, ACCEPTED, extra_replicas=True).reasons
    assert ("no_room_for_replica" in {each.code for each in found}) is not takes


def test_copies_that_are_being_rebuilt_are_waited_for() -> None:
    places: Places = {"vol-1": ("n1", ("n1", "n2"))}
    lost = with_engine(world(places), "vol-1", modes={"vol-1-r-1": "RW", "vol-1-r-2": "ERR"})
    ill = with_volume(lost, "vol-1", robustness="degraded")
    waits = dict.fromkeys(("replicas_on_one_node", "volume_degraded", "no_other_node"), State.WAITING)
    assert codes(ill) == waits


@pytest.mark.parametrize("places", [S1, S2, S3], ids=["S1", "S2", "S3"])
def test_the_succeeding_cases_of_the_design_pass(places: Places) -> None:
    assert preflight(world(places), NODES, NEW, ACCEPTED).reasons == ()


TABLE: list[tuple[str, Callable[[Longhorn], Longhorn], State]] = [
    ("replicas_on_one_node", lambda _seen: world({"vol-1": ("n1", ("n2", "n2"))}), State.REFUSED),
    ("volume_degraded", lambda seen: with_volume(seen, "vol-1", robustness="degraded"), State.WAITING),
    (
        "replica_rebuilds",
        lambda seen: with_engine(seen, "vol-1", modes={"vol-1-r-1": "RW", "vol-1-r-2": "WO", "vol-1-r-3": "RW"}),
        State.WAITING,
    ),
    ("volume_busy", lambda seen: replace(seen, backups=(Backup("b-1", "vol-1", "InProgress"),)), State.WAITING),
    ("frontend_ublk", lambda seen: with_volume(seen, "vol-1", frontend="ublk"), State.REFUSED),
    ("strict_local", lambda seen: with_volume(seen, "vol-1", data_locality="strict-local"), State.REFUSED),
    ("backing_image_removed", lambda seen: with_volume(seen, "vol-1", backing_image="golden"), State.REFUSED),
    ("engine_moves", lambda seen: with_volume(seen, "vol-1", switchover="preparing"), State.WAITING),
    ("volume_in_between", lambda seen: with_volume(seen, "vol-1", state="attaching"), State.WAITING),
    ("system_not_upgraded", lambda seen: with_managers(seen, "n2", manager("n2", OLD)), State.REFUSED),
    (
        # The run that has begun the node has seen it.
        "manager_missing",
        lambda seen: with_managers(with_node(seen, "n2", mark="run-1"), "n2", manager("n2", OLD)),
        State.WAITING,
    ),
    ("manager_missing", lambda seen: with_managers(with_node(seen, "n2", mark="run-1"), "n2"), State.WAITING),
    ("node_without_v2", lambda seen: with_managers(seen, "n2"), State.REFUSED),
    ("node_emptied", lambda seen: with_node(seen, "n2", mark="outside-1@emptied"), State.REFUSED),
    (
        "node_not_ready",
        lambda seen: with_node(seen, "n2", conditions={"HugePagesAvailable": StatusCondition("True", "", "")}),
        State.WAITING,
    ),
    (
        "node_cordoned",
        lambda seen: replace(seen, kubernetes_nodes={}),
        State.WAITING,
    ),
    (
        "huge_pages_missing",
        lambda seen: with_node(
            seen,
            "n2",
            conditions={
                "Ready": StatusCondition("True", "", ""),
                "HugePagesAvailable": StatusCondition("False", "", "None configured"),
            },
        ),
        State.REFUSED,
    ),
    (
        "huge_pages_unknown",
        lambda seen: with_node(seen, "n2", conditions={"Ready": StatusCondition("True", "", "")}),
        State.WAITING,
    ),
    (
        "no_rebuild_slots",
        lambda seen: replace(seen, settings={**seen.settings, "concurrent-replica-rebuild-per-node-limit": "0"}),
        State.REFUSED,
    ),
    (
        "no_other_node",
        lambda seen: with_managers(
            with_managers(seen, "n2", manager("n2", OLD, api_version=3), manager("n2", NEW, "stopped")),
            "n3",
            manager("n3", OLD, api_version=3),
            manager("n3", NEW, "stopped"),
        ),
        State.REFUSED,
    ),
    (
        "disks_wait",
        lambda seen: with_node(seen, "n2", disks=(LonghornDisk("disk-1", "block", FALSE, FALSE),)),
        State.WAITING,
    ),
    ("detached_volumes", lambda seen: with_volume(seen, "vol-1", state="detached"), State.PASSED),
    (
        "too_far",
        lambda seen: with_managers(
            seen, "n1", manager("n1", OLD.replace("1.12", "1.10")), manager("n1", NEW, "stopped")
        ),
        State.REFUSED,
    ),
    (
        "downgrade",
        lambda seen: with_managers(
            seen, "n1", manager("n1", OLD.replace("1.12.0", "1.13.0")), manager("n1", NEW, "stopped")
        ),
        State.REFUSED,
    ),
    (
        "version_unknown",
        lambda seen: with_managers(
            seen, "n1", manager("n1", "mirror/manager@sha256:0a"), manager("n1", NEW, "stopped")
        ),
        State.REFUSED,
    ),
]


@pytest.mark.parametrize(("code", "spoil", "state"), TABLE, ids=[row[0] for row in TABLE])
def test_each_blocker_is_named(code: str, spoil: Callable[[Longhorn], Longhorn], state: State) -> None:
    assert codes(spoil(world(S1)))[code] is state


def test_a_detached_volume_with_a_backing_image_is_named_where_longhorn_replaces_by_itself() -> None:
    attached = with_volume(world({"vol-1": ("n1", SPREAD)}), "vol-1", backing_image="golden")
    assert "backing_image_left" not in codes(attached)
    seen = with_volume(attached, "vol-1", state="detached", node="", robustness="")
    empty = tuple(replace(each, instances=()) for each in seen.managers)
    seen = replace(seen, engines=(), frontends=(), managers=empty)
    found = [each for each in preflight(seen, NODES, NEW, ACCEPTED).reasons if each.code == "backing_image_left"]
    assert [each.state for each in found] == [State.PASSED] * 3
    assert "Volume vol-1 has backing image golden and is detached. Its replica on node n1 does" in found[0].message
    done = with_managers(seen, "n1", manager("n1", NEW))
    assert len([each for each in preflight(done, NODES, NEW, ACCEPTED).reasons if each.code == found[0].code]) == 2


def test_all_blockers_are_told_at_once() -> None:
    seen = with_volume(world({**F1, "vol-4": ("n2", ("n2", "n3"))}), "vol-4", frontend="ublk")
    found = codes(with_volume(seen, "vol-2", robustness="degraded"), frozenset())
    assert {"single_replica", "frontend_ublk", "volume_degraded", "replacement_not_accepted"} <= found.keys()


def test_what_an_interrupted_run_has_left_on_its_node_does_not_keep_the_next_one_from_going_on() -> None:
    ill = with_volume(world({"vol-1": ("n1", SPREAD)}), "vol-1", robustness="degraded")
    assert "volume_degraded" in codes(ill)
    assert codes(marked(ill, "n1")) == {}
    assert codes(moved(ill, "vol-1", "n2")) == {}


def test_an_unknown_node_is_named() -> None:
    (reason,) = preflight(world({}), ["n9"], NEW, ACCEPTED).reasons
    assert reason.message == "Longhorn has no node n9."


def test_versions_are_read_from_tags() -> None:
    assert version_of("registry:5000/longhorn/manager:v1.12.1-rc1@sha256:00") == (1, 12, 1)
    assert version_of("registry:5000/longhorn/manager") is None
    assert judge_target(NEW, "1.12.1").passed
    assert [each.code for each in judge_target(NEW, "v1.12.0").reasons] == ["target_differs"]
    assert [each.code for each in judge_target(NEW, "newest").reasons] == ["target_not_valid"]


def test_nodes_that_a_run_has_begun_come_first_and_finished_ones_not_at_all() -> None:
    seen = with_managers(world(S1), "n2", manager("n2", NEW))
    assert is_done(seen, "n2", NEW)
    assert [turn.node for turn in order(moved(marked(seen, "n3"), "vol-1", "n2", "n3"), NEW)] == ["n3", "n1"]
    assert [turn.node for turn in order(seen, NEW, ["n1", "n2"])] == ["n1"]
    assert order(seen, NEW)[0].proof == "each of its 3 volumes keeps a healthy replica elsewhere"


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({"vol-1": ("n1", SPREAD)}, "its volume keeps a healthy replica elsewhere"),
        ({"vol-1": ("n1", ("n1",))}, "its volume has no healthy replica elsewhere"),
        (F1, "1 of its 3 volumes has no healthy replica elsewhere"),
    ],
)
def test_the_proof_of_a_node_counts_its_volumes(places: Places, said: str) -> None:
    assert order(world(places), NEW)[0].proof == said


def test_a_begun_node_stays_in_the_plan_while_it_has_no_instance_manager() -> None:
    seen = with_managers(marked(world(S1), "n2"), "n2")
    assert [turn.node for turn in order(seen, NEW)] == ["n2", "n1", "n3"]
    assert [turn.node for turn in order(seen, NEW, ["n1"])] == ["n1"]
    # Nothing of the v2 data engine is known of one that no run has begun.
    assert [turn.node for turn in order(with_node(seen, "n2", mark=""), NEW)] == ["n1", "n3"]


def test_the_digest_does_not_change_with_the_progress() -> None:
    whole, half = world(S1), with_managers(world(S1), "n1", manager("n1", NEW))
    assert digest(whole, NEW, (), ACCEPTED, False) == digest(half, NEW, (), ACCEPTED, False)
    bare = with_managers(marked(world(S1), "n2"), "n2")
    assert digest(whole, NEW, (), ACCEPTED, False) == digest(bare, NEW, (), ACCEPTED, False)
    assert digest(whole, NEW, (), ACCEPTED, False) != digest(whole, NEW, (), frozenset(), False)
    assert digest(whole, NEW, (), ACCEPTED, False) != digest(whole, NEW, ["n1"], ACCEPTED, False)


def test_a_node_may_go_down_only_if_nobody_loses_anything() -> None:
    seen = world(S2)
    assert may_go_down(seen, ["n2"], NODES).passed
    both = may_go_down(seen, ["n2", "n3"], NODES)
    assert {each.code for each in both.reasons} == {"last_replica"}
    away = moved(seen, "vol-1", "n2")
    assert [each.code for each in may_go_down(away, ["n2"], NODES).reasons] == ["engine_serves_elsewhere"]
    ill = with_node(seen, "n3", conditions={"Ready": StatusCondition("False", "", "the manager pod is down")})
    (reason,) = may_go_down(ill, ["n2"], NODES).reasons
    assert reason.message == "Longhorn node n3 is not ready: the manager pod is down."
    (gone,) = may_go_down(seen, ["n1"], [*NODES, "n4"]).reasons
    assert gone.code == "node_missing"
    assert "gone for good" in gone.remedy


@pytest.mark.parametrize("replicas", [("n1", "n2", "n3"), ("n1", "n3")], ids=["with a replica there", "without"])
def test_a_node_may_not_go_down_while_an_engine_is_moved_to_it(replicas: tuple[str, ...]) -> None:
    seen = world({"v": ("n1", replicas)})
    asked = with_volume(seen, "v", engine_node="n2")
    spare = replace(seen.engine_of["v"], name="v-e-1", node="n2", active=False)
    moving = with_volume(replace(seen, engines=(*seen.engines, spare)), "v", engine_node="n2", switchover="preparing")
    taken_back = with_volume(moving, "v", engine_node="", switchover="reverting")
    for found in (asked, moving, taken_back):
        assert [each.code for each in may_go_down(found, ["n2"], NODES).reasons] == ["engine_moves"]


def test_a_node_may_not_go_down_while_longhorn_may_remove_the_other_replica() -> None:
    seen = with_volume(world({"v": ("n1", ("n1", "n2"))}), "v", number_of_replicas=1)
    (reason,) = may_go_down(seen, ["n1"], NODES).reasons
    assert (reason.code, reason.state) == ("last_replica", State.WAITING)
    assert may_go_down(with_volume(seen, "v", number_of_replicas=2), ["n1"], NODES).passed


def test_volumes_that_are_not_whole_are_waited_for() -> None:
    seen = world(S3)
    assert all_whole(seen, NODES).passed
    ill = with_volume(seen, "vol-2", robustness="degraded")
    assert [each.code for each in all_whole(ill, NODES).reasons] == ["volume_degraded"]
    unsettled = with_volume(seen, "vol-1", engine_node="n2")
    assert [each.code for each in all_whole(unsettled, NODES).reasons] == ["engine_moves"]


def test_a_volume_of_the_v1_data_engine_is_waited_for_after_a_batch_with_its_progress() -> None:
    seen = with_volume(world({"v": ("n1", ("n1", "n2", "n3"))}), "v", data_engine="v1")
    assert all_whole(seen, NODES, ["n2"]).passed
    ill = with_volume(seen, "v", robustness="degraded")
    (degraded,) = all_whole(ill, NODES, ["n2"]).reasons
    assert degraded.code == "volume_degraded"
    assert "lower its numberOfReplicas" in degraded.remedy
    assert all_whole(ill, NODES, ["n4"]).passed
    rebuilt = with_engine(ill, "v", rebuilds={"tcp://10.0.0.2": 40})
    assert left_to_rebuild(rebuilt, rebuilt.volumes.values()) == (1.0, 60.0)


def test_a_volume_that_was_never_attached_keeps_no_node_up() -> None:
    """Longhorn notes its replicas as healthy once they are first read and written: until then they hold no data."""
    seen = with_volume(world({"v": ("n1", ("n1", "n2"))}), "v", state="detached", node="", at_node="", engine_at="")
    new = replace(seen, replicas=tuple(replace(each, healthy_at="", state="stopped") for each in seen.replicas))
    assert may_go_down(new, ["n1", "n2"], NODES).passed
    assert not may_go_down(seen, ["n1", "n2"], NODES).passed
    lost = replace(new, replicas=tuple(replace(each, failed_at="2026-11-21T02:00:00Z") for each in new.replicas))
    assert [each.code for each in may_go_down(lost, ["n1"], NODES).reasons] == ["no_replica"]
    assert [each.code for each in may_go_down(with_volume(new, "v", state="attaching"), ["n1"], NODES).reasons] == [
        "volume_in_between"
    ]
