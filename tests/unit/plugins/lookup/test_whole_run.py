"""The options of ansible-playbook that skip parts of a run."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible.parsing.dataloader import DataLoader
from ansible_collections.stateful.upgrade.plugins.lookup.whole_run import (
    refusal_of,
    refuse_no_cluster,
    skipping_options,
)


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


GROUPS = {"all": ["staging", "north", "localhost"], "ungrouped": ["localhost"], "production": ["staging", "north"]}


@pytest.mark.parametrize(("pattern", "subset"), [("all", None), ("production", "north"), ("nor*,localhost", None)])
def test_a_fleet_with_clusters_begins(pattern: str, subset: str | None) -> None:
    refuse_no_cluster(pattern, GROUPS, subset, DataLoader())


@pytest.mark.parametrize(
    ("pattern", "groups", "subset", "said"),
    [
        ("all", {"all": [], "ungrouped": []}, None, "all matches no host of the inventory. It has no groups."),
        ("all", {"all": ["localhost"], "ungrouped": ["localhost"]}, None, "all matches no host of the inventory."),
        (
            "prodution",
            GROUPS,
            None,
            "prodution matches no host of the inventory. It has 3 hosts, and the groups product",
        ),
        ("production:!north", GROUPS, "north", "matches no host of the inventory within --limit north."),
    ],
)
def test_a_fleet_without_a_cluster_is_refused(
    pattern: str, groups: dict[str, list[str]], subset: str | None, said: str
) -> None:
    with pytest.raises(AnsibleLookupError) as caught:
        refuse_no_cluster(pattern, groups, subset, DataLoader())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("system", "variable"),
    [
        ("", "upgrade_members"),
        ("stateful.upgrade.opensearch", "upgrade_members"),
        ("stateful.upgrade.machines", "upgrade_only"),
        ("stateful.upgrade.openshift", ""),
        ("example.lamps.lamps", ""),
    ],
)
def test_a_refusal_names_the_variable_that_narrows_a_run_of_the_system(system: str, variable: str) -> None:
    said = refusal_of(["--limit workers"], system)
    named = [name for name in ("upgrade_members", "upgrade_only") if name in said]
    assert named == ([variable] if variable else [])
    assert said.startswith("Not supported: --limit workers. ")
    assert said.endswith("o see the plan alone use --check.")
