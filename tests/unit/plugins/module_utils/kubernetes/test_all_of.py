"""Observations of lists: an object that has not changed is not read again, and one that cannot be read is not kept."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Json, text
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.answers import Kept, all_of


def node(name: str, version: str, state: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version}, "state": state}


class Reader:
    """Reads the state of an object, and notes which objects it has read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, name: str, item: Json) -> str:
        self.read.append(name)
        return text(item, "state")


def test_only_what_has_changed_is_read_again() -> None:
    reader, kept = Reader(), Kept()
    assert all_of("Node", [node("one", "1", "old"), node("two", "2", "old")], reader, kept) == ("old", "old")
    assert all_of("Node", [node("one", "1", "old"), node("two", "3", "new")], reader, kept) == ("old", "new")
    assert reader.read == ["one", "two", "two"]
    assert all_of("Node", [node("one", "1", "old")], reader) == ("old",)
    assert reader.read[3:] == ["one"]


def test_a_new_object_of_the_same_name_is_read() -> None:
    reader, kept = Reader(), Kept()
    all_of("Node", [node("one", "1", "old")], reader, kept)
    again = node("one", "1", "new")
    again["metadata"]["uid"] = "another"
    assert all_of("Node", [again], reader, kept) == ("new",)


def test_each_reader_has_its_own_observations_of_an_object() -> None:
    first, second, kept = Reader(), Reader(), Kept()
    for reader in (first, second):
        all_of("Node", [node("one", "1", "old")], reader, kept)
    assert second.read == ["one"]


def test_an_object_without_a_version_is_read_each_time() -> None:
    reader, kept, item = Reader(), Kept(), node("one", "1", "old")
    del item["metadata"]["resourceVersion"]
    for _look in range(2):
        all_of("Node", [item], reader, kept)
    assert reader.read == ["one", "one"]


def test_an_object_that_cannot_be_read_is_not_kept() -> None:
    reader, kept = Reader(), Kept()
    broken = node("one", "1", "old")
    del broken["state"]
    for _look in range(2):
        with pytest.raises(NotUnderstood, match="about Node one"):
            all_of("Node", [broken], reader, kept)
