"""The refusals of the playbooks before they ask any server, as users see them; status without an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.playbook_processes.process import program, run

ROOT = Path(__file__).resolve().parents[3]
NOWHERE = "https://127.0.0.1:9"
LONGEST = 2_500
"""Characters of all that is printed for a person to read; Ansible's own list of a role's arguments has 9,500."""

OF_THE_SAME = {"fleet_cancel": "fleet"}
"""Playbooks that take the variables of another one."""


def play(playbook: str, variables: Mapping[str, Any], environment: Mapping[str, str], *more: str) -> tuple[int, str]:
    """Exit code and output of a playbook of the collection."""
    command = [program(), f"stateful.upgrade.{playbook}", "-e", json.dumps(dict(variables)), *more]
    done = run(command, {**environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"})
    return done.returncode, done.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda path: path.stem)
def test_the_first_task_of_every_playbook_looks_at_its_variables(path: Path) -> None:
    play = yaml.safe_load(path.read_text(encoding="utf-8"))[0]
    inputs_of = OF_THE_SAME.get(path.stem, path.stem)
    if "ansible.builtin.import_playbook" in play:
        if "vars" in play:
            assert play["vars"]["upgrade_system"].rpartition(".")[2] == path.stem
        path = path.parent / play["ansible.builtin.import_playbook"]
        play = yaml.safe_load(path.read_text(encoding="utf-8"))[0]
    if path.stem == "upgrade":
        inputs_of = "{{ upgrade_system | split('.') | last }}"
    first = play["tasks"][0]
    tasks = path.parent / first["ansible.builtin.import_tasks"]
    assert (tasks.resolve(), first["vars"]) == (ROOT / "playbooks" / "tasks" / "inputs.yml", {"inputs_of": inputs_of})


@pytest.mark.parametrize("playbook", ["opensearch_hosts", "abort"])
def test_faults_are_said_at_once_before_anything_is_asked(
    playbook: str, ansible_environment: Mapping[str, str]
) -> None:
    given = {"upgrade_max_unavailble": 2, "upgrade_gate_timeout": "soon", "upgrade_opensearch": {"hosts": []}}
    code, output = play(playbook, given, ansible_environment)
    assert code != 0
    for sentence in (
        f"upgrade_max_unavailble is not a variable of the playbook {playbook}: did you mean upgrade_max_unavailable?",
        "upgrade_gate_timeout is 'soon', and must be a whole number, 1 or more.",
        "upgrade_opensearch.hosts is empty: name at least one.",
        "upgrade_groups is missing" if playbook == "opensearch_hosts" else "upgrade_namespace is missing",
        '"inputs_wrong"',
    ):
        assert sentence in output
    assert len(output) < LONGEST * 2, output  # the message is printed twice from ansible-core 2.19 on


def test_a_system_that_is_misspelt_is_a_fault_like_any_other(ansible_environment: Mapping[str, str]) -> None:
    code, output = play("plan", {"upgrade_system": "stateful.upgrade.opensaerch"}, ansible_environment)
    assert code != 0
    assert "is installed: did you mean stateful.upgrade.opensearch?" in output
    assert "Nothing was done." in output
    assert '"inputs_wrong"' in output
    assert "lookup" not in output


def test_variables_of_the_inventory_are_looked_at_too(ansible_environment: Mapping[str, str], tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.json"
    here = {"upgrade_gate_timeout": "{{ seconds }}", "seconds": "soon", "upgrade_membrs": ["a"]}
    groups = {"search": {"hosts": {"m1": {"upgrade_membr": "a"}}}}
    inventory.write_text(json.dumps({"all": {"hosts": {"localhost": here}, "children": groups}}))
    given = {
        "target_version": "3.8.0",
        "upgrade_groups": ["serch"],
        "upgrade_member_role": "stateful.upgrade.member_pack",
    }
    code, output = play("opensearch_hosts", given, ansible_environment, "-i", str(inventory))
    assert code != 0
    assert "upgrade_gate_timeout is 'soon'" in output
    assert "did you mean upgrade_members?" in output
    assert "upgrade_groups names serch, and the inventory has no such group: did you mean search?" in output
    assert "upgrade_member_role names stateful.upgrade.member_pack, and no such role is installed" in output
    given |= {"upgrade_groups": ["search"], "upgrade_member_role": "stateful.upgrade.member_package"}

    inventory.write_text(json.dumps({"all": {"children": groups}}))
    code, output = play("opensearch_hosts", given, ansible_environment, "-i", str(inventory))
    assert code != 0
    assert "upgrade_membr of host m1 is not a variable of this playbook: did you mean upgrade_member?" in output


@pytest.mark.parametrize(
    ("playbook", "given", "said"),
    [
        ("status", {"upgrade_namespace": "search"}, ("The Kubernetes API", "Check upgrade_kubernetes.host")),
        ("status", {"upgrade_groups": ["search"]}, ("The search cluster", "Check upgrade_opensearch.hosts")),
        ("report", {"upgrade_namespace": "search"}, ("The Kubernetes API", "Check upgrade_kubernetes.host")),
    ],
)
def test_status_and_report_say_at_once_that_nobody_answers(
    playbook: str, given: Mapping[str, Any], said: tuple[str, str], ansible_environment: Mapping[str, str]
) -> None:
    ways = {"upgrade_kubernetes": {"host": NOWHERE}, "upgrade_opensearch": {"hosts": [NOWHERE]}}
    code, output = play(playbook, {**given, **ways}, ansible_environment)
    assert code != 0
    who, remedy = said
    assert f"{who} at {NOWHERE} cannot be reached" in output
    assert remedy in output  # in the words of whoever runs a playbook
    assert "timed_out" not in output  # one look, however long others would wait


@pytest.mark.parametrize("playbook", ["plan", "status"])
def test_good_variables_are_followed_by_a_question_to_a_server(
    playbook: str, ansible_environment: Mapping[str, str]
) -> None:
    ways = {"upgrade_kubernetes": {"host": NOWHERE}, "upgrade_opensearch": {"hosts": [NOWHERE]}}
    given = {**ways, "upgrade_namespace": "search", "target_version": "3.8.0", "upgrade_wait": False}
    _code, output = play(playbook, given, ansible_environment)
    assert "Nothing was done." not in output.replace("Nothing was done in this pass", "")
    assert NOWHERE in output


@pytest.mark.parametrize(
    ("playbook", "address", "said"),
    [
        ("plan", NOWHERE, "Connection refused"),
        ("settle", NOWHERE, "Connection refused"),
        ("plan", "https://search.invalid:9200", "https://search.invalid:9200 cannot be reached"),
        (
            "plan",
            '"https://search:9200"',
            'The address "https://search:9200" of upgrade_kubernetes.host is not the URL',
        ),
    ],
)
def test_an_address_that_is_wrong_is_refused_before_the_time_of_the_preflight_is_over(
    playbook: str, address: str, said: str, ansible_environment: Mapping[str, str]
) -> None:
    given = {"upgrade_kubernetes": {"host": address}, "upgrade_opensearch": {"hosts": [NOWHERE]}}
    wanted = {"target_version": "3.8.0"} if playbook == "plan" else {}
    environment = {**ansible_environment, "ANSIBLE_STDOUT_CALLBACK": "stateful.upgrade.concise"}
    code, output = play(playbook, {**given, **wanted, "upgrade_namespace": "search"}, environment)
    assert code != 0
    assert said in output
    assert "did not change within" not in output
