"""The faults of a request: its type, names that are for the run alone, and what contradicts the run."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.lookup.input_faults import specified
from ansible_collections.stateful.upgrade.plugins.plugin_utils.inputs import options_of
from ansible_collections.stateful.upgrade.plugins.plugin_utils.requested import faults_of_request
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import names

KNOWN = {playbook: options_of(playbook, specified()) for playbook in ("opensearch", "opensearch_hosts")}
for system in ("restart", "openshift", "machines"):
    KNOWN[system] = options_of(system, specified(f"stateful.upgrade.{system}"))

OF_THE_RUN = names(lambda each: each.run_only)


def said(variables: dict[str, Any], kind: str = "opensearch", **given: Any) -> list[str]:
    request = {"type": kind, "variables": variables, "digest": "d", "faults": []}
    return list(faults_of_request(request, "opensearch", "opensearch", KNOWN["opensearch"], given))


def test_a_good_request_has_no_fault_also_if_the_run_says_the_same() -> None:
    asked = {"target_version": "3.8.0", "upgrade_window": "60", "upgrade_members": ["a"], "upgrade_hand_over": "true"}
    assert said(asked) == []
    assert said(asked, upgrade_window=60, upgrade_members=["a"], upgrade_hand_over=True) == []


@pytest.mark.parametrize("name", [*sorted(OF_THE_RUN), "upgrade_opensearch", "upgrade_opensearch_password"])
def test_a_request_does_not_say_where_as_whom_and_with_which_code(name: str) -> None:
    assert said({name: "x"}) == [f"{name} is in the request, but only the run may give it: take it out of the request."]


def test_a_request_says_nothing_of_the_connection_to_the_management_cluster() -> None:
    assert "upgrade_management" in OF_THE_RUN


def test_every_name_that_is_for_the_run_alone_is_a_variable() -> None:
    known = {name for options in KNOWN.values() for name in options}
    assert OF_THE_RUN - known == {"upgrade_system"}


def test_a_request_names_no_file_of_the_controller() -> None:
    """A person who writes requests could have it read or written there."""
    asked = {"type": "restart", "variables": {}, "digest": "d", "faults": []}
    configuration = [{"pool": "search", "file": "/etc/shadow"}, {"pool": "other", "content": "a: b", "path": "/config"}]
    asked["variables"] = {"upgrade_configuration": configuration, "upgrade_metrics_path": "/metrics"}
    assert list(faults_of_request(asked, "restart", "restart", KNOWN["restart"], {})) == [
        f"{place} in the request names a file of the controller: give {place.partition('.')[0]} in the run."
        for place in ("upgrade_configuration.file", "upgrade_metrics_path")
    ]


def test_a_request_names_no_file_by_a_text_that_modules_read_as_a_dictionary() -> None:
    for element in ("pool=search file=/etc/shadow", '{"pool": "search", "file": "/etc/shadow"}'):
        asked = {"type": "restart", "variables": {"upgrade_configuration": [element]}, "digest": "d", "faults": []}
        assert list(faults_of_request(asked, "restart", "restart", KNOWN["restart"], {})) == [
            "upgrade_configuration.file in the request names a file of the controller: give upgrade_configuration in"
            " the run."
        ]


def test_all_faults_are_told() -> None:
    assert said({"window": "5", "tea": "x", "upgrade_window": "5"}, "", upgrade_window=6) == [
        "type is missing in the request, and the playbook opensearch carries out requests of the type opensearch.",
        "window in the request is not a variable of the playbook opensearch: did you mean upgrade_window?",
        "tea in the request is not a variable of the playbook opensearch: take it out.",
        "upgrade_window has one value in the request and another in the run: give it in one of them.",
    ]
