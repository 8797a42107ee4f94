"""The tests that a page names as evidence of its statements."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@cache
def functions_in(path: Path) -> frozenset[str]:
    """The names of the functions of a file; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def tables(text: str, head: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The cells of each row of each table; heads and rules are left out."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return [row for row in cells if row != head]


def missing(cell: str) -> list[str]:
    """The tests of a cell that do not exist."""
    return [
        f"{path}::{name} does not exist" for path, name in NAMED.findall(cell) if name not in functions_in(ROOT / path)
    ]
