"""Reading strictly: each type, what is missing, and where in the answer it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common import reading
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Json, Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused


def refuse(what: str) -> NotUnderstood:
    return NotUnderstood(refused("not_understood", f"Not understood: {what}.", "Look."))


pytestmark = pytest.mark.usefixtures("uncollected")


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (reading.text, ["x"], ["", 1, True, [], {}]),
        (reading.whole, [0, 7], [-1, True, 1.0, "1", None]),
        (reading.count, ["0", "12"], ["", "-1", "1.0", "many", "٣", "9" * 40, 3]),
        (reading.flag, [True, False], [0, "true", None]),
        (reading.part, [{}, {"a": 1}], [[], "x", None]),
        (reading.entries, [[], [1]], [{}, "x", None]),
    ],
)
def test_types(read: Callable[..., Any], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert read({"field": value}, "field") == (int(value) if read is reading.count else value)
    for value in bad:
        with pytest.raises(Unreadable, match=r"^field "):
            read({"field": value}, "field")
    with pytest.raises(Unreadable, match=r"^field is missing$"):
        read({}, "field")


def test_what_may_be_absent_may_be_null_and_still_is_of_its_type() -> None:
    absent: list[Json] = [{}, {"field": None}]
    for of in absent:
        assert reading.text(of, "field", "") == ""
        assert reading.optional_text(of, "field") is None
        assert reading.flag(of, "field", default=False) is False
        assert reading.texts(of, "field", ()) == ()
        assert reading.text_map(of, "field") == {}
    wrong: list[Json] = [{"field": 1}, {"field": [1]}, {"field": {"a": 1}}]
    for of in wrong:
        for read in (reading.optional_text, reading.text_map):
            with pytest.raises(Unreadable, match="field"):
                read(of, "field")


def test_the_field_is_named_from_the_outside() -> None:
    answer: Json = {"nodes": {"x": {"disks": [{"free": 1}, {"free": "much"}]}}}

    def disks(_name: str, node: Json) -> tuple[int, ...]:
        return reading.listed(node, "disks", lambda disk: reading.whole(disk, "free"))

    said = r'^Not understood: nodes\.x\.disks\.1\.free is "much", and has to be a whole number'
    with pytest.raises(NotUnderstood, match=said), reading.understood(refuse):
        reading.named(answer, "nodes", disks)


@pytest.mark.parametrize(
    "error", [KeyError("x"), TypeError("x"), ValueError("x"), AttributeError("x"), RecursionError()]
)
def test_what_nobody_has_foreseen_in_an_answer_is_not_understood_either(error: Exception) -> None:
    with pytest.raises(Unreachable, match=f"known shape .{type(error).__name__}"), reading.understood(refuse):
        raise error


@pytest.mark.parametrize("kept", ["", "{", "[]", "7", "[" * 100_000, '{"a":' * 100_000])
def test_a_text_that_holds_no_object(kept: str) -> None:
    with pytest.raises(Unreadable, match="JSON"):
        reading.parsed(kept)


def test_a_long_value_is_cut() -> None:
    with pytest.raises(Unreadable) as caught:
        reading.whole({"field": "x" * 1000}, "field")
    assert len(str(caught.value)) < 2 * reading.LONGEST


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Part:
    name: str
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Whole:
    name: str
    parts: tuple[Part, ...] = ()
    names: tuple[str, ...] = ()
    plain: tuple[Mapping[str, Any], ...] = ()
    main: Part | None = None
    count: int = 0
    share: float | None = None
    known: bool = False
    each: Mapping[str, int] = field(default_factory=dict)


WHOLE = Whole("", (Part("a"),), ("x", "y"), ({"b": [{"c": 1}]},), Part("d"), 7, 0.5, True, {"e": 0})


def plain(whole: Whole) -> dict[str, Any]:
    return dict(json.loads(json.dumps(asdict(whole), default=lambda colour: colour.value)))


def test_a_dataclass_is_read_from_the_object_that_it_was_written_as() -> None:
    assert reading.read_as(Whole, plain(WHOLE)) == WHOLE
    assert reading.read_as(Whole, plain(Whole("b"))) == Whole("b")
    assert reading.read_as(Whole, {"name": "b", "new": 1}) == Whole("b"), "a field that is not known is left out"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": None}, "name is missing"),
        ({"name": 7}, "name is 7, and has to be a text"),
        ({"parts": [{}]}, "parts.0.name is missing"),
        ({"parts": [{"name": "a", "colour": "blue"}]}, 'parts.0.colour is "blue", and not one of red'),
        ({"names": [7]}, "names holds 7"),
        ({"plain": [7]}, "plain.0 is 7"),
        ({"plain": [{"a": [[[[[[[[[]]]]]]]]]}]}, "plain.0 is nested too deep"),
        ({"main": {}}, "main.name is missing"),
        ({"count": -1}, "count is -1"),
        ({"share": "x"}, "has to be a number"),
        ({"known": 1}, "has to be true or false"),
        ({"each": {"e": -1}}, "e is -1"),
    ],
)
def test_a_field_of_a_dataclass_that_is_of_another_type_is_named(wrong: Json, said: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(said)):
        reading.read_as(Whole, {**plain(WHOLE), **wrong})
