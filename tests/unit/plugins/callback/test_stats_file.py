"""The file with the custom statistics of a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.callback import stats_file

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


WAITS: Mapping[str, Any] = {
    "upgrade_state": "waiting",
    "upgrade_record": "n" * 253,
    "upgrade_confirm": "p1f429d12444",
    "upgrade_reasons": ["cluster_red", "pod_leaves"],
}


@pytest.mark.parametrize(
    "long",
    [
        {"upgrade_waiting_for": ["A member is away. " * 400, "Another waits."]},
        {"upgrade_waiting_for": [f"Member {number} is away." for number in range(500)]},
        {"upgrade_cause": "The \u201ccluster\u201d is \\red\\.\n" * 500},
        {"upgrade_cause": "a" * 3000, "upgrade_plan_text": "b" * 3000, "upgrade_waiting_for": ["c" * 3000]},
        {"of_the_user": {"key": "d" * 5000}},
        {f"of_the_user_{number}": number for number in range(500)},
    ],
)
def test_the_message_of_a_pod_is_never_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: Mapping[str, Any]
) -> None:
    file = tmp_path / "termination-log"
    monkeypatch.setattr(stats_file, "TERMINATION_LOG", str(file))
    callback = stats_file.CallbackModule()
    monkeypatch.setattr(callback, "get_option", lambda _name: str(file))
    custom = {stats_file.WHOLE_RUN: {**WAITS, **long}}
    callback.v2_playbook_on_stats(SimpleNamespace(changed={"localhost": 1}, custom=custom))
    assert file.stat().st_size < 4096
    found = json.loads(file.read_text())
    kept = ("upgrade_state", "upgrade_record", "upgrade_confirm")
    assert {name: found[name] for name in kept} == {name: WAITS[name] for name in kept}
    assert found["upgrade_changed"] is True
    for name in long.keys() & {"upgrade_waiting_for", "upgrade_cause"}:
        assert found["upgrade_reasons"] == WAITS["upgrade_reasons"]
        assert len(json.dumps(found[name])) > 400, "as much as there is room for"


def test_a_file_that_is_no_message_of_a_pod_has_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    callback, file = stats_file.CallbackModule(), tmp_path / "state.json"
    monkeypatch.setattr(callback, "get_option", lambda _name: str(file))
    custom = {stats_file.WHOLE_RUN: {"upgrade_cause": "a" * 9000}}
    callback.v2_playbook_on_stats(SimpleNamespace(changed={}, custom=custom))
    assert json.loads(file.read_text())["upgrade_cause"] == "a" * 9000
