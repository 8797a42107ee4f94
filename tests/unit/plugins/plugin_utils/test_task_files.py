"""Files with tasks of the user's own that Ansible could not read once the run is under way.

A playbook asks the lookup, because only there the modules are known by their names.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GOOD = "- name: Say it\n  ansible.builtin.debug:\n    msg: It\n"
READABLE = {
    "task.yml": GOOD,
    "import.yml": "- ansible.builtin.import_tasks: beside/other.yml\n",
    "include.yml": "- ansible.builtin.include_tasks: not_there_yet.yml\n",
    "given.yml": '- ansible.builtin.import_tasks: "beside/{{ given_name }}.yml"\n',
    "empty.yml": "",
}
UNREADABLE = {
    "open.yml": ("- name: [\n", ""),
    "mapping.yml": ("a: b\n", "must contain a list of tasks"),
    "play.yml": ("- hosts: all\n  tasks: []\n", "hosts, tasks"),
    "module.yml": ("- ansible.builtin.debgu:\n", "'ansible.builtin.debgu'"),
    "import_nothing.yml": ("- ansible.builtin.import_tasks: nowhere.yml\n", "nowhere.yml"),
    "not_given.yml": ('- ansible.builtin.import_tasks: "{{ not_given }}.yml"\n', "'not_given' is undefined"),
    "keyword.yml": ("- ansible.builtin.debug:\n    msg: It\n  whne: true\n", "whne"),
}


def said(given: Mapping[str, Any], folder: Path, environment: Mapping[str, str], asked: str = "plan") -> list[str]:
    """The faults that the playbook `asked` finds in these variables, when it is started in the folder."""
    show = {"ansible.builtin.copy": {"dest": str(folder / "said.json"), "content": "{{ found | to_json }}"}}
    found = {"found": f"{{{{ query('stateful.upgrade.input_faults', '{asked}') }}}}"}
    playbook = folder / "ask.json"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [{**show, "vars": found}]}]))
    needed = {"target_version": "3.8.0", "upgrade_namespace": "search"}
    command = ["ansible-playbook", str(playbook), "-e", json.dumps({**needed, **given})]
    run = subprocess.run(
        command,
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    sentences: list[str] = json.loads((folder / "said.json").read_text())
    return sentences


def test_what_ansible_can_read_is_good(tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "other.yml").write_text(GOOD)
    for name, text in READABLE.items():
        (tmp_path / name).write_text(text)
    given = {
        "upgrade_tasks_before": "task.yml,import.yml",
        "upgrade_tasks_between": sorted(READABLE),
        "given_name": "other",
    }
    assert said({**given, "upgrade_tasks_after": str(tmp_path / "task.yml")}, tmp_path, ansible_environment) == []


def test_what_ansible_cannot_read_is_refused_with_its_cause(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    for name, (text, _cause) in UNREADABLE.items():
        (tmp_path / name).write_text(text)
    sentences = said({"upgrade_tasks_between": [*UNREADABLE]}, tmp_path, ansible_environment)
    assert len(sentences) == len(UNREADABLE), sentences
    for sentence, (name, (_text, cause)) in zip(sentences, UNREADABLE.items(), strict=True):
        print(sentence)
        assert sentence.startswith(f"upgrade_tasks_between names {name}, which Ansible cannot read as tasks: ")
        assert sentence.endswith(". Correct the file.")
        assert cause in sentence


def test_a_file_that_is_not_there_is_named_with_the_place_that_was_looked_at(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    (tmp_path / "here.yml").write_text(GOOD)
    given = {"upgrade_tasks_before": "here.yml,tsks.yml", "upgrade_tasks_after": [tmp_path.name]}
    assert said(given, tmp_path, ansible_environment) == [
        f"{name} names {file}, and there is no file {tmp_path}/{file}: correct the path."
        for name, file in (("upgrade_tasks_before", "tsks.yml"), ("upgrade_tasks_after", tmp_path.name))
    ]
    (launcher,) = said({"upgrade_fleet_launcher": "kubernetes"}, tmp_path, ansible_environment, "fleet")
    assert launcher.endswith(f"no file {tmp_path}/kubernetes: correct the path, or give awx or kubernetes_job.")
    # A playbook that puts back needs no task of the user, and may run on another machine.
    assert said(given, tmp_path, ansible_environment, "settle") == []


def test_a_gate_of_workloads_is_such_a_file(tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    gate = {
        "upgrade_system": "stateful.upgrade.longhorn",
        "target_version": "v1.12.1",
        "upgrade_workload_gate": "gate.yml",
    }
    sentences = said(gate, tmp_path, ansible_environment, "longhorn")
    missing = "upgrade_workload_gate names gate.yml, and there is no file"
    assert [each for each in sentences if each.startswith(missing)], sentences
