"""Consent under ansible-runner, as AWX runs it: its child has a terminal, and no one sits there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import ansible_runner
import pytest

DIGEST = "p0123456789a"
PLAY = [
    {
        "hosts": "localhost",
        "gather_facts": False,
        "vars": {"begin_plan": {"digest": DIGEST}},
        "tasks": [
            {"ansible.builtin.import_role": {"name": "stateful.upgrade.begin", "tasks_from": "confirm"}},
            {"ansible.builtin.debug": {"msg": "begun"}},
        ],
    }
]
HANGS = 120
"""Seconds after which the runner ends a run that waits for an answer."""


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        (
            {},
            "failed",
            f"The plan {DIGEST} was not confirmed, so nothing was done. Look at the plan above; to carry it out,",
        ),
        ({"upgrade_confirm": "p0"}, "failed", f"upgrade_confirm names the plan p0, and the plan is {DIGEST}"),
        ({"upgrade_confirm": DIGEST}, "successful", "begun"),
    ],
)
def test_nobody_is_asked_under_the_runner(
    given: Mapping[str, str], status: str, said: str, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    playbook = tmp_path / "play.json"
    playbook.write_text(json.dumps(PLAY))
    run = ansible_runner.run(
        private_data_dir=str(tmp_path),
        playbook=str(playbook),
        extravars=dict(given),
        envvars={**ansible_environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        timeout=HANGS,
        quiet=True,
    )
    output = " ".join(run.stdout.read().split())
    assert run.status == status, output
    assert said in output
