# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch that is divided: what is left of it goes on, and what became of all its members is recorded."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SHELL = Path(__file__).parents[4] / "roles/roll/vars/main.yml"
BATCH = {"name": "batch-01", "members": ["data-2", "data-1", "data-0"]}


def member(name: str, action: str) -> dict[str, Any]:
    """The result about a member of the task that replaces a batch."""
    return {"name": name, "action": action}


def told(environment: Mapping[str, str], folder: Path, **variables: Any) -> dict[str, Any]:
    """The variables of the role, worked out with these."""
    names = ("roll_finished", "roll_members", "roll_held_up")
    show = {"name": "show", "ansible.builtin.debug": {"msg": {name: f"{{{{ {name} }}}}" for name in names}}}
    role = {"name": "stateful.upgrade.opensearch", "tasks_from": "in_time", "rolespec_validate": False, "public": True}
    first = {"ansible.builtin.include_role": role}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars_files": [str(SHELL)],
        "vars": {"upgrade_batch": BATCH, **variables},
        "tasks": [first, show],
    }
    playbook = folder / "play.json"
    playbook.write_text(json.dumps([play]))
    command = ["ansible-playbook", str(playbook)]
    run = subprocess.run(
        command,
        env={**environment, "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    found: dict[str, Any] = json.loads(run.stdout.partition("ok: [localhost] => ")[2].partition("\n}")[0] + "\n}")[
        "msg"
    ]
    return found


def test_members_that_went_first_are_told_with_those_that_went_later(
    ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    replaced = {"members": [member("data-1", "replaced"), member("data-0", "untouched")]}
    first = [member("data-2", "replaced")]
    found = told(ansible_environment, tmp_path, roll_replaced=replaced, roll_gone=first)
    assert found["roll_finished"] == [member("data-1", "replaced")]
    assert found["roll_members"] == [*first, *replaced["members"]]
    # Nobody is told twice if nothing has been replaced since.
    found = told(ansible_environment, tmp_path, roll_replaced={"members": first}, roll_gone=first)
    assert found["roll_members"] == first
    assert told(ansible_environment, tmp_path)["roll_members"] == []


def test_a_task_that_is_refused_does_not_wait_whatever_else_it_says(
    ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """In one pass nothing follows a task that waits; the failure of one that is refused has to be told."""
    starting = {"state": "waiting", "code": "pod_starting", "message": "It starts."}
    stuck = {"state": "refused", "code": "image_not_pulled", "message": "It cannot be pulled."}
    for state, reasons, held_up in (("waiting", [starting], [starting]), ("refused", [starting, stuck], [])):
        said = {"verdict": {"state": state, "reasons": reasons}}
        found = told(ansible_environment, tmp_path, upgrade_wait=False, roll_ready=said)
        assert found["roll_held_up"] == held_up
