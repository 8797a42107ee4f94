"""docs/glossary.md, and the names of plugins/: one name for one class, one word for one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.unit.named_tests import ROOT, tables

PLUGINS = ROOT / "plugins"
PAGE = ROOT / "docs" / "glossary.md"
HEAD = ("Word", "Meaning", "Type or file", "Not")
PLACE = re.compile(r"(?:`(?P<type>\w+)` in )?`(?P<file>[\w/]+\.py)`")
WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
BY_ANSIBLE = re.compile(r"ActionModule|CallbackModule|FilterModule|InventoryModule|LookupModule|ModuleDocFragment")
"""The names by which Ansible finds the class of a plugin."""
SENTENCES = ("Say", "Not")
FORMS = ("telling", "untold", "foretold", "nobodies", "besides")
"""Further forms of the words that sentences do not have. Pages may have them."""
KNOWN_OUTSIDE = {
    "module_utils/run/output/tell.py: tell": "the part of this name, which tasks give to upgrade_part",
    "module_utils/entry/parts.py: tell": "the same",
    "module_utils/run/record/batches.py: cures": "a field of a batch in each record",
    "module_utils/run/start/recorded_start.py: cured": "a field of the start in each record",
}
"""The names that have such a word because users or records have it."""

Places = Mapping[str, list[str]]


@cache
def trees() -> Mapping[str, ast.Module]:
    """The code of each file of plugins/."""
    files = sorted(PLUGINS.rglob("*.py"))
    return {str(path.relative_to(PLUGINS)): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def classes(code: Mapping[str, ast.Module]) -> Places:
    """The files of each class by its name, without the underscore of a private one."""
    found: dict[str, list[str]] = defaultdict(list)
    for file, tree in code.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not BY_ANSIBLE.fullmatch(node.name):
                found[node.name.lstrip("_")].append(file)
    return found


def shared(code: Mapping[str, ast.Module]) -> Places:
    """The names that several classes have."""
    return {name: files for name, files in classes(code).items() if len(files) > 1}


def names(code: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """(file, name) of each class and of each public function."""
    for file, tree in code.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) or (
                isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "visit_"))
            ):
                yield file, node.name


def bound(tree: ast.Module) -> Iterator[str]:
    """Each name that a file gives: to classes, functions, arguments, variables, attributes and imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def all_names(code: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """(file, name) of each file, and of each name that it gives, however private."""
    for file, tree in code.items():
        yield from dict.fromkeys((file, name) for name in (Path(file).stem, *bound(tree)))


def having(word: str, named: Iterable[tuple[str, str]]) -> list[str]:
    """The names that have a word, each with its file."""
    return [f"{file}: {name}" for file, name in named if word in {each.lower() for each in WORDS.findall(name)}]


@cache
def rows() -> list[tuple[str, ...]]:
    """The rows of the glossary."""
    names_of_things = PAGE.read_text(encoding="utf-8").partition("## Words of sentences")[0]
    return tables(names_of_things, HEAD)


@cache
def present() -> tuple[Places, list[tuple[str, str]]]:
    """The classes and the names of plugins/."""
    return classes(trees()), [*names(trees())]


@cache
def unsaid() -> list[str]:
    """The words that sentences do not have, without those of several words."""
    said = tables(PAGE.read_text(encoding="utf-8").partition("## Words of sentences")[2], SENTENCES)
    return sorted({word for row in said for word in row[1].split(", ") if " " not in word}.union(FORMS))


UNUSED = sorted({word for row in rows() for word in row[3].split(", ") if word})


def test_every_class_has_a_name_of_its_own() -> None:
    assert shared(trees()) == {}


def test_a_name_of_two_classes_is_found() -> None:
    code = {"a.py": ast.parse("class Batch: ..."), "b.py": ast.parse("def f():\n    class _Batch: ...")}
    assert shared(code) == {"Batch": ["a.py", "b.py"]}


def test_every_word_stands_once_and_has_a_meaning() -> None:
    words = [row[0] for row in rows()]
    assert len(words) == len(set(words)) > 0
    assert all(len(row) == len(HEAD) and row[1] for row in rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_type_of_a_word_is_where_the_glossary_says(row: tuple[str, ...]) -> None:
    found = PLACE.fullmatch(row[2])
    assert found, row[2]
    file = found["file"] if found["file"].startswith("plugin_utils/") else f"module_utils/{found['file']}"
    assert Path(PLUGINS, file).is_file()
    if found["type"]:
        assert present()[0][found["type"]] == [file]


@pytest.mark.parametrize("word", UNUSED)
def test_a_word_that_is_not_used_is_in_no_name(word: str) -> None:
    assert having(word, present()[1]) == []


@pytest.mark.parametrize("word", unsaid())
def test_a_word_that_is_not_said_is_in_no_name(word: str) -> None:
    assert [each for each in having(word, all_names(trees())) if each not in KNOWN_OUTSIDE] == []


def test_each_name_that_is_known_outside_is_there() -> None:
    there = {f"{file}: {name}" for file, name in all_names(trees())}
    assert KNOWN_OUTSIDE.keys() <= there


def test_the_words_that_are_not_said_are_those_of_the_page() -> None:
    assert {"told", "tell", "cure", "nobody", "somebody", "beside", "meanwhile"} <= {*unsaid()}


@pytest.mark.parametrize(
    "text",
    [
        "class ToldStore: ...",
        "def _told(): ...",
        "def f(told): ...",
        "def f(*, told=1): ...",
        "x = told = 1",
        "x.told = 1",
        "[told for told in x]",
        "import x as told",
        "from x import told",
        "if told := 1: ...",
    ],
)
def test_a_word_is_found_in_each_kind_of_name(text: str) -> None:
    assert len(having("told", all_names({"a.py": ast.parse(text)}))) == 1


def test_what_a_file_only_uses_is_none_of_its_names() -> None:
    assert having("told", all_names({"a.py": ast.parse("f(told=x.told)['told']")})) == []
    assert having("told", all_names({"run/told.py": ast.parse("")})) == ["run/told.py: told"]


def test_a_word_is_found_in_each_form_of_name() -> None:
    named = [("a.py", "TheWay"), ("a.py", "way_of"), ("b.py", "away"), ("b.py", "HTTPWay"), ("b.py", "Wayward")]
    assert having("way", named) == ["a.py: TheWay", "a.py: way_of", "b.py: HTTPWay"]
