# SPDX-License-Identifier: GPL-3.0-or-later
"""When the time of a batch is over no further member of it goes down, and one that is down is brought back."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

TASKS = Path(__file__).resolve().parents[4] / "roles" / "opensearch" / "tasks"
IN_VAIN = {"verdict": {"reasons": [{"state": "waiting", "message": "Budget data leaves no room."}]}}


def play(**variables: Any) -> dict[str, Any]:
    """A play in which a batch that began a minute ago is asked whether it may go on."""
    batch = {"name": "batch-01", "members": ["data-1", "data-0"]}
    role = {"name": "stateful.upgrade.opensearch", "tasks_from": "in_time", "rolespec_validate": False}
    begun = {"upgrade_batch": batch, "roll_begun": {"at": int(time.time()) - 60}}
    return {
        "hosts": "localhost",
        "gather_facts": False,
        "ignore_errors": True,
        "vars": {**begun, **variables},
        "tasks": [{"ansible.builtin.import_role": role}],
    }


def test_no_member_goes_after_the_time(ansible_environment: Mapping[str, str], tmp_path: Path) -> None:
    over, left = {"upgrade_batch_timeout": 30}, {"roll_remaining": ["data-0"]}
    plays = [
        play(roll_replaced=IN_VAIN, **over),
        play(roll_replaced={"verdict": {"reasons": []}}, **over, **left),
        play(roll_proof=IN_VAIN, upgrade_places={}, upgrade_run_timeout=90, upgrade_deadline=int(time.time()) - 1),
        play(roll_replaced=IN_VAIN, upgrade_batch_timeout=3600),
        play(roll_replaced=IN_VAIN),
    ]
    playbook = tmp_path / "play.json"
    playbook.write_text(json.dumps(plays))
    run = subprocess.run(
        ["ansible-playbook", str(playbook)], env=dict(ansible_environment), capture_output=True, text=True, check=False
    )
    said = [
        " ".join(line.replace(r"\n", " ").split()) for line in run.stdout.splitlines() if line.startswith("fatal: ")
    ]
    several = "The time of batch batch-01 is over, so data-1, data-0 stay up. Budget data leaves no room."
    assert [several in line for line in said] == [True, False, True], run.stdout
    assert "so data-0 stays up. Run again" in said[1]
    assert "The limits are upgrade_batch_timeout and upgrade_run_timeout." in said[0]
    assert run.stdout.count("skipping: [localhost]") == 2, run.stdout


@pytest.mark.parametrize("name", ["prove_and_go", "back"])
def test_a_member_that_is_down_has_its_own_time(name: str) -> None:
    """Its time does not depend on what is left of the time of its batch."""
    followed = [task for task in _tasks(yaml.safe_load((TASKS / f"{name}.yml").read_text())) if _follows(task)]
    assert followed
    assert {str(task["wait_timeout"]).partition("|")[0] for task in followed} == {"{{ upgrade_member_timeout "}


def _follows(task: Mapping[str, Any]) -> bool:
    return "batch" in task and ("until" in task or task.get("moment") == "joined" or "pools" in task)


def _tasks(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The arguments of all modules of the collection, those in blocks included."""
    found: list[dict[str, Any]] = []
    for task in tasks:
        found += [task[name] for name in task if name.startswith("stateful.upgrade.")]
        found += _tasks([*task.get("block", []), *task.get("rescue", [])])
    return found
