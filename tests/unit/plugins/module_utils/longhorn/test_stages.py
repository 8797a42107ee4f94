"""The state of a node, found from what is observed alone, and the acts that are due in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge import upgrades
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.reasons import REPLACEMENT
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.stages import (
    SwitchStage,
    WantedSwitch,
    step,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.volumes import rebuilds
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.kinds import EMPTIED
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import (
    Attached,
    Longhorn,
    LonghornDisk,
)

from tests.unit.plugins.module_utils.longhorn.upgrading import of_instance_managers
from tests.unit.plugins.module_utils.longhorn.world import (
    NEW,
    OLD,
    manager,
    marked,
    moved,
    with_engine,
    with_managers,
    with_node,
    with_replica,
    with_volume,
    world,
)

WANTED = WantedSwitch("n1", NEW, frozenset({REPLACEMENT}))
THREE = {"v1": ("n1", ("n1", "n2", "n3"))}


def begun() -> Longhorn:
    return marked(world(THREE), "n1", "v1")


def away() -> Longhorn:
    return moved(begun(), "v1", "n2")


def swapped(state: str = "running") -> Longhorn:
    return with_managers(away(), "n1", manager("n1", NEW, state))


def home() -> Longhorn:
    """The engine is home on the new image, and the node is still marked."""
    return with_managers(begun(), "n1", manager("n1", NEW))


TABLE: list[tuple[str, Callable[[], Longhorn], SwitchStage, list[str]]] = [
    ("nothing is done yet", lambda: world(THREE), SwitchStage.INITIALIZING, ["keep_replicas", "mark_node"]),
    ("marked, no snapshot", lambda: marked(world(THREE), "n1"), SwitchStage.INITIALIZING, ["snapshot"]),
    ("snapshot not ready", lambda: marked(world(THREE), "n1", "v1", ready=False), SwitchStage.INITIALIZING, []),
    ("an engine is there", begun, SwitchStage.SWITCHING_OVER, ["move_engine"]),
    (
        "it is on its way",
        lambda: with_volume(begun(), "v1", engine_node="n2", home_mark="n1", switchover="preparing"),
        SwitchStage.SWITCHING_OVER,
        [],
    ),
    ("it has left", away, SwitchStage.REPLACING, ["delete_manager"]),
    ("the new one starts", lambda: swapped("starting"), SwitchStage.REPLACING, []),
    ("the new one runs", swapped, SwitchStage.SWITCHING_BACK, ["return_engine"]),
    (
        "its volume is attached again, and the engine is placed already",
        lambda: with_volume(swapped(), "v1", state="attaching"),
        SwitchStage.SWITCHING_BACK,
        [],
    ),
    (
        "its volume is detached",
        lambda: with_engine(with_volume(swapped(), "v1", state="detached", node=""), "v1", node=""),
        SwitchStage.SWITCHING_BACK,
        ["return_engine"],
    ),
    (
        "the engine is home, the replica not",
        lambda: with_volume(home(), "v1", robustness="degraded"),
        SwitchStage.REBUILDING,
        ["open_node"],
    ),
    ("all is well again", home, SwitchStage.FINALIZING, ["unmark_node"]),
    (
        "nothing is left of a run",
        lambda: with_managers(world(THREE), "n1", manager("n1", NEW)),
        SwitchStage.COMPLETED,
        [],
    ),
]


@pytest.mark.parametrize(("seen", "stage", "acts"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_state_is_found_from_what_is_observed(
    seen: Callable[[], Longhorn], stage: SwitchStage, acts: list[str]
) -> None:
    found = step(seen(), WANTED)
    assert (found.stage, [each.kind for each in found.acts]) == (stage, acts)
    assert found.verdict.state is (
        State.PASSED if stage in {SwitchStage.FINALIZING, SwitchStage.COMPLETED} else State.WAITING
    )


LOST = "lost track of the corresponding snapshot info inside volume engine"


@pytest.mark.parametrize("at", [begun, away], ids=["before the engine moves", "after it has moved"])
def test_a_snapshot_that_was_taken_is_waited_for_until_the_engine_lists_it(at: Callable[[], Longhorn]) -> None:
    seen = at()
    (snapshot,) = seen.snapshots
    failed = replace(snapshot, ready=False, error=LOST, attached=Attached("n1", "", frozenset()))
    assert step(replace(seen, snapshots=(failed,)), WANTED).stage is SwitchStage.ERROR
    found = step(replace(seen, snapshots=(replace(failed, taken=True),)), WANTED)
    assert (found.stage, found.acts) == (SwitchStage.INITIALIZING, ())
    (reason,) = found.verdict.reasons
    assert reason.state is State.WAITING
    assert LOST in reason.message
    assert snapshot.name in reason.remedy


def test_an_engine_goes_to_the_healthy_replica_with_the_fewest_engines_then_by_name() -> None:
    places = {"v1": ("n1", ("n1", "n2", "n3")), "v2": ("n2", ("n2", "n3")), "v3": ("n1", ("n1", "n4", "n3"))}
    seen = marked(world(places, ("n1", "n2", "n3", "n4")), "n1", "v1", "v3")
    assert {each.target: each.node for each in step(seen, WANTED).acts} == {"v1": "n3", "v3": "n3"}
    gone = with_managers(seen, "n3", manager("n3", OLD, "error"))
    assert {each.target: each.node for each in step(gone, WANTED).acts} == {"v1": "n2", "v3": "n4"}


def test_a_temporary_node_that_dies_midway_is_replaced_by_another() -> None:
    on_its_way = with_volume(begun(), "v1", engine_node="n2", home_mark="n1")
    dead = with_managers(on_its_way, "n2", manager("n2", OLD, "error"))
    assert [(each.kind, each.node) for each in step(dead, WANTED).acts] == [("move_engine", "n3")]


def test_a_volume_that_is_deleted_midway_is_dropped() -> None:
    bare = replace(away(), volumes={}, engines=(), replicas=(), frontends=())
    assert step(bare, WANTED).stage is SwitchStage.REPLACING


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda seen: with_engine(seen, "v1", busy=("a backup",)), "volume_busy"),
        (lambda seen: with_engine(seen, "v1", expanding=True), "volume_busy"),
        (lambda seen: with_volume(seen, "v1", migration_node="n3"), "volume_busy"),
        (
            lambda seen: with_engine(seen, "v1", modes={"v1-r-1": "RW", "v1-r-2": "RW", "v1-r-3": "WO"}),
            "replica_rebuilds",
        ),
    ],
)
def test_no_engine_is_moved_and_no_manager_replaced_while_a_volume_is_busy(
    spoil: Callable[[Longhorn], Longhorn], code: str
) -> None:
    for seen in (begun(), away()):
        found = step(spoil(seen), WANTED)
        assert not found.acts
        assert code in {each.code for each in found.verdict.reasons}


def test_no_manager_is_replaced_that_holds_the_last_healthy_replica() -> None:
    seen = moved(marked(world({"v1": ("n1", ("n1", "n2"))}), "n1", "v1"), "v1", "n3")
    alone = with_engine(seen, "v1", modes={"v1-r-1": "RW", "v1-r-2": "ERR"})
    found = step(alone, WANTED)
    assert (found.stage, found.acts) == (SwitchStage.REPLACING, ())
    assert [each.code for each in found.verdict.reasons] == ["last_replica"]


def cordoned(seen: Longhorn) -> Longhorn:
    known = seen.kubernetes_nodes
    return replace(seen, kubernetes_nodes={**known, "n1": replace(known["n1"], unschedulable=True)})


def not_ready(seen: Longhorn) -> Longhorn:
    return with_node(seen, "n1", conditions={"Ready": StatusCondition("False", "ManagerPodDown", "the pod is down")})


@pytest.mark.parametrize(("spoil", "code"), [(cordoned, "node_cordoned"), (not_ready, "node_not_ready")])
def test_no_manager_is_replaced_where_longhorn_would_start_no_other(
    spoil: Callable[[Longhorn], Longhorn], code: str
) -> None:
    """Something else has cordoned the Kubernetes node since the plan, or its longhorn-manager is away."""
    for seen in (world(THREE), away()):
        found = step(spoil(seen), WANTED)
        assert (found.acts, [each.code for each in found.verdict.reasons]) == ((), [code])
    assert not upgrades.step(spoil(replace(world(THREE), upgrades=of_instance_managers())), WANTED).acts
    # Engines come home all the same.
    assert [each.kind for each in step(spoil(swapped()), WANTED).acts] == ["return_engine"]


def test_an_instance_manager_with_replicas_that_need_a_backing_image_is_not_removed() -> None:
    """Longhorn 1.12 has removed those of the v2 data engine, so they would never start again."""
    for seen in (world(THREE), away()):
        found = step(with_volume(seen, "v1", backing_image="golden"), WANTED)
        assert (found.acts, [each.code for each in found.verdict.reasons]) == ((), ["backing_image_removed"])
    elsewhere = with_volume(world({"v1": ("n1", ("n2", "n3"))}), "v1", backing_image="golden")
    assert step(elsewhere, WANTED).stage is SwitchStage.INITIALIZING, "only its engine is there, which moves"


@pytest.mark.parametrize(("wanted", "kept"), [(1, False), (2, True), (3, True)])
def test_a_copy_that_longhorn_is_about_to_remove_does_not_count(wanted: int, kept: bool) -> None:
    """Someone has lowered the number of replicas: any of those that are too many may be removed."""
    seen = moved(marked(world({"v1": ("n1", ("n1", "n2", "n3"))}), "n1", "v1"), "v1", "n2")
    found = step(with_volume(seen, "v1", number_of_replicas=wanted), WANTED)
    assert found.stage is SwitchStage.REPLACING
    assert [each.kind for each in found.acts] == (["delete_manager"] if kept else [])
    assert {each.code for each in found.verdict.reasons} == {"manager_goes" if kept else "last_replica"}


def test_no_node_is_begun_whose_disk_would_be_waited_for_after_its_change() -> None:
    gone = LonghornDisk("old", "block", StatusCondition("False", "DiskNotReady", ""), None)
    seen = with_node(world(THREE), "n1", disks=(*world(THREE).nodes["n1"].disks, gone))
    found = step(seen, WANTED)
    assert (found.acts, [each.code for each in found.verdict.reasons]) == ((), ["disks_wait"])
    assert "old" in found.verdict.reasons[0].message
    # Without its instance manager no disk is ready, and a node that was begun is completed.
    down = with_managers(seen, "n1", manager("n1", OLD, "error"), manager("n1", NEW, "stopped"))
    assert [each.kind for each in step(down, WANTED).acts] == ["keep_replicas", "mark_node"]
    assert [each.kind for each in step(marked(seen, "n1"), WANTED).acts] == ["snapshot"]


RAISED = "Volume v1 has 3 of the 4 replicas that are wanted."


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda seen: with_volume(seen, "v1", number_of_replicas=4), RAISED),
        (lambda seen: with_volume(seen, "v1", robustness="degraded"), "Volume v1 is degraded."),
    ],
    ids=["a person has raised its number of replicas", "a replica has failed"],
)
def test_no_node_is_begun_while_a_volume_there_is_not_whole(spoil: Callable[[Longhorn], Longhorn], said: str) -> None:
    for judge in (step, upgrades.step):
        seen = replace(world(THREE), upgrades=of_instance_managers()) if judge is upgrades.step else world(THREE)
        found = judge(spoil(seen), WANTED)
        assert (found.stage, found.acts) == (SwitchStage.UNDEFINED, ())
        assert [(each.code, each.message) for each in found.verdict.reasons] == [("volume_degraded", said)]
        # Only its replacement brings back what an instance manager had that does not run.
        down = with_managers(spoil(seen), "n1", manager("n1", OLD, "error"), manager("n1", NEW, "stopped"))
        assert judge(down, WANTED).acts
    # A node that was begun is completed.
    assert [each.kind for each in step(spoil(begun()), WANTED).acts] == ["move_engine"]


def test_without_acceptance_by_name_nothing_attached_is_touched() -> None:
    found = step(world(THREE), WantedSwitch("n1", NEW))
    assert (found.stage, found.acts) == (SwitchStage.ERROR, ())
    (reason,) = found.verdict.reasons
    assert reason.code == "replacement_not_accepted"
    assert "v1" in reason.message
    assert "accept_unverified: [instance_manager_replacement]" in reason.remedy
    assert reason.remedy.startswith("Scale down the workloads until these volumes are detached: Longhorn then")


def test_an_instance_without_a_volume_that_could_be_detached_has_its_own_remedy() -> None:
    left = with_managers(world({}), "n1", manager("n1", OLD, instances=("v0-r-1",)), manager("n1", NEW, "stopped"))
    (reason,) = step(left, WantedSwitch("n1", NEW)).verdict.reasons
    assert (reason.code, "while v0-r-1 run there" in reason.message) == ("replacement_not_accepted", True)
    assert reason.remedy.startswith("Wait until these have ended, or delete the object orphans.longhorn.io")


def test_without_anything_attached_longhorn_swaps_the_manager_by_itself() -> None:
    found = step(world({}), WantedSwitch("n1", NEW))
    assert (found.stage, found.acts) == (SwitchStage.REPLACING, ())
    assert [each.code for each in found.verdict.reasons] == ["manager_swaps"]


def test_an_evacuation_ends_once_no_engine_is_left_and_replaces_nothing() -> None:
    evacuated = WantedSwitch("n1", "", run="run-1")
    assert [each.kind for each in step(begun(), evacuated).acts] == ["move_engine"]
    assert step(away(), evacuated).stage is SwitchStage.COMPLETED


def test_a_node_without_the_new_manager_is_refused() -> None:
    found = step(with_managers(world(THREE), "n1", manager("n1", OLD)), WANTED)
    assert [each.code for each in found.verdict.reasons] == ["system_not_upgraded"]


def test_a_new_manager_that_is_missing_for_an_instant_is_waited_for() -> None:
    """Longhorn makes the object anew, such as after someone has deleted it."""
    bare = with_managers(world(THREE), "n1", manager("n1", OLD))
    none = with_managers(world(THREE), "n1")
    seen_before = replace(WANTED, prepared=True)
    cases = [(marked(bare, "n1", "v1"), WANTED), (moved(bare, "v1", "n2"), WANTED), (none, seen_before)]
    for seen, wanted in cases:
        found = step(seen, wanted)
        assert (found.stage, found.acts, found.verdict.state) == (SwitchStage.REPLACING, (), State.WAITING)
        assert [each.code for each in found.verdict.reasons] == ["manager_missing"]
        assert "gone for good" in found.verdict.reasons[0].remedy
    assert step(none, WANTED).verdict.state is State.REFUSED


def arriving_engine(*replicas: str) -> Longhorn:
    """An engine is being moved to n1 by someone: it runs there already, and does not count yet."""
    seen = marked(world({"v1": ("n2", replicas)}), "n1", "v1")
    spare = replace(seen.engine_of["v1"], name="v1-e-1", node="n1", active=False)
    there = with_volume(replace(seen, engines=(*seen.engines, spare)), "v1", engine_node="n1", switchover="preparing")
    return with_managers(there, "n1", manager("n1", OLD, instances=("v1-e-1",)), manager("n1", NEW, "stopped"))


@pytest.mark.parametrize("replicas", [("n1", "n2", "n3"), ("n2", "n3")], ids=["with a replica there", "without"])
def test_no_manager_is_replaced_to_which_an_engine_is_moved(replicas: tuple[str, ...]) -> None:
    found = step(arriving_engine(*replicas), WANTED)
    assert (found.stage, [each.kind for each in found.acts]) == (SwitchStage.SWITCHING_OVER, ["move_engine"])


def test_a_replica_on_a_node_that_someone_has_emptied_comes_back_by_the_one_who_did() -> None:
    """A run puts nothing of such a node back, nor the time for which Longhorn waits for its replicas."""
    lost = with_replica(with_volume(begun(), "v1", robustness="degraded"), "v1-r-3", healthy_at="")
    closed = with_node(lost, "n3", allow_scheduling=False)
    assert rebuilds(closed, closed.volumes["v1"]).remedy.endswith("settle, so that Longhorn builds one elsewhere.")
    emptied = with_node(closed, "n3", mark=f"someone{EMPTIED}")
    remedy = rebuilds(emptied, emptied.volumes["v1"]).remedy
    assert remedy.startswith("No replica comes back on n3, which was emptied outside of a run.")
    assert remedy.endswith("run node_engine_switch with state restored, outside of a run.")
