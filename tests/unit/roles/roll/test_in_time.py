"""A member that is down is brought back, also when the time of its batch is over."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.pages.module_tasks import variables_given_to

TASKS = Path(__file__).resolve().parents[4] / "roles" / "opensearch" / "tasks"


@pytest.mark.parametrize("name", ["down", "back"])
def test_a_member_that_is_down_has_its_own_time(name: str) -> None:
    """Its time does not depend on what is left of the time of its batch."""
    tasks = yaml.safe_load((TASKS / f"{name}.yml").read_text())
    module = "stateful.upgrade.pod_ondelete_roll"
    followed = [task[module] or {} for task in tasks if module in task]
    assert followed
    assert {variables_given_to("pod_ondelete_roll", task)["wait_timeout"] for task in followed} == {
        "upgrade_member_timeout"
    }
