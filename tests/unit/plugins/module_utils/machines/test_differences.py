"""The whole difference between a machine and its wanted specification, and the part that cannot be changed in place."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.differences import (
    BY_KUBEADM,
    Difference,
    difference_of,
    differences,
    is_covered,
    reasons_of,
)
from hypothesis import given
from hypothesis import strategies as st

PRESENT: dict[str, Any] = {
    "version": "v1.35.1",
    "bootstrapConfig": {
        "kind": "KubeadmConfig",
        "metadata": {"name": "w-0", "uid": "7"},
        "spec": {"files": [{"path": "/etc/motd", "content": "secret"}], "clusterConfiguration": {"featureGates": {}}},
        "status": {"ready": True},
    },
    "infraMachine": {"kind": "MetalMachine", "spec": {"size": "m", "providerID": "metal://7", "image": {"name": "a"}}},
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
SPECS = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)


def names(wanted: dict[str, Any]) -> list[str]:
    return [each.name for each in differences(PRESENT, wanted)]


def changed(name: str, **spec: Any) -> dict[str, Any]:
    return {name: {**PRESENT[name], "spec": {**PRESENT[name]["spec"], **spec}}}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, []),
        (PRESENT, []),
        ({"version": "1.35.1"}, []),
        ({"version": "v1.36.1"}, ["version"]),
        (changed("infraMachine", size="l"), ["infraMachine.spec.size"]),
        (changed("infraMachine", providerID=None), []),
        (
            changed("infraMachine", image={"name": "b"}, disk=1),
            ["infraMachine.spec.disk", "infraMachine.spec.image.name"],
        ),
        (changed("infraMachine", image=None), ["infraMachine.spec.image.name"]),
        (changed("bootstrapConfig", files=[]), ["bootstrapConfig.spec.files"]),
        ({"bootstrapConfig": {**PRESENT["bootstrapConfig"], "kind": "Other"}}, ["bootstrapConfig.kind"]),
        ({"bootstrapConfig": {**PRESENT["bootstrapConfig"], "metadata": {}, "status": {}}}, []),
    ],
)
def test_every_field_that_differs_is_found(wanted: dict[str, Any], expected: list[str]) -> None:
    assert names(wanted) == expected


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("infraMachine.spec.image.name", True),
        ("infraMachine.spec.image.*", True),
        ("infraMachine.spec.**", True),
        ("*.spec.image.name", True),
        ("infraMachine.spec.image", False),
        ("infraMachine.spec.*", False),
        ("infraMachine.spec.image.name.**", False),
        ("", False),
    ],
)
def test_a_pattern_covers_names_and_only_with_two_asterisks_all_below(pattern: str, covered: bool) -> None:
    assert is_covered(Difference(("infraMachine", "spec", "image", "name")), [pattern]) is covered


def test_kubeadm_changes_the_version_and_all_else_is_named_at_once_without_any_value() -> None:
    wanted = {"version": "v1.36.1", **changed("infraMachine", size="l"), **changed("bootstrapConfig", files=[])}
    found = difference_of("w-0", PRESENT, wanted, BY_KUBEADM)
    said = [each.message for each in reasons_of(found)]
    assert [each.split()[4].rstrip(",") for each in said] == ["bootstrapConfig.spec.files", "infraMachine.spec.size"]
    assert "secret" not in "".join(said)
    covering = (*BY_KUBEADM, "infraMachine.spec.size", "bootstrapConfig.spec.files")
    assert not difference_of("w-0", PRESENT, wanted, covering).uncovered


def dressed(spec: dict[str, Any]) -> dict[str, Any]:
    return {"infraMachine": {"spec": spec}}


def bare(value: Any) -> Any:
    """A value without anything that is empty, in which an absent field and an empty one are the same."""
    if isinstance(value, dict):
        kept = {name: bare(each) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each is not None} or None
    return None if value == [] else value


@given(SPECS, SPECS)
def test_two_specifications_differ_where_and_only_where_they_are_not_the_same(one: Any, other: Any) -> None:
    found = differences(dressed(one), dressed(other))
    same = repr(sorted_by_name(bare(one))) == repr(sorted_by_name(bare(other)))
    assert bool(found) is not same
    assert len(set(found)) == len(found)
    assert {each.path for each in found} == {each.path for each in differences(dressed(other), dressed(one))}


def sorted_by_name(value: Any) -> Any:
    if isinstance(value, dict):
        return [(name, sorted_by_name(value[name])) for name in sorted(value)]
    return value
