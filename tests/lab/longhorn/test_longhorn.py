"""The stand-in controllers as a process next to an API server, which holds them to the real definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.lab.longhorn.description import read, written
from tests.lab.longhorn.longhorn import LonghornOnLab, Platform
from tests.lab.waiting import until
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import MANAGERS, NODES, VOLUMES
from tests.sandbox.sandbox import Sandbox

PLACES = ("node-a1", "node-b1", "node-c1")
DESCRIBED = Described(
    tuple(Machine(each) for each in PLACES), (Volume("v", PLACES, "node-a1"),), frontends_outlive=True
)


def test_a_description_survives_being_written() -> None:
    assert read(written(DESCRIBED)) == DESCRIBED


def test_a_node_is_upgraded_by_hand_beside_an_api_server_in_memory(tmp_path: Path) -> None:
    with Sandbox() as sandbox:
        upgrade_by_hand(sandbox, tmp_path)


def upgrade_by_hand(platform: Platform, directory: Path) -> None:
    with LonghornOnLab(platform, directory, DESCRIBED) as found:

        def status() -> Any:
            return found.ask("GET", VOLUMES, "v")["status"]

        def images() -> dict[str, str]:
            here = [each for each in found.all(MANAGERS) if each["spec"]["nodeID"] == "node-a1"]
            return {each["spec"]["image"]: each.get("status", {}).get("currentState", "") for each in here}

        until("The default manager", lambda: images() == {OLD_IMAGE: "running", NEW_IMAGE: "stopped"}, 30.0)
        assert (status()["state"], status()["robustness"]) == ("attached", "healthy")
        found.ask("PATCH", VOLUMES, "v", {"spec": {"engineNodeID": "node-b1"}})
        until("The switch", lambda: status()["currentEngineNodeID"] == "node-b1", 60.0)
        until("The end of the switch", lambda: not status()["switchoverState"], 30.0)
        here = [each for each in found.all(MANAGERS) if each["spec"]["nodeID"] == "node-a1"]
        old = next(each for each in here if each["spec"]["image"] == OLD_IMAGE)
        found.ask("DELETE", MANAGERS, old["metadata"]["name"])
        until("The new manager", lambda: images() == {NEW_IMAGE: "running"}, 60.0)
        found.ask("PATCH", VOLUMES, "v", {"spec": {"engineNodeID": ""}})
        until("The way home", lambda: status()["currentEngineNodeID"] == "node-a1", 60.0)
        until("The rebuild", lambda: status()["robustness"] == "healthy", 90.0)
        assert found.ask("GET", NODES, "node-a1")["spec"]["allowScheduling"]
        assert found.said("moved") == ["moved v to node-b1", "moved v to node-a1"]
        assert found.said("lost") == []
        (only,) = [each for each in found.all(MANAGERS) if each["spec"]["nodeID"] == "node-a1"]
        found.ask("DELETE", MANAGERS, only["metadata"]["name"])
        until("The observer to see it", lambda: found.said("lost"), 30.0)
        assert "lost v: no running instance manager (by an act)" in found.said("lost")
