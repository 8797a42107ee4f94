# SPDX-License-Identifier: GPL-3.0-or-later
"""The reasons for which a batch is held up, from the results of its tasks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROLES = Path(__file__).parents[4] / "roles"
BATCH = {"name": "batch-01", "members": ["data-2", "data-1", "data-0"]}


def told(environment: Mapping[str, str], folder: Path, **variables: Any) -> dict[str, Any]:
    """The variables of the role, worked out with these."""
    names = ("roll_members", "roll_held_up")
    show = {"name": "show", "ansible.builtin.debug": {"msg": {name: f"{{{{ {name} }}}}" for name in names}}}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars_files": [str(ROLES / role / "vars/main.yml") for role in ("roll", "opensearch")],
        "vars": {"upgrade_batch": BATCH, **variables},
        "tasks": [show],
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
