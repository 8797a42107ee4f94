"""The steps of a role for members, taken on this machine as a playbook takes them on the host of a member."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.scenarios.playbook import Played, play

Json = dict[str, Any]


def step_of(role: str, name: str, **variables: Any) -> Json:
    """The task that takes this step, with these variables alone in this step."""
    include = {"name": f"stateful.upgrade.{role}", "tasks_from": name}
    return {"ansible.builtin.include_role": include, "vars": variables}


def take(folder: Path, environment: Mapping[str, str], variables: Mapping[str, Any], *tasks: Json) -> Played:
    """Tasks on one host, whose folder this is. It needs no other user's rights."""
    content = [{"hosts": "h", "connection": "local", "gather_facts": False, "tasks": [*tasks]}]
    playbook = folder / "playbook.json"
    playbook.write_text(json.dumps(content), encoding="utf-8")
    here = {"ansible_python_interpreter": sys.executable, "ansible_become": False}
    played = play(str(playbook), {**here, **variables}, environment, "-i", "h,")
    print(played.output)
    return played
