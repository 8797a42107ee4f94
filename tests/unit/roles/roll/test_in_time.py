# SPDX-License-Identifier: GPL-3.0-or-later
"""A member that is down is brought back, also when the time of its batch is over."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

TASKS = Path(__file__).resolve().parents[4] / "roles" / "opensearch" / "tasks"


@pytest.mark.parametrize("name", ["down", "back"])
def test_a_member_that_is_down_has_its_own_time(name: str) -> None:
    """Its time does not depend on what is left of the time of its batch."""
    followed = [task for task in _tasks(yaml.safe_load((TASKS / f"{name}.yml").read_text())) if _follows(task)]
    assert followed
    assert {str(task["wait_timeout"]).partition("|")[0] for task in followed} == {"{{ upgrade_member_timeout "}


def _follows(task: Mapping[str, Any]) -> bool:
    return "batch" in task and ("until" in task or task.get("moment") == "joined" or "pools" in task)


def _tasks(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The arguments of all modules of the collection, those in blocks included."""
    found: list[dict[str, Any]] = []
    for task in tasks:
        found += [task[name] for name in task if name.startswith("stateful.upgrade.")]
        found += _tasks([*task.get("block", []), *task.get("rescue", [])])
    return found
