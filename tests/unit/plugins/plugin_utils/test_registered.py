"""The results of a run are those of its roles and of the role of its system, whatever else has been registered."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.registered import OF_BATCH, of_system, registered
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import made_in

DONE: dict[str, Any] = {"failed": False}
OF_USER = {"app_roll_done": DONE, "restart_settle": DONE, "opensearch_roll": DONE}


@pytest.mark.parametrize(
    ("system", "names"),
    [
        ("stateful.upgrade.opensearch", ["roll_begun", "opensearch_roll_proof"]),
        ("stateful.upgrade.restart_hosts", ["roll_begun", "opensearch_roll_proof"]),
        ("stateful.upgrade.restart", ["roll_begun"]),
        ("example.lamps.lamps", ["roll_begun", "lamps_roll_lit"]),
    ],
)
def test_the_results_of_a_batch_are_those_of_its_system(system: str, names: list[str]) -> None:
    results = {"roll_begun": DONE, "opensearch_roll_proof": DONE, "lamps_roll_lit": DONE, **OF_USER}
    assert [name for name, _result in registered({"upgrade_system": system, **results}, OF_BATCH)] == names


def test_members_on_hosts_have_the_gate_of_the_role_that_theirs_imports() -> None:
    found = {"upgrade_system": "stateful.upgrade.restart_hosts", "opensearch_gate": {"msg": "It is red."}}
    assert of_system(found.get, "gate") == {"msg": "It is red."}
    assert of_system({**found, "upgrade_system": "stateful.upgrade.longhorn"}.get, "gate") is None


def test_a_run_leaves_no_result_of_its_own_and_everything_of_the_user() -> None:
    made = {"roll_begun": DONE, "opensearch_roll_proof": DONE, "restart_gate": DONE, "lamps_roll_lit": DONE}
    assert made_in({**made, **OF_USER}, "example.lamps.lamps") == {*made}
    assert made_in({**made, **OF_USER}, None) == {*made} - {"lamps_roll_lit"}
