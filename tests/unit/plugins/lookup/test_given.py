# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a module for which the user has set a variable."""

from __future__ import annotations

from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.stateful.upgrade.plugins.lookup.given import LookupModule


def given(variables: dict[str, Any], *names: str) -> dict[str, Any]:
    loader = DataLoader()
    lookup = LookupModule(loader=loader, templar=Templar(loader=loader, variables=variables))
    (options,) = lookup.run(list(names), variables)
    return dict(options)


def test_an_option_without_its_variable_is_left_out() -> None:
    variables = {"upgrade_wait": False, "upgrade_pools": [], "upgrade_image": None, "upgrade_take_over": True}
    found = given(variables, "wait", "pools", "image", "strategy")
    assert found == {"wait": False, "pools": []}


def test_the_variable_of_an_option_can_have_another_name() -> None:
    variables = {"upgrade_state": "planned", "begin_state": "begun"}
    assert given(variables, "state=begin_state", "confirmed=begin_confirmed") == {"state": "begun"}


def test_an_empty_dictionary_is_no_value() -> None:
    assert given({"begin_lock": {}, "upgrade_opensearch": {"hosts": ["a"]}}, "lock=begin_lock", "opensearch") == {
        "opensearch": {"hosts": ["a"]}
    }


def test_the_options_of_a_connection_may_have_variables_of_their_own() -> None:
    variables = {
        "upgrade_opensearch_hosts": "https://a:9200",
        "upgrade_opensearch_proxy": "",
        "upgrade_opensearch_ca_cert": None,
    }
    assert given(variables, "opensearch", "kubernetes") == {"opensearch": {"hosts": ["https://a:9200"]}}


def test_a_text_with_commas_is_a_list_and_an_empty_one_is_no_value() -> None:
    variables = {
        "upgrade_members": "a, b",
        "upgrade_label_selector": "a=b,c=d",
        "upgrade_image": "",
        "upgrade_pools": "",
    }
    found = given(variables, "members", "label_selector", "image", "pools")
    assert found == {"members": ["a", "b"], "label_selector": "a=b,c=d", "pools": []}
