"""The file with the custom statistics of a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.set_stats:
        data: {upgrade_state: refused, upgrade_reasons: [not_confirmed]}
        aggregate: false
    - ansible.builtin.fail:
        msg: No.
      when: fails
"""


def play(folder: Path, environment: Mapping[str, str], file: Path, *, fails: bool, text: str = PLAY) -> tuple[int, str]:
    (folder / "play.yml").write_text(text)
    enabled = {"ANSIBLE_CALLBACKS_ENABLED": "stateful.upgrade.stats_file", "STATEFUL_UPGRADE_STATS_FILE": str(file)}
    command = ["ansible-playbook", "play.yml", "-e", json.dumps({"fails": fails})]
    done = subprocess.run(
        command, cwd=folder, env={**environment, **enabled}, check=False, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("fails", [False, True])
def test_the_file_tells_how_the_run_ended(tmp_path: Path, ansible_environment: Mapping[str, str], fails: bool) -> None:
    file = tmp_path / "state.json"
    code, _output = play(tmp_path, ansible_environment, file, fails=fails)
    assert bool(code) is fails
    assert json.loads(file.read_text()) == {
        "upgrade_state": "refused",
        "upgrade_reasons": ["not_confirmed"],
        "upgrade_changed": False,
    }


def test_the_file_of_an_earlier_run_is_not_taken_for_that_of_this_one(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    file = tmp_path / "state.json"
    file.write_text('{"upgrade_state": "done"}')
    # An error in an expression for the hosts ends the run before its first play.
    code, output = play(tmp_path, ansible_environment, file, fails=False, text="- hosts: '{{ nothing }}'\n")
    assert code != 0, output
    assert file.read_text() == ""


def test_a_file_that_cannot_be_written_is_told_and_the_run_goes_on(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    code, output = play(tmp_path, ansible_environment, tmp_path / "nowhere" / "state.json", fails=False)
    assert code == 0, output
    assert "The custom statistics cannot be written" in output
