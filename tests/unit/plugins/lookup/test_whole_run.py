# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of ansible-playbook that skip parts of a run."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.lookup.whole_run import skipping_options


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({}, []),
        ({"subset": None, "tags": ("all",), "skip_tags": (), "start_at_task": None, "step": False}, []),
        ({"tags": ["all"], "check": True, "diff": True, "forks": 5}, []),
        ({"tags": ["always"]}, ["--tags always"]),
        ({"subset": "search-1"}, ["--limit search-1"]),
        ({"tags": ("all", "plan")}, ["--tags plan"]),
        ({"skip_tags": ("always",)}, ["--skip-tags always"]),
        ({"start_at_task": "Put allocation back"}, ["--start-at-task Put allocation back"]),
        ({"step": True, "tags": ("a", "b"), "subset": "all"}, ["--limit all", "--tags a,b", "--step"]),
    ],
)
def test_options_that_skip_parts_of_a_run(arguments: dict[str, Any], found: list[str]) -> None:
    assert skipping_options(arguments) == found
