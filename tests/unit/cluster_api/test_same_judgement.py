"""Both judges of a difference say the same of the same case: that of the service, and that of an UpgradeTask.

The service is a package of its own and cannot import the collection, so that the judgement is written twice.
"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.differences import difference_of
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.upgrade_tasks import INFRASTRUCTURE

from extensions.cluster_api.cluster_api_extension.fields import differences, not_covered, segments

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str], list[str]]] = {
    "nothing differs": ({"size": "m"}, {"size": "m"}, [], []),
    "the order of names is no difference": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, [], []),
    "a value": ({"size": "m"}, {"size": "l"}, [], ["size"]),
    "a value that is covered": ({"size": "m"}, {"size": "l"}, ["size"], []),
    "a name that begins alike covers nothing": ({"size": 1}, {"size": 2}, ["siz"], ["size"]),
    "a field below": ({"image": {"name": "a", "tag": "1"}}, {"image": {"name": "b", "tag": "1"}}, [], ["image.name"]),
    "any one name": ({"image": {"name": "a"}}, {"image": {"name": "b"}}, ["image.*"], []),
    "any one name in the middle": (
        {"disks": {"a": {"size": 1}, "b": {"size": 1, "kind": "ssd"}}},
        {"disks": {"a": {"size": 2}, "b": {"size": 2, "kind": "hdd"}}},
        ["disks.*.size"],
        ["disks.b.kind"],
    ),
    "one of two is covered": ({"a": 1, "b": 1}, {"a": 2, "b": 2}, ["a"], ["b"]),
    "a longer path covers nothing above it": ({"size": 1}, {"size": 2}, ["size.more"], ["size"]),
    "an object that is added": ({}, {"image": {"name": "a", "tag": "1"}}, ["image.name"], ["image.tag"]),
    "an object that is removed": ({"gates": {"A": True, "B": True}}, {}, ["gates.A"], ["gates.B"]),
    "an object that becomes empty": ({"gates": {"A": True}}, {"gates": {}}, [], ["gates.A"]),
    "a list is one field": ({"files": [1, 2]}, {"files": [1, 3]}, [], ["files"]),
    "the order of a list is a difference": ({"files": [1, 2]}, {"files": [2, 1]}, [], ["files"]),
    "a list that is covered": ({"files": [1]}, {"files": [1, {"path": "a"}]}, ["files"], []),
    "true is not 1": ({"flag": True}, {"flag": 1}, [], ["flag"]),
    "false is not absent": ({}, {"flag": False}, [], ["flag"]),
    "0 is not absent": ({}, {"count": 0}, [], ["count"]),
    "a number is not its word": ({"count": 1}, {"count": "1"}, [], ["count"]),
    "the empty word is not absent": ({}, {"name": ""}, [], ["name"]),
    "an object in place of a value": ({"image": "a"}, {"image": {"name": "a"}}, [], ["image"]),
}
"""The present spec, the wanted one, the paths that are covered, and the fields that are declined."""

APART: dict[str, tuple[dict[str, Any], dict[str, Any], list[str], list[str]]] = {
    "null and absent": ({}, {"image": None}, ["image"], []),
    "an empty object and absent": ({"image": {}}, {}, ["image"], []),
    "an empty list and absent": ({}, {"files": []}, ["files"], []),
}
"""The service declines these, for its patch has to make exactly what is wanted; for an UpgradeTask they are no
difference, since no one writes defaults into its specifications."""


def by_the_service(present: dict[str, Any], wanted: dict[str, Any], covered: list[str]) -> list[str]:
    allowed = [segments(f"spec.{each}") for each in covered]
    return [".".join(path[1:]) for path in not_covered([*differences({"spec": present}, {"spec": wanted})], allowed)]


def by_the_collection(present: dict[str, Any], wanted: dict[str, Any], covered: list[str]) -> list[str]:
    above = (INFRASTRUCTURE, "spec")
    patterns = [".".join((*above, each)) for each in covered]
    sides = [{INFRASTRUCTURE: {"kind": "MetalMachine", "spec": spec}} for spec in (present, wanted)]
    found = difference_of("worker-0", sides[0], sides[1], patterns)
    return [".".join(each.path[len(above) :]) for each in found.uncovered]


@pytest.mark.parametrize("judge", [by_the_service, by_the_collection])
@pytest.mark.parametrize("case", CASES)
def test_both_decline_the_same_fields(case: str, judge: Any) -> None:
    present, wanted, covered, declined = CASES[case]
    assert judge(present, wanted, covered) == declined


@pytest.mark.parametrize("case", APART)
def test_absent_and_empty_is_the_only_point_in_which_they_differ(case: str) -> None:
    present, wanted, covered, _declined = APART[case]
    assert by_the_service(present, wanted, []) == covered
    assert by_the_service(present, wanted, covered) == []
    assert by_the_collection(present, wanted, []) == []
