"""The hosts of a play on the members or on the batches of a run."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.lookup.hosts_of_play import NO_HOST, pattern_of

BATCHES = "stateful_upgrade_batches"


@pytest.mark.parametrize(
    ("term", "run_on", "given", "groups", "hosts"),
    [
        ("members", "localhost", ["data", "managers"], {}, "data,managers"),
        ("members", "localhost", "data,managers", {}, "data,managers"),
        ("members", "localhost", [], {}, "localhost"),
        ("members", "localhost", None, {}, "localhost"),
        ("members", "localhost:!localhost", ["data"], {}, "localhost:!localhost"),
        (BATCHES, "localhost", ["data"], {BATCHES: ["batch-01"]}, BATCHES),
        (BATCHES, "localhost", ["data"], {}, NO_HOST),
        ("", "localhost", ["data"], {BATCHES: ["batch-01"]}, NO_HOST),
        (BATCHES, "localhost:!localhost", ["data"], {BATCHES: ["batch-01"]}, "localhost:!localhost"),
    ],
)
def test_the_hosts_of_a_play(term: str, run_on: str, given: Any, groups: dict[str, Any], hosts: str) -> None:
    variables = {"groups": groups, "hostvars": {"localhost": {} if given is None else {"upgrade_groups": given}}}
    assert pattern_of(term, run_on, variables) == hosts
