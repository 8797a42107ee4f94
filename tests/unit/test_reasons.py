"""Every reason code of the collection is in docs/reasons.md with its states, and no other is.

Codes are read from the calls that make reasons; there they are literals, or constants of the same file. Some codes are
given by tasks of the roles and playbooks alone.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reasons.md"
MAKERS = frozenset({"plugins/module_utils/common/verdict.py", "plugins/module_utils/common/errors.py"})
"""The files that define the functions that make reasons: the codes there are parameters."""
STATES = {"refused": "refused", "refusal": "refused", "because": "refused", "waiting": "waiting", "remark": "passed"}
PASSING_ON = "code"
"""The attribute of a reason whose code is passed on as it is."""
ROW = re.compile(r"^\| `(?P<code>\w+)` \| (?P<states>[\w ]+) \| (?P<meaning>[^|]+) \| (?P<remedy>[^|]+) \|$")

BESIDE_MODULES = "The run: outside its modules"
"""The section with the codes that tasks give."""
OF_TASKS = re.compile(
    r"""\bcodes?'?: (?:'|\[)?(\w+_\w+)['\]},]|\bcodes?: .*?'(\w+)' if \w+ else '(\w+)'|(?:or|default\() ?\['(\w+)'\]|"""
    r"""or \['\w+' if [^\]]* else '(\w+)'\]|failed_task', '(\w+)'"""
)
"""The codes in a text of tasks; there they are literals behind the key `code` or `codes`."""
IN_CODE = re.compile(r'(?:"codes": |codes or )\["(\w+)"(?: if [^\]]* else "(\w+)")?\]')
"""The same codes in code that works for tasks."""

Codes = dict[str, set[str]]


def called(node: ast.expr) -> str:
    """The name of what is called."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def codes_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The codes made in a file, each with a state; a failure to reach something can also be waited for."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if called(getattr(node.func, "value", node.func)) in {"Unreachable", "NotUnderstood"}:
            yield from ((code, "waiting") for code in _code(node, constants))
        for maker in makers(node.func):
            yield from ((code, STATES[maker]) for code in _code(node, constants))


def makers(function: ast.expr) -> set[str]:
    """The functions that make reasons and that a call may call; it may choose between two."""
    chosen = [function.body, function.orelse] if isinstance(function, ast.IfExp) else [function]
    return {called(each) for each in chosen} & STATES.keys()


def _code(call: ast.expr, constants: Mapping[str, object]) -> list[str]:
    if not isinstance(call, ast.Call) or not makers(call.func) or not call.args:
        return []
    code = call.args[0]
    if isinstance(code, ast.Attribute) and code.attr == PASSING_ON:
        return []
    value = code.value if isinstance(code, ast.Constant) else constants.get(getattr(code, "id", ""))
    assert isinstance(value, str), f"line {code.lineno}: the code {ast.unparse(code)} cannot be read"
    return [value]


def made() -> Codes:
    """Code → states, of all plugins."""
    codes: Codes = defaultdict(set)
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        if str(path.relative_to(ROOT)) not in MAKERS:
            for code, state in codes_in(ast.parse(path.read_text(), filename=str(path))):
                codes[code].add(state)
    return dict(codes)


def made_by_tasks() -> set[str]:
    """The codes that no module gives, of all roles and playbooks."""
    paths = [path for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    texts = [path.read_text() for path in paths if path.parts[-2] != "meta"]
    code = [path.read_text() for path in (ROOT / "plugins/plugin_utils").glob("*.py")]
    found = [*(OF_TASKS.findall(text) for text in texts), *(IN_CODE.findall(text) for text in code)]
    return {one for each in found for codes in each for one in codes if one} - made().keys()


def documented(text: str) -> Codes:
    """Code → states, of the page."""
    rows = [found for line in text.splitlines() if (found := ROW.match(line))]
    codes = {row["code"]: set(row["states"].split(" or ")) for row in rows}
    assert len(codes) == len(rows), "a code has more than one row"
    return codes


def test_every_code_is_documented_and_no_other() -> None:
    of_modules, _head, rest = PAGE.read_text().partition(f"## {BESIDE_MODULES}\n")
    of_tasks, head, rest = rest.partition("\n## ")
    assert documented(of_modules + head + rest) == made()
    assert documented(of_tasks).keys() == made_by_tasks()


def test_every_row_is_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    heads = [line for line in lines if line.startswith(("| Code |", "|---"))]
    unread = [line for line in lines if line not in heads and not ROW.match(line)]
    assert unread == []
    for section in PAGE.read_text().split("\n## ")[1:]:
        codes = [row["code"] for line in section.splitlines() if (row := ROW.match(line))]
        assert codes == sorted(codes), section.splitlines()[0]


def test_codes_are_found() -> None:
    source = """
HERE = "constant"
refused("a", "A.", "")
verdict.waiting(HERE, "B.")
Unreachable.because("c", "C.", "")
remark(reason.code, "passed on")
(refused if hopeless else waiting)("d", "D.", "")
"""
    found = {
        ("d", "refused"),
        ("d", "waiting"),
        ("a", "refused"),
        ("constant", "waiting"),
        ("c", "refused"),
        ("c", "waiting"),
    }
    assert set(codes_in(ast.parse(source))) == found
    with pytest.raises(AssertionError, match=r"line 1: the code f'{x}' cannot be read"):
        list(codes_in(ast.parse("refusal(f'{x}', '', '')")))
