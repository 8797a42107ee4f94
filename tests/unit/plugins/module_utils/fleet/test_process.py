"""A playbook in a process of its own, whose log may be on a full disk."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade, process
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import Cluster, FleetPlan
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.waves import Wave

PROGRAM = """
import json, os
for line in ("Roll one", "Roll two", "Done."):
    print(line, flush=True)
with open(os.environ["STATEFUL_UPGRADE_STATS_FILE"], "w") as file:
    json.dump({"upgrade_state": "done"}, file)
"""
FULL = Path("/dev/full")
"""A file on a disk that is full."""
LOST = "lines of its output are lost, since /dev/full cannot be written: No space left on device."
COMMAND = process.PlaybookCommand("opensearch", {})


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PYTHON", (sys.executable, "-c", PROGRAM))


def test_the_output_of_a_playbook_is_in_its_log(tmp_path: Path) -> None:
    played = process.play(COMMAND, tmp_path / "logs" / "one.log", lambda _line: None)
    assert (played.code, played.last, played.unlogged) == (0, "Done.", "")
    assert (tmp_path / "logs" / "one.log").read_text() == "Roll one\nRoll two\nDone.\n"


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has it")
def test_a_full_disk_ends_no_playbook_and_is_heard_of_once() -> None:
    heard: list[str] = []
    played = process.play(COMMAND, FULL, heard.append)
    assert (played.code, played.last, played.statistics) == (0, "Done.", {"upgrade_state": "done"})
    assert played.unlogged == LOST
    assert [line for line in heard if line] == [LOST, "Roll one", "Roll two", "Done."]


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has it")
def test_a_cluster_whose_log_is_lost_is_done_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Folder, "log_of", lambda _folder, _name: FULL)
    folder = Folder(tmp_path)
    folder.put(Cluster("one", "planned", digest="p1"))
    folder.write(FleetPlan((Wave("wave 1", ("one",)),), 0, "f1"))
    warnings: list[str] = []
    given = cluster_upgrade.CONTRACT.arguments({"path": str(tmp_path), "cluster": "one"})
    ended = cluster_upgrade.run(Task(given, warn=warnings.append)).more["cluster"]
    assert (ended["state"], warnings) == ("done", [f"one: {LOST}"])
