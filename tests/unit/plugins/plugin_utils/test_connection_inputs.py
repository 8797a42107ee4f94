"""The flat variables of the connections: which there are, and their merging with the dictionaries."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.lookup.input_faults import specified
from ansible_collections.stateful.upgrade.plugins.plugin_utils.connection_inputs import (
    CONNECTIONS,
    contradictions,
    is_list,
    merged,
    parts_of,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.inputs import faults

SECRET = "Never-To-Be-Seen-4711"
HOSTS = ["https://a:9200", "https://b:9200"]


def test_every_option_of_a_connection_has_a_flat_variable() -> None:
    for connection, option in CONNECTIONS.items():
        tops = {part.path[0] for part in parts_of(connection).values()}
        assert tops == option["options"].keys()
    assert parts_of("upgrade_opensearch")["upgrade_opensearch_port_forward_service"].path == ("port_forward", "service")


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("upgrade_members", True),
        ("upgrade_opensearch_hosts", True),
        ("upgrade_fleet_waves", True),
        ("upgrade_opensearch_username", False),
        ("upgrade_image", False),
        # No line of a shell gives dictionaries, and the commas of a selector are between its matchers.
        ("upgrade_approvals", False),
        ("upgrade_alerts", False),
        ("upgrade_silences", False),
        ("lists_of_somebody", False),
    ],
)
def test_a_list_may_be_a_text_with_commas(name: str, listed: bool) -> None:
    assert is_list(name) is listed


@pytest.mark.parametrize("hosts", [HOSTS, "https://a:9200, https://b:9200"])
def test_flat_variables_are_the_options_of_the_connection(hosts: Any) -> None:
    given = {"upgrade_opensearch_hosts": hosts, "upgrade_opensearch_password": SECRET, "upgrade_opensearch_proxy": ""}
    assert merged("upgrade_opensearch", given) == {"hosts": HOSTS, "password": SECRET}


def test_they_go_beside_those_of_the_dictionary() -> None:
    given = {
        "upgrade_opensearch": {"url": "https://a:9200", "port_forward": {"service": "search"}},
        "upgrade_opensearch_username": "ops",
        "upgrade_opensearch_port_forward_port": "9201",
        "upgrade_namespace": "search",
    }
    assert merged("upgrade_opensearch", given) == {
        "hosts": "https://a:9200",
        "username": "ops",
        "port_forward": {"service": "search", "port": "9201", "namespace": "search"},
    }
    assert given["upgrade_opensearch"] == {"url": "https://a:9200", "port_forward": {"service": "search"}}


def test_pods_are_forwarded_to_in_the_namespace_that_is_upgraded_unless_another_is_given() -> None:
    flat = {"upgrade_opensearch_port_forward_service": "search", "upgrade_namespace": "here"}
    assert merged("upgrade_opensearch", flat)["port_forward"] == {"service": "search", "namespace": "here"}
    there = {**flat, "upgrade_opensearch_port_forward_namespace": "there"}
    assert merged("upgrade_opensearch", there)["port_forward"]["namespace"] == "there"
    assert merged("upgrade_opensearch", {"upgrade_namespace": "here"}) == {}


@pytest.mark.parametrize(
    ("option", "flat", "value", "other"),
    [
        ("password", "password", SECRET, f"{SECRET}!"),
        ("url", "hosts", "https://a:9200", "https://b:9200"),
        ("validate_certs", "validate_certs", False, "yes"),
        ("request_timeout", "request_timeout", 30, "31"),
    ],
)
def test_an_option_that_both_ways_give_has_one_value(option: str, flat: str, value: Any, other: Any) -> None:
    given = {"upgrade_opensearch": {option: value}, f"upgrade_opensearch_{flat}": other}
    (sentence,) = contradictions("upgrade_opensearch", given)
    name = f"upgrade_opensearch.{flat} and upgrade_opensearch_{flat}"
    assert sentence == f"{name} have different values: give only one of them."
    needed = {"target_version": "3.8.0", "upgrade_namespace": "search"}
    assert faults("plan", {**needed, **given}, (), specified()) == [sentence]


@pytest.mark.parametrize(
    ("option", "value", "same"),
    [
        ("hosts", HOSTS, ",".join(HOSTS)),
        ("validate_certs", False, "no"),
        ("request_timeout", 30, "30"),
        ("username", "a", ""),
        ("username", None, "a"),
    ],
)
def test_the_same_value_in_both_ways_is_no_fault(option: str, value: Any, same: Any) -> None:
    given = {"upgrade_opensearch": {option: value}, f"upgrade_opensearch_{option}": same}
    assert list(contradictions("upgrade_opensearch", given)) == []


def test_what_is_no_dictionary_is_left_to_be_refused() -> None:
    given = {"upgrade_opensearch": 5, "upgrade_opensearch_hosts": "https://a:9200"}
    assert merged("upgrade_opensearch", given) == 5
    assert list(contradictions("upgrade_opensearch", given)) == []
