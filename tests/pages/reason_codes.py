"""The reason codes of the collection, from the calls that make them and from the tasks that give them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tests.checks.tree import ROOT
from tests.pages.reading.sources import Source, Sources, called
from tests.pages.reading.texts import Reader
from tests.pages.reading.values import Follower, Place, Value

MAKERS = frozenset({"plugins/module_utils/common/verdict", "plugins/module_utils/common/errors"})
"""The files that define the functions that make reasons: the codes there are parameters."""
STATES = {"refused": "refused", "refusal": "refused", "because": "refused", "waiting": "waiting", "remark": "passed"}
"""Function that makes a reason → its state."""
PASSING_ON = "code"
"""The attribute of a reason whose code is passed on as it is."""
WAITED_FOR = frozenset({"Unreachable", "NotUnderstood"})
"""Refusals for which a wait asks again, so that they can also be waited for."""
MESSAGE, REMEDY = (1, "message"), (2, "remedy")
"""Position and name of what these functions are given."""

OF_TASKS = re.compile(
    r"""\bcodes?'?: (?:'|\[)?(\w+_\w+)['\]},]|\bcodes?: .*?'(\w+)' if \w+ else '(\w+)'|(?:or|default\() ?\['(\w+)'\]|"""
    r"""or \['\w+' if [^\]]* else '(\w+)'\]|failed_task', '(\w+)'"""
)
"""The codes in a text of tasks; there they are literals behind the key `code` or `codes`."""
IN_CODE = re.compile(r'(?:"codes": |codes or )\["(\w+)"(?: if [^\]]* else "(\w+)")?\]')
"""The same codes in code that works for tasks."""


@dataclass(frozen=True, eq=False)
class Made:
    """A place where a reason is made."""

    source: Source
    call: ast.Call
    code: str
    states: frozenset[str]

    def texts(self, reader: Reader, which: tuple[int, str]) -> list[str]:
        """The texts that the call can give as its message or its remedy; none if it gives none."""
        place, (index, name) = Place(self.source), which
        for number, each in enumerate(self.call.args):
            if isinstance(each, ast.Starred):
                parts = reader.follower.part(Value(each.value, place), (index - number,))
                return [text for part in parts for text in reader.texts(part)]
            if number == index:
                return reader.texts(Value(each, place))
        named = [each.value for each in self.call.keywords if each.arg == name]
        return [text for each in named for text in reader.texts(Value(each, place))]


def makers(function: ast.expr) -> set[str]:
    """The functions that make reasons and that a call may call; it may choose between two."""
    chosen = [function.body, function.orelse] if isinstance(function, ast.IfExp) else [function]
    return {called(each) for each in chosen} & STATES.keys()


def made_in(source: Source) -> Iterator[Made]:
    """The reasons made in a file, in its order."""
    waited_for = set[ast.expr]()
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    for node in calls:
        if called(getattr(node.func, "value", node.func)) in WAITED_FOR:
            waited_for.update(node.args if called(node.func) in WAITED_FOR else [node])
    for node in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
        states = {STATES[each] for each in makers(node.func)}
        if states and node.args and not _is_passed_on(node.args[0]):
            more = {"waiting"} if node in waited_for else set()
            yield Made(source, node, _code(source, node.args[0]), frozenset(states | more))


def _is_passed_on(code: ast.expr) -> bool:
    return isinstance(code, ast.Attribute) and code.attr == PASSING_ON


def _code(source: Source, code: ast.expr) -> str:
    found = code if isinstance(code, ast.Constant) else source.constants.get(getattr(code, "id", ""))
    value = found.value if isinstance(found, ast.Constant) else None
    assert isinstance(value, str), f"{source.name}: line {code.lineno}: the code {ast.unparse(code)} cannot be read"
    return value


@dataclass(frozen=True, eq=False)
class Codes:
    """All codes of the plugins."""

    sources: Sources

    @cached_property
    def reader(self) -> Reader:
        """Reads the sentences."""
        return Reader(Follower(self.sources))

    @cached_property
    def made(self) -> dict[str, list[Made]]:
        """Code → the places that make it, by file and line."""
        found = defaultdict(list)
        for name, source in self.sources.files.items():
            for each in made_in(source) if name not in MAKERS else ():
                found[each.code].append(each)
        return dict(found)

    def states(self, code: str) -> list[str]:
        """The states of a code, the most severe one first."""
        found = {state for each in self.made[code] for state in each.states}
        return [each for each in ("refused", "waiting", "passed") if each in found]

    def made_by_tasks(self) -> set[str]:
        """The codes that no module gives, of all roles and playbooks."""
        paths = [path for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
        texts = [path.read_text() for path in paths if path.parts[-2] != "meta"]
        code = [path.read_text() for path in (ROOT / "plugins/plugin_utils").glob("*.py")]
        found = [*(OF_TASKS.findall(text) for text in texts), *(IN_CODE.findall(text) for text in code)]
        return {one for each in found for codes in each for one in codes if one} - self.made.keys()
