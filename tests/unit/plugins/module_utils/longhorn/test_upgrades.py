"""Upgrades by Longhorn itself: what is read of them, the state of a node in them, stalls, and what is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.stages import (
    SwitchStage,
    SwitchStep,
    WantedSwitch,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.upgrades import (
    blockers,
    step,
    volumes_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import Longhorn
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.upgrades import UpgradeKinds, Upgrades

from tests.unit.plugins.module_utils.longhorn.upgrading import (
    instance_manager_upgrade,
    manager,
    node_upgrade,
    of_instance_managers,
    of_managers,
)
from tests.unit.plugins.module_utils.longhorn.world import (
    NEW,
    OLD,
    with_engine,
    with_managers,
    with_node,
    with_volume,
    world,
)
from tests.unit.plugins.module_utils.longhorn.world import manager as instance_manager

WANTED = WantedSwitch("n1", NEW)
THREE = {"v1": ("n1", ("n1", "n2", "n3"))}
AUTOMATIC = "allow-v2-instance-manager-automatic-upgrade"


def old() -> Longhorn:
    return world(THREE)


def done() -> Longhorn:
    return with_managers(old(), "n1", instance_manager("n1", NEW))


def ask(seen: Longhorn, found: Upgrades, run: str = "run-1", followed: tuple[str, ...] = ()) -> SwitchStep:
    wanted = replace(WANTED, run=run, followed=frozenset(followed))
    return step(replace(seen, upgrades=found), wanted)


def codes(found: SwitchStep) -> list[str]:
    return [each.code for each in found.verdict.reasons]


def acts(found: SwitchStep) -> list[str]:
    return [each.kind for each in found.acts]


STATES_OF_A_NODE = [
    ("undefined", SwitchStage.UNDEFINED),
    ("", SwitchStage.UNDEFINED),
    ("pending", SwitchStage.PENDING),
    ("initializing", SwitchStage.INITIALIZING),
    ("failing-replicas", SwitchStage.FAILING_REPLICAS),
    ("switching-over", SwitchStage.SWITCHING_OVER),
    ("upgrading-instance-manager", SwitchStage.REPLACING),
    ("switching-back", SwitchStage.SWITCHING_BACK),
    ("rebuilding-replica", SwitchStage.REBUILDING),
    ("finalizing", SwitchStage.FINALIZING),
]


@pytest.mark.parametrize(("state", "stage"), STATES_OF_A_NODE)
@pytest.mark.parametrize("run", ["", "run-1", "another"])
def test_every_state_of_the_design_is_followed_whoever_made_the_upgrade(
    state: str, stage: SwitchStage, run: str
) -> None:
    found = ask(old(), of_managers(manager("upgrading", state, run=run), nodes=(node_upgrade(state),)))
    assert (found.stage, found.acts) == (stage, ())
    assert found.verdict.state is State.WAITING
    assert codes(found)[0] == "upgrade_under_way"
    assert f"is in state {state or 'undefined'}" in found.verdict.reasons[0].message


@pytest.mark.parametrize(
    ("state", "stage"),
    [
        ("", SwitchStage.UNDEFINED),
        ("pending", SwitchStage.PENDING),
        ("relocating-engines", SwitchStage.SWITCHING_OVER),
        ("waiting-for-source-im", SwitchStage.REPLACING),
        ("restoring-engines", SwitchStage.SWITCHING_BACK),
        ("waiting-for-healthy-volumes", SwitchStage.REBUILDING),
    ],
)
def test_every_state_of_an_instance_manager_upgrade_is_followed(state: str, stage: SwitchStage) -> None:
    found = ask(old(), of_instance_managers(instance_manager_upgrade(state)))
    assert (found.stage, found.acts, codes(found)[0]) == (stage, (), "upgrade_under_way")


OVERALL = [("undefined", SwitchStage.UNDEFINED), ("", SwitchStage.UNDEFINED), ("initializing", SwitchStage.PENDING)]


@pytest.mark.parametrize(("state", "stage"), [*OVERALL, ("upgrading", SwitchStage.PENDING)])
def test_a_node_waits_for_its_turn_in_every_overall_state(state: str, stage: SwitchStage) -> None:
    found = ask(old(), of_managers(manager(state, nodes=(), upgradingNode="n2", message="n2 takes its time")))
    assert (found.stage, found.acts, codes(found)[0]) == (stage, (), "upgrade_in_turn")
    assert "is at node n2" in found.verdict.reasons[0].message
    assert "n2 takes its time" in found.verdict.reasons[0].message


def test_an_upgrade_is_made_where_none_is() -> None:
    assert acts(ask(old(), of_managers())) == ["keep_replicas", "note_node", "create_upgrade"]
    assert acts(ask(old(), of_instance_managers())) == ["create_upgrade"]


def test_no_second_upgrade_is_made_while_one_is_elsewhere() -> None:
    for found in (
        of_managers(manager("upgrading", nodes=("n2",))),
        of_instance_managers(instance_manager_upgrade("pending", node="n2")),
    ):
        asked = ask(old(), found)
        assert (asked.acts, codes(asked)) == ((), ["upgrade_elsewhere"])
        assert "n2" in asked.verdict.reasons[0].message


def test_an_upgrade_is_only_made_while_every_volume_keeps_a_copy_and_none_is_busy() -> None:
    alone = ask(world({"v1": ("n1", ("n1",))}), of_managers())
    assert (alone.acts, codes(alone)) == ((), ["last_replica"])
    busy = ask(with_engine(old(), "v1", busy=("a backup",)), of_instance_managers())
    assert (busy.acts, codes(busy)) == ((), ["volume_busy"])


@pytest.mark.parametrize("found", [of_managers(), of_instance_managers()])
def test_a_node_that_runs_the_image_is_done_once_its_volumes_are_whole(found: Upgrades) -> None:
    assert ask(done(), found) == SwitchStep(SwitchStage.COMPLETED)
    ill = ask(with_volume(done(), "v1", robustness="degraded"), found)
    assert (ill.stage, codes(ill)) == (SwitchStage.REBUILDING, ["volume_degraded"])


def test_a_node_is_done_while_the_upgrade_of_all_nodes_goes_on() -> None:
    found = of_managers(manager("upgrading", "completed", nodes=(), upgradingNode="n2"))
    assert ask(done(), found).stage is SwitchStage.COMPLETED


def test_what_an_upgrade_says_is_not_what_counts() -> None:
    found = ask(old(), of_managers(manager("completed", "completed", run="run-1")))
    assert (found.stage, found.acts, codes(found)) == (SwitchStage.REPLACING, (), ["upgrade_without_effect"])
    assert OLD in found.verdict.reasons[0].message


def test_an_engine_that_did_not_come_home_is_waited_for() -> None:
    engines = {"v1": {"originalNodeID": "n1", "temporaryNodeID": "n2"}}
    found = of_instance_managers(instance_manager_upgrade("completed", run="run-1", engines=engines))
    away = ask(with_volume(done(), "v1", engine_at="n2"), found)
    assert (away.stage, codes(away)) == (SwitchStage.SWITCHING_BACK, ["engines_return"])
    assert ask(done(), found).stage is SwitchStage.COMPLETED
    assert ask(with_volume(done(), "v1", engine_at="n2"), found, "later").stage is SwitchStage.COMPLETED


ERRORS: list[tuple[str, Callable[[str], Upgrades]]] = [
    ("the image is missing", lambda run: of_managers(manager("error", run=run, errorMessage="the image is missing"))),
    ("the image is missing", lambda run: of_managers(manager("error", run=run, message="the image is missing"))),
    (
        "v1: no node to go to",
        lambda run: of_managers(
            manager("error", "error", run=run),
            nodes=(node_upgrade("error", errorMessage="v1: no node to go to", volumes={"v1": {"state": "error"}}),),
        ),
    ),
    (
        "The volumes at fault: v1",
        lambda run: of_managers(
            manager("error", "error", run=run), nodes=(node_upgrade("error", volumes={"v1": {"state": "error"}}),)
        ),
    ),
    (
        "single replica",
        lambda run: of_instance_managers(instance_manager_upgrade("failed", run=run, errorMsg="single replica")),
    ),
    (
        "took longer than Longhorn allows",
        lambda run: of_instance_managers(
            instance_manager_upgrade("failed", run=run, abortRequested=True, abortReason="timeout")
        ),
    ),
    (
        "someone asked for it",
        lambda run: of_instance_managers(instance_manager_upgrade("failed", run=run, abortRequested=True)),
    ),
]


@pytest.mark.parametrize(("said", "found"), ERRORS)
def test_an_error_ends_the_run_that_made_the_upgrade_and_the_next_one_resumes(
    said: str, found: Callable[[str], Upgrades]
) -> None:
    refused = ask(old(), found("run-1"))
    assert (refused.stage, refused.acts, codes(refused)) == (SwitchStage.ERROR, (), ["upgrade_failed"])
    assert said in refused.verdict.reasons[0].message
    assert refused.verdict.state is State.REFUSED
    name = found("").upgrades[0].name
    assert ask(old(), found(""), followed=(name,)).stage is SwitchStage.ERROR
    assert acts(ask(old(), found("run-1"), "run-2"))[-1] == "create_upgrade"


def test_an_error_of_one_node_is_told_while_the_upgrade_goes_on() -> None:
    found = of_managers(manager("upgrading", "error", nodes=(), upgradingNode="n2"))
    refused = ask(old(), found, followed=("upgrade",))
    assert codes(refused) == ["upgrade_failed"]
    assert "Longhorn continues with node n2." in refused.verdict.reasons[0].message
    assert codes(ask(old(), found)) == ["upgrade_elsewhere"]


def test_an_upgrade_to_another_image_is_not_taken_for_the_own_one() -> None:
    found = ask(old(), of_instance_managers(instance_manager_upgrade("pending", image="other:v1.12.2")))
    assert (found.stage, codes(found)) == (SwitchStage.ERROR, ["upgrade_of_other_image"])
    assert acts(ask(old(), of_instance_managers(instance_manager_upgrade("failed", image="other:v1", run="run-1"))))
    other = of_instance_managers(instance_manager_upgrade("pending", image="o:v1"))
    both = blockers(replace(old(), upgrades=other), ["n1", "n2"], NEW)
    assert [each.code for each in both.reasons] == ["upgrade_of_other_image"]


def test_a_node_that_takes_no_replicas_is_not_upgraded_unless_its_upgrade_has_closed_it() -> None:
    shut = with_node(old(), "n1", allow_scheduling=False)
    (reason,) = blockers(replace(shut, upgrades=of_instance_managers()), ["n1", "n2"], NEW).reasons
    assert (reason.code, reason.state) == ("node_takes_no_replicas", State.REFUSED)
    for state in ("pending", "failed"):
        under_way = of_instance_managers(instance_manager_upgrade(state))
        assert blockers(replace(shut, upgrades=under_way), ["n1"], NEW).passed
    unused = replace(world({}), nodes=shut.nodes, upgrades=of_instance_managers())
    assert blockers(unused, ["n1"], NEW).passed
    # It may be left to be finished, as after an upgrade of several nodes that a person has closed one of.
    assert blockers(replace(done(), nodes=shut.nodes, upgrades=of_instance_managers()), ["n1"], NEW).passed


@pytest.mark.parametrize(
    ("mark", "run", "passes"),
    [("run-1", "run-1", True), ("run-1@closed", "run-1", False), ("", "run-1", False), ("", "", False)],
)
def test_a_node_that_a_failed_upgrade_has_left_closed_is_opened_by_the_next_run(
    mark: str, run: str, *, passes: bool
) -> None:
    """With the design's kinds the whole is completed, although it has failed at its only node."""
    shut = with_node(old(), "n1", allow_scheduling=False, mark=mark)
    failed = of_managers(manager("completed", "error", run=run))
    assert blockers(replace(shut, upgrades=failed), ["n1"], NEW).passed is passes


def test_the_newest_upgrade_of_a_node_is_the_one_that_was_made_last() -> None:
    """Those of several nodes are named after the first of them, so that names alone do not say which is newer."""
    shut = with_node(old(), "n1", allow_scheduling=False, mark="run-2")
    (failed,) = of_managers(manager("completed", "error", run="run-2")).upgrades
    (done_before,) = of_managers(manager("completed", "completed", run="run-1")).upgrades
    failed = replace(failed, name="upgrade-0a-1", created="2026-11-21T02:00:00Z")
    done_before = replace(done_before, name="upgrade-0b-10", created="2026-10-21T02:00:00Z")
    for several in ((failed, done_before), (done_before, failed)):
        found = Upgrades(UpgradeKinds.DATA_ENGINE_UPGRADES, several)
        assert acts(ask(shut, found, run="run-3")) == ["reopen_node"]


@pytest.mark.parametrize("name", [AUTOMATIC, "allow-instance-manager-automatic-upgrade"])
def test_no_upgrade_is_made_while_longhorn_goes_from_node_to_node_by_itself(name: str) -> None:
    seen = replace(old(), settings={**old().settings, name: "true"})
    found = ask(seen, of_instance_managers(control={"currentNode": "n3"}))
    assert (found.acts, codes(found)) == ((), ["upgrades_automatic"])
    assert "It is at node n3." in found.verdict.reasons[0].message
    assert blockers(replace(seen, upgrades=of_instance_managers()), ["n1"], NEW).state is State.REFUSED
    under_way = ask(seen, of_instance_managers(instance_manager_upgrade("pending")))
    assert under_way.verdict.state is State.WAITING


def test_attempts_before_this_one_are_told() -> None:
    control = {"currentNode": "n1", "nodes": {"n1": {"state": "in-progress", "imuName": "imu-n1", "retryCount": 3}}}
    found = ask(old(), of_instance_managers(instance_manager_upgrade("pending"), control=control))
    assert "Longhorn has tried 3 times before." in found.verdict.reasons[0].message


def test_an_unknown_state_is_no_success() -> None:
    found = ask(done(), of_instance_managers(instance_manager_upgrade("marvelling")))
    assert codes(found) == ["upgrade_state_unknown"]
    assert found.verdict.state is State.WAITING


STALLS: list[tuple[str, str, Callable[[], Longhorn], str]] = [
    ("nobody works on it", "pending", old, "upgrade_without_owner"),
    ("its worker is away", "pending", lambda: with_node(old(), "n3", conditions={}), "upgrade_owner_away"),
    (
        "the node is not ready",
        "switching-over",
        lambda: with_node(old(), "n1", conditions={"Ready": StatusCondition("False", "", "kubelet is gone")}),
        "node_not_ready",
    ),
    ("a volume is degraded", "pending", lambda: with_volume(old(), "v1", robustness="degraded"), "volume_degraded"),
    ("a volume is busy", "switching-over", lambda: with_engine(old(), "v1", busy=("a purge",)), "volume_busy"),
    ("there is nowhere to go", "switching-over", lambda: world({"v1": ("n1", ("n1",))}), "no_other_node"),
    ("a switch reverts", "switching-over", lambda: with_volume(old(), "v1", switchover="reverting"), "switch_reverts"),
    (
        "the instance manager does not start",
        "upgrading-instance-manager",
        lambda: with_managers(old(), "n1", instance_manager("n1", NEW, "starting")),
        "manager_starts",
    ),
    (
        "a rebuild is stuck",
        "rebuilding-replica",
        lambda: with_volume(done(), "v1", robustness="degraded"),
        "volume_degraded",
    ),
]


@pytest.mark.parametrize(("what", "state", "seen", "code"), STALLS)
def test_a_stall_is_explained(what: str, state: str, seen: Callable[[], Longhorn], code: str) -> None:
    owner = {"upgrade_without_owner": "", "upgrade_owner_away": "n3"}.get(code, "n2")
    upgrade = manager("upgrading", state, ownerID=owner)
    found = ask(seen(), of_managers(upgrade, nodes=(node_upgrade(state),)))
    assert code in codes(found), what
    assert next(each for each in found.verdict.reasons if each.code == code).remedy
    quiet = codes(ask(old(), of_managers(manager("upgrading", state, ownerID="n2"), nodes=(node_upgrade(state),))))
    assert code not in quiet


def test_an_upgrade_that_is_taken_back_says_why() -> None:
    upgrade = instance_manager_upgrade("restoring-engines", abortRequested=True, abortReason="no-temporary-node")
    found = ask(old(), of_instance_managers(upgrade))
    told = next(each for each in found.verdict.reasons if each.code == "upgrade_aborts")
    assert "no other node can run an engine any more" in told.message
    unknown = ask(old(), of_instance_managers({**upgrade, "status": {**upgrade["status"], "abortReason": "a whim"}}))
    assert "'a whim'" in next(each for each in unknown.verdict.reasons if each.code == "upgrade_aborts").message


def test_the_volumes_of_a_node_are_told_from_the_upgrade() -> None:
    engines = {"v1": {"originalNodeID": "n1", "temporaryNodeID": "n2"}}
    told = volumes_of(of_instance_managers(instance_manager_upgrade("restoring-engines", engines=engines)), "n1")
    assert (told["v1"].original_node, told["v1"].temporary_node) == ("n1", "n2")
    states = {"v1": {"state": "switched-over"}}
    of_node = of_managers(
        manager("upgrading", "switching-over"), nodes=(node_upgrade("switching-over", volumes=states),)
    )
    assert volumes_of(of_node, "n1")["v1"].state == "switched-over"
    assert volumes_of(of_node, "n2") == {}


def test_an_unknown_node_is_refused() -> None:
    assert codes(step(replace(old(), upgrades=of_managers()), WantedSwitch("n9", NEW))) == ["node_unknown"]


def test_fields_of_another_type_are_not_understood() -> None:
    with pytest.raises(NotUnderstood, match=r"DataEngineUpgradeManager upgrade .*state is 3"):
        of_managers({**manager("upgrading"), "status": {"state": 3}})
    with pytest.raises(NotUnderstood, match=r"InstanceManagerUpgrade imu-n1 .*targetImage is missing"):
        of_instance_managers({**instance_manager_upgrade("pending"), "spec": {"nodeID": "n1"}})
