# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbooks refuse before they ask any server, as users see it; what status says where nobody answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

NOWHERE = "https://127.0.0.1:9"
LONGEST = 2_500
"""Characters of all that is printed for a person to read; Ansible's own list of a role's arguments has 9,500."""


def play(playbook: str, variables: Mapping[str, Any], environment: Mapping[str, str], *more: str) -> tuple[int, str]:
    """Exit code and output of a playbook of the collection."""
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    done = subprocess.run(
        [program, f"stateful.upgrade.{playbook}", "-e", json.dumps(dict(variables)), *more],
        env={**environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"},
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("playbook", ["opensearch", "plan", "opensearch_hosts", "status", "abort", "settle"])
def test_faults_are_said_at_once_before_anything_is_asked(
    playbook: str, ansible_environment: Mapping[str, str]
) -> None:
    given = {"upgrade_max_unavailble": 2, "upgrade_gate_timeout": "soon", "upgrade_opensearch": {"hosts": []}}
    code, output = play(playbook, given, ansible_environment)
    assert code != 0
    for sentence in (
        f"upgrade_max_unavailble is not a variable of the playbook {playbook}: did you mean upgrade_max_unavailable?",
        "upgrade_gate_timeout is 'soon', and must be a whole number, 1 or more.",
        "upgrade_opensearch.hosts is empty: name at least one. Nothing was done.",
        "upgrade_groups is missing" if playbook == "opensearch_hosts" else "upgrade_namespace is missing",
        '"inputs_wrong"',
    ):
        assert sentence in output
    assert len(output) < LONGEST * 2, output  # the message is printed twice from ansible-core 2.19 on


def test_variables_of_the_inventory_are_looked_at_too(ansible_environment: Mapping[str, str], tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.json"
    here = {"upgrade_gate_timeout": "{{ seconds }}", "seconds": "soon", "upgrade_membrs": ["a"]}
    groups = {"search": {"hosts": {"m1": {"upgrade_membr": "a"}}}}
    inventory.write_text(json.dumps({"all": {"hosts": {"localhost": here}, "children": groups}}))
    given = {"target_version": "3.8.0", "upgrade_groups": ["search"], "upgrade_member_role": "role"}
    code, output = play("opensearch_hosts", given, ansible_environment, "-i", str(inventory))
    assert code != 0
    assert "upgrade_gate_timeout is 'soon'" in output
    assert "did you mean upgrade_members?" in output

    inventory.write_text(json.dumps({"all": {"children": groups}}))
    code, output = play("opensearch_hosts", given, ansible_environment, "-i", str(inventory))
    assert code != 0
    assert "upgrade_membr of host m1 is not a variable of this playbook: did you mean upgrade_member?" in output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"upgrade_namespace": "search"}, f"The Kubernetes API at {NOWHERE} cannot be reached"),
        ({"upgrade_groups": ["search"]}, f"OpenSearch at {NOWHERE} cannot be reached"),
    ],
)
def test_status_says_at_once_that_nobody_answers(
    given: Mapping[str, Any], said: str, ansible_environment: Mapping[str, str]
) -> None:
    ways = {"upgrade_kubernetes": {"host": NOWHERE}, "upgrade_opensearch": {"hosts": [NOWHERE]}}
    code, output = play("status", {**given, **ways}, ansible_environment)
    assert code != 0
    assert said in output
    assert "timed_out" not in output  # one look, however long others would wait


def test_nothing_is_demanded_of_a_syntax_check(ansible_environment: Mapping[str, str]) -> None:
    for playbook in ("opensearch", "opensearch_hosts", "plan", "status", "abort", "settle"):
        code, output = play(playbook, {}, ansible_environment, "--syntax-check")
        assert code == 0, output
