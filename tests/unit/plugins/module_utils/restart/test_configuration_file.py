"""Configurations as the servers read them, and those with which they would not start."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration_file import settings_in
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("uncollected")
WHERE = "member data-0"
PARTS = st.text("abcdefgh_", min_size=1, max_size=6)
VALUES = st.one_of(
    st.booleans(), st.integers(), st.text("xyz 0123:", min_size=1, max_size=8), st.lists(st.sampled_from("pqr"))
)
TREES = st.recursive(VALUES, lambda below: st.dictionaries(PARTS, below, min_size=1, max_size=3), max_leaves=12).filter(
    lambda tree: isinstance(tree, dict)
)


def test_flat_and_nested_are_the_same() -> None:
    nested = "cluster:\n  name: a\n  routing.allocation:\n    awareness:\n      attributes: [zone, rack]\n"
    written = 'cluster.name: "a"\ncluster.routing.allocation.awareness.attributes: zone,rack\n'
    assert settings_in(nested, WHERE) == settings_in(written, WHERE)


@given(TREES)
def test_any_tree_and_its_flat_form_are_the_same_settings(tree: dict[str, Any]) -> None:
    found = settings_in(yaml.safe_dump(tree), WHERE)
    assert settings_in(yaml.safe_dump(found), WHERE) == found


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a: true", "true"),
        ("a: yes", "yes"),
        ("a: 010", "010"),
        ("a: 1:30", "1:30"),
        ("a: 2026-01-01", "2026-01-01"),
        ("a: ''", ""),
        ("a: [x, 'y,z']", '["x", "y,z"]'),
        ("a: ${HOSTNAME}", "${HOSTNAME}"),
    ],
)
def test_values_are_texts_as_the_servers_have_them(written: str, value: str) -> None:
    assert settings_in(written, WHERE) == {"a": value}


@pytest.mark.parametrize("written", ["", "\n", "# nothing\n", "---\n", "~"])
def test_an_empty_configuration_sets_nothing(written: str) -> None:
    assert settings_in(written, WHERE) == {}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("a: 1\na: 2", "the setting a is in it twice"),
        ("a.b: 1\na:\n  b: 2", "the setting a.b is in it twice"),
        ("a:\n  b: 1\n  b: 2", "the setting a.b is in it twice"),
        ("a:", "the setting a has no value"),
        ("a: null", "the setting a has no value"),
        ("a:\n - b: hunter2", "the list of the setting a holds more than plain values"),
        ("- hunter2", "it is not a list of settings with values"),
        ("hunter2", "it is not a list of settings with values"),
        ("? [a]\n: 1", "line 1 has no name of a setting"),
        ("a: &x 1\nb: *x", "it has an alias, which the servers do not resolve"),
        ("a: {hunter2", "it is no YAML (line 1)"),
        ("a: 1\n---\nb: hunter2", "it is no YAML (line 2)"),
        ("a: " + "{b: " * 60 + "1" + "}" * 60, "it is nested too deeply"),
        ("[" * 20_000, "it is nested too deeply"),
    ],
)
def test_a_configuration_with_which_the_servers_would_not_start_is_refused_without_its_values(
    written: str, said: str
) -> None:
    with pytest.raises(Refusal) as caught:
        settings_in(written, WHERE)
    assert said in str(caught.value)
    assert "hunter" not in str(caught.value)
    assert [each.code for each in caught.value.verdict.reasons] == ["configuration_not_valid"]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(written: str) -> None:
    try:
        found = settings_in(written, WHERE)
    except Refusal:
        return
    assert all(isinstance(each, str) for pair in found.items() for each in pair)
