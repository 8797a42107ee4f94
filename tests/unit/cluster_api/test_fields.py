"""The difference of two specs, and the patch that carries it out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.cluster_api.cluster_api_extension.fields import (
    differences,
    encoded,
    json_patch,
    not_covered,
    same,
    segments,
    shown,
)
from tests.unit.cluster_api.requests import patched

NAMES = st.sampled_from(["a", "b", "c", "x/y", "m~n", "d.e"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "v1", "v2"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_the_patch_makes_what_is_wanted_of_what_is_there(current: dict[str, Any], desired: dict[str, Any]) -> None:
    changes = list(differences(current, desired))
    assert same(patched(current, encoded(json_patch(changes))), desired)
    assert bool(changes) != same(current, desired)


@given(OBJECTS, OBJECTS)
def test_a_path_above_all_changes_covers_them_and_none_covers_nothing(
    current: dict[str, Any], desired: dict[str, Any]
) -> None:
    changes = list(differences({"spec": current}, {"spec": desired}))
    assert not_covered(changes, [("spec",)]) == []
    assert bool(not_covered(changes, [])) == bool(changes)


@given(OBJECTS, OBJECTS)
def test_the_fields_that_are_listed_cover_all_once_they_are_allowed(
    current: dict[str, Any], desired: dict[str, Any]
) -> None:
    changes = list(differences({"spec": current}, {"spec": desired}))
    listed = not_covered(changes, [])
    assert not_covered(changes, [segments(shown(path)) for path in listed if len(path) > 1 and all(path)]) == []


@pytest.mark.parametrize(
    ("before", "wanted", "allowed", "listed"),
    [
        ({"version": "v1"}, {"version": "v2"}, ["spec.version"], []),
        ({"version": "v1"}, {"version": "v2"}, [], ["spec.version"]),
        ({"gates": {"A": True}}, {}, ["spec.gates.A"], []),
        ({"gates": {"A": True, "B": True}}, {}, ["spec.gates.A"], ["spec.gates.B"]),
        ({}, {"gates": {"A": True, "B": True}}, ["spec.gates.*"], []),
        ({"disks": [{"size": 1}]}, {"disks": [{"size": 2}]}, ["spec.version"], ["spec.disks"]),
        ({"flag": 1}, {"flag": True}, [], ["spec.flag"]),
        ({}, {"empty": {}}, [], ["spec.empty"]),
        ({"labels": {"a.b/c": "1"}}, {"labels": {"a.b/c": "2"}}, ["spec.other"], ["/spec/labels/a.b~1c"]),
        ({"labels": {"a.b/c": "1"}}, {"labels": {"a.b/c": "2"}}, ["/spec/labels/a.b~1c"], []),
    ],
)
def test_the_fields_that_no_path_covers(before: Any, wanted: Any, allowed: list[str], listed: list[str]) -> None:
    changes = list(differences({"spec": before}, {"spec": wanted}))
    assert [shown(path) for path in not_covered(changes, [segments(path) for path in allowed])] == listed


@pytest.mark.parametrize("wrong", ["", "spec", "status.phase", "spec..version", "/spec", "/metadata/labels"])
def test_a_path_is_of_a_field_of_the_spec(wrong: str) -> None:
    with pytest.raises(ValueError, match="is no path of a field"):
        segments(wrong)
