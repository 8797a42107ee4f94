"""The kinds that v1.12.0 lacks: every state, and every way out of one."""

from __future__ import annotations

import pytest

from tests.sandbox.kubernetes.objects import Json, Kind, timestamp
from tests.sandbox.longhorn.asking import MACHINES, PLACES, modes, spread, state, told
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import CONTROLS, DATA_ENGINE_UPGRADES, MANAGER_UPGRADES, NODE_UPGRADES, NODES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.longhorn.unverified.control import ALLOWED, START
from tests.sandbox.longhorn.unverified.design import STATES
from tests.sandbox.longhorn.unverified.in_place import CONTROL, TIMEOUT


def design(*volumes: Volume, machines: tuple[Machine, ...] = MACHINES) -> Longhorn:
    return Longhorn(Described(machines, volumes, offers="design", frontends_outlive=True))


def begin(found: Longhorn, **spec: object) -> None:
    body = {"metadata": {"name": "upgrade"}, "spec": {"dataEngine": "v2", **spec}}
    found.objects.create(DATA_ENGINE_UPGRADES, body)


def newer(*volumes: Volume, minutes: int = 60) -> Longhorn:
    settings = {TIMEOUT: str(minutes)}
    return Longhorn(Described(MACHINES, volumes, settings, offers="v1.13", frontends_outlive=True))


def seen_states(found: Longhorn, kind: Kind) -> list[str]:
    """The states that objects of a kind go through from now on."""
    seen: list[str] = []

    def note(told: Kind, item: Json, _gone: bool) -> None:
        now = item.get("status", {}).get("state")
        if told == kind and now and (not seen or seen[-1] != now):
            seen.append(now)

    found.objects.listeners.append(note)
    return seen


def status(found: Longhorn, kind: Kind, called: str) -> Json:
    """The status of an object; nothing where there is none."""
    return dict((found.objects.get(kind, called) or {}).get("status", {}))


def ended(found: Longhorn, seconds: float = 600.0) -> str:
    """The state in which the whole has ended."""

    def over() -> bool:
        return status(found, DATA_ENGINE_UPGRADES, "upgrade").get("state") in {"completed", "error"}

    assert found.until(over, seconds)
    return str(status(found, DATA_ENGINE_UPGRADES, "upgrade")["state"])


def node_states(found: Longhorn) -> dict[str, str]:
    nodes = status(found, CONTROLS, CONTROL).get("nodes") or {}
    return {key: each["state"] for key, each in nodes.items()}


def test_the_design_upgrades_node_by_node() -> None:
    found = design(spread("v", "n1"), spread("w", "n2"))
    seen = seen_states(found, NODE_UPGRADES)
    begin(found)
    assert ended(found) == "completed"
    assert seen == [*STATES[1:]] * 3
    assert {state(found, each) for each in PLACES} == {(NEW_IMAGE, "running")}
    assert {each["state"] for each in status(found, DATA_ENGINE_UPGRADES, "upgrade")["upgradeNodes"].values()} == {
        "completed"
    }
    assert all(found.get(NODES, each)["spec"]["allowScheduling"] for each in PLACES)
    assert (told(found, "v"), told(found, "w")) == (("attached", "healthy"),) * 2
    assert found.engine("v")["spec"]["nodeID"] == "n1"
    assert found.observer.losses == []


def test_the_design_takes_only_the_nodes_that_it_is_given() -> None:
    found = design(spread())
    begin(found, nodes=["n2"])
    assert ended(found) == "completed"
    assert (state(found, "n1")[0], state(found, "n2")[0]) == (OLD_IMAGE, NEW_IMAGE)


def test_the_design_refuses_a_single_replica_and_goes_on_with_the_next_node() -> None:
    found = design(Volume("v", ("n1",), "n1"), spread("w", "n2"))
    begin(found)
    assert ended(found) == "completed"
    nodes = status(found, DATA_ENGINE_UPGRADES, "upgrade")["upgradeNodes"]
    assert (nodes["n1"]["state"], nodes["n2"]["state"]) == ("error", "completed")
    assert nodes["n1"]["message"] == "volume v has a single replica"
    assert found.observer.losses == []


def test_the_design_needs_the_image_on_every_node() -> None:
    found = design(spread(), machines=(*MACHINES[:2], Machine("n3", images=(OLD_IMAGE,))))
    begin(found)
    assert ended(found) == "error"
    assert "is not pulled on nodes n3" in status(found, DATA_ENGINE_UPGRADES, "upgrade")["message"]


def test_the_design_waits_for_a_volume_that_is_not_healthy() -> None:
    found = design(Volume("v", PLACES, "n1", failed=("n3",)))
    found.faults.rebuild_stuck("v")
    begin(found, nodes=["n1"])
    found.clock.advance(60)
    assert status(found, NODE_UPGRADES, "upgrade-n1")["state"] == "pending"
    found.faults.mend_all()
    assert ended(found) == "completed"


@pytest.mark.parametrize("where", STATES[1:-1])
def test_the_design_stalls_in_every_state_and_goes_on(where: str) -> None:
    found = design(spread())
    found.faults.upgrade_stalls(NODE_UPGRADES, where)
    begin(found, nodes=["n1"])
    found.clock.advance(90)
    upgrade = status(found, NODE_UPGRADES, "upgrade-n1")
    assert (upgrade["state"], upgrade["message"]) == (where, f"waiting in state {where}")
    found.faults.mend_all()
    assert ended(found) == "completed"
    assert found.observer.losses == []


@pytest.mark.parametrize("where", STATES[1:-1])
def test_the_design_fails_in_every_state_and_says_why(where: str) -> None:
    found = design(spread())
    found.faults.upgrade_fails(NODE_UPGRADES, where, "on purpose")
    begin(found, nodes=["n1"])
    ended(found)
    node = status(found, DATA_ENGINE_UPGRADES, "upgrade")["upgradeNodes"]["n1"]
    assert node == {"state": "error", "message": "on purpose"}


def test_v1_13_does_nothing_until_it_is_allowed_and_then_node_by_node_in_place() -> None:
    found = newer(spread("v", "n1"), spread("w", "n2"), spread("z", "n3"))
    found.clock.advance(60)
    assert found.objects.get(CONTROLS, CONTROL) is None
    uids = {each: found.manager(each)["metadata"]["uid"] for each in PLACES}
    seen = seen_states(found, MANAGER_UPGRADES)
    found.set(ALLOWED, "true")
    assert found.until(lambda: set(node_states(found).values()) == {"completed"} if seen else False, 900)
    assert (
        seen
        == [
            "pending",
            "relocating-engines",
            "waiting-for-source-im",
            "restoring-engines",
            "waiting-for-healthy-volumes",
            "completed",
        ]
        * 3
    )
    assert {state(found, each) for each in PLACES} == {(NEW_IMAGE, "running")}
    assert {each: found.manager(each)["metadata"]["uid"] for each in PLACES} == uids
    assert [told(found, each) for each in ("v", "w", "z")] == [("attached", "healthy")] * 3
    assert found.volume("v")["spec"]["engineNodeID"] == ""
    assert found.observer.losses == []


def test_v1_13_finishes_the_node_under_way_when_it_is_no_longer_allowed() -> None:
    found = newer(spread())
    found.set(ALLOWED, "true")
    assert found.until(lambda: found.volume("v")["status"]["currentEngineNodeID"] != "n1")
    found.set(ALLOWED, "false")
    assert found.until(lambda: node_states(found).get("n1") == "completed", 300)
    found.clock.advance(100)
    assert node_states(found) == {"n1": "completed", "n2": "pending", "n3": "pending"}
    found.set(ALLOWED, "true")
    assert found.until(lambda: set(node_states(found).values()) == {"completed"}, 900)


def test_v1_13_waits_for_its_hour() -> None:
    found = newer(spread())
    found.set(START, timestamp(found.clock.now() + 300))
    found.set(ALLOWED, "true")
    found.clock.advance(200)
    assert set(node_states(found).values()) == {"pending"}
    assert found.until(lambda: node_states(found)["n1"] == "in-progress", 200)


def test_v1_13_refuses_a_single_replica_and_tries_five_times_again() -> None:
    found = newer(Volume("v", ("n1",), "n1"), spread("w", "n2"))
    found.set(ALLOWED, "true")

    def over() -> bool:
        nodes = status(found, CONTROLS, CONTROL).get("nodes") or {}
        return bool(nodes) and nodes["n1"]["retryCount"] == 5 and nodes["n1"]["state"] == "failed"

    assert found.until(lambda: found.objects.get(CONTROLS, CONTROL) is not None and over(), 1200)
    assert status(found, CONTROLS, CONTROL)["nodes"]["n1"]["errorMsg"] == "volume v has a single replica"
    assert found.until(lambda: node_states(found)["n2"] == "completed", 600)
    assert found.observer.losses == []


@pytest.mark.parametrize(
    "where",
    ["pending", "relocating-engines", "waiting-for-source-im", "restoring-engines", "waiting-for-healthy-volumes"],
)
def test_v1_13_stalls_in_every_state_and_goes_on(where: str) -> None:
    found = newer(spread())
    found.faults.upgrade_stalls(MANAGER_UPGRADES, where)
    found.set(ALLOWED, "true")
    found.clock.advance(120)
    upgrade = next(found.objects.all(MANAGER_UPGRADES))
    assert upgrade["status"]["state"] == where
    found.faults.mend_all()
    assert found.until(lambda: node_states(found)["n1"] == "completed", 600)
    assert found.observer.losses == []


@pytest.mark.parametrize("where", ["relocating-engines", "waiting-for-source-im"])
def test_v1_13_runs_out_of_time_brings_engines_home_and_fails(where: str) -> None:
    found = newer(spread(), minutes=1)
    found.faults.upgrade_stalls(MANAGER_UPGRADES, where)
    seen = seen_states(found, MANAGER_UPGRADES)
    found.set(ALLOWED, "true")
    assert found.until(lambda: "failed" in seen, 300)
    assert seen[seen.index("failed") - 1] == "restoring-engines"
    assert found.until(lambda: node_states(found)["n1"] == "failed", 60)
    assert status(found, CONTROLS, CONTROL)["nodes"]["n1"]["errorMsg"] == "upgrade aborted: timeout"
    assert found.volume("v")["status"]["currentEngineNodeID"] == "n1"
    assert found.until(lambda: modes(found) == ["RW", "RW", "RW"], 300)


def test_v1_13_fails_with_an_error_of_its_own() -> None:
    found = newer(spread())
    found.faults.upgrade_fails(MANAGER_UPGRADES, "relocating-engines", "on purpose")
    found.set(ALLOWED, "true")
    assert found.until(lambda: bool(node_states(found)) and node_states(found)["n1"] == "failed", 100)
    assert status(found, CONTROLS, CONTROL)["nodes"]["n1"]["errorMsg"] == "on purpose"


def test_v1_13_carries_out_an_upgrade_that_a_user_has_made() -> None:
    found = newer(spread())
    body = {"metadata": {"name": "mine"}, "spec": {"nodeID": "n2", "targetImage": NEW_IMAGE}}
    found.objects.create(MANAGER_UPGRADES, body)
    assert found.until(lambda: status(found, MANAGER_UPGRADES, "mine").get("state") == "completed", 300)
    assert (state(found, "n1")[0], state(found, "n2")[0]) == (OLD_IMAGE, NEW_IMAGE)


def test_v1_13_aborts_an_upgrade_of_a_node_at_which_its_control_has_another() -> None:
    found = newer(spread())
    found.faults.upgrade_stalls(MANAGER_UPGRADES, "relocating-engines")
    found.set(ALLOWED, "true")
    found.clock.advance(20)
    body = {"metadata": {"name": "mine"}, "spec": {"nodeID": "n1", "targetImage": NEW_IMAGE}}
    found.objects.create(MANAGER_UPGRADES, body)
    assert found.until(lambda: status(found, MANAGER_UPGRADES, "mine").get("state") == "failed", 100)
    assert status(found, MANAGER_UPGRADES, "mine")["abortReason"] == "orphaned-imu"
    assert state(found, "n1") == (OLD_IMAGE, "running")


def test_v1_13_drops_a_volume_that_is_deleted() -> None:
    found = newer(spread(), spread("w", "n1"))
    found.faults.upgrade_stalls(MANAGER_UPGRADES, "relocating-engines")
    found.set(ALLOWED, "true")
    found.clock.advance(20)
    upgrade = next(found.objects.all(MANAGER_UPGRADES))
    assert set(upgrade["status"]["engines"]) == {"v", "w"}
    found.faults.volume_deleted("w")
    found.faults.mend_all()
    assert found.until(lambda: node_states(found)["n1"] == "completed", 300)
    assert found.observer.losses == []


def test_v1_13_takes_another_temporary_node_where_the_first_one_dies() -> None:
    found = newer(spread())
    places: list[str] = []

    def chosen(item: Json) -> bool:
        told = (item.get("status", {}).get("engines") or {}).get("v", {}).get("temporaryNodeID", "")
        if told and told not in places:
            places.append(told)
        return bool(told == "n2")

    found.faults.when(MANAGER_UPGRADES, chosen, lambda: found.faults.node_dies("n2"))

    def note(kind: Kind, item: Json, _gone: bool) -> None:
        if kind == MANAGER_UPGRADES:
            chosen(item)

    found.objects.listeners.append(note)
    found.set(ALLOWED, "true")
    assert found.until(lambda: places == ["n2", "n3"], 120), places
    assert found.until(lambda: found.volume("v")["status"]["currentEngineNodeID"] == "n3", 60)
    assert found.observer.by_acts == []
