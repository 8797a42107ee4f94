"""The parts of a run, both ways: in the controller process, and as the module that another Python runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.playbook_runner import HERE, OTHER_PYTHON, PlaybookRunner, Played

MODULE = "stateful.upgrade.upgrade_part"
SECRET = "open-sesame-5c1"
TASKS: list[dict[str, Any]] = [
    {"name": "shown", MODULE: {"part": "tell", "lines": ["The upgrade begins.", "It has ended."]}},
    {"name": "no name", MODULE: {"lines": ["The upgrade begins."]}},
    {"name": "another name", MODULE: {"part": "say"}},
    {"name": "another option", MODULE: {"part": "tell", "lines": [], "colour": "red"}},
    {"name": "of the system", MODULE: {"part": "system", "state": "ended", "record_kept_in": "none"}},
    {
        "name": "unusable",
        MODULE: {"part": "upgrade_notice", "state": "started", "url": f"ftp://h/{SECRET}", "record_kept_in": "none"},
    },
]
NAMES = [task["name"] for task in TASKS]


@pytest.fixture(scope="module")
def ways(runner: PlaybookRunner) -> dict[str, Played]:
    """All tasks in both forms, with connections for all modules of the collection."""
    defaults = {"group/stateful.upgrade.all": {"opensearch": {"hosts": ["https://127.0.0.1:9"]}}}
    return {host: runner.play(TASKS, host, options=["-vvv"], module_defaults=defaults) for host in (HERE, OTHER_PYTHON)}


@pytest.mark.parametrize("name", NAMES)
def test_same_result(ways: dict[str, Played], name: str) -> None:
    here, shipped = ({k: v for k, v in ways[host].results[name].items() if k != "ansible_facts"} for host in ways)
    assert here == shipped


@pytest.mark.parametrize("host", [HERE, OTHER_PYTHON])
def test_what_happened(ways: dict[str, Played], host: str) -> None:
    results = ways[host].results
    assert results["shown"]["lines"] == ["The upgrade begins.", "It has ended."]
    assert results["no name"]["msg"] == "missing required arguments: part"
    assert results["another name"]["msg"].startswith("value of part must be one of: alert_silence, ")
    assert "Unsupported parameters" in results["another option"]["msg"]
    assert results["of the system"]["msg"] == "state is ended but all of the following are missing: event, lock"
    assert results["unusable"]["verdict"]["reasons"][0]["code"] == "webhook_unusable"
    assert SECRET not in ways[host].output
