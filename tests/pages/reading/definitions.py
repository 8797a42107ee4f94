"""The values that a name can have where it is used, as far as the statements before it in the same function say."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .sources import Function, Source

EACH = -1
"""Stands for any element, where a loop takes all of them."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Definition:
    """A value, or the part of it that these indexes lead to."""

    value: ast.expr
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """The value is what a call gives."""

    function: Function
    name: str


def part_in(target: ast.expr, name: str) -> tuple[int, ...] | None:
    """The indexes of a name in the target of an assignment; None if it is not there."""
    if isinstance(target, ast.Name):
        return () if target.id == name else None
    for index, each in enumerate(getattr(target, "elts", ())):
        inner = part_in(each, name)
        if inner is not None:
            return (index, *inner)
    return None


def definitions(source: Source, use: ast.AST, name: str) -> list[Definition | Parameter]:
    """The values of `name` where `use` is, the nearest first; none if it comes from outside of all functions."""
    found: list[Definition | Parameter] = []
    for node, parent in source.around(use):
        new, ends = _in_parent(node, parent, name)
        found += new
        if ends:
            return found
        for field in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(parent, field, None)
            if isinstance(block, list) and node in block and not isinstance(parent, (ast.Module, ast.ClassDef)):
                before, ends = _last(block[: block.index(node)], name)
                found += before
                if ends:
                    return found
        if isinstance(parent, Function):
            if name in parameters(parent):
                return [*found, Parameter(parent, name)]
            if found:
                return found
    return found


def parameters(function: Function) -> list[str]:
    """The names of the parameters of a function."""
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _in_parent(node: ast.AST, parent: ast.AST, name: str) -> tuple[list[Definition | Parameter], bool]:
    """The definition of the name by a loop, a comprehension or a condition around its use, and whether it ends here."""
    loops: Sequence[ast.comprehension | ast.For | ast.AsyncFor] = ()
    if isinstance(parent, COMPREHENSIONS):
        # A generator sees the names of those before it alone.
        before = parent.generators.index(node) if isinstance(node, ast.comprehension) else None
        loops = parent.generators[:before]
    elif isinstance(parent, (ast.For, ast.AsyncFor)) and node in parent.body:
        loops = [parent]
    for loop in loops:
        path = part_in(loop.target, name)
        if path is not None:
            return [Definition(loop.iter, (EACH, *path))], True
    conditions = [each for loop in loops if isinstance(loop, ast.comprehension) for each in loop.ifs]
    if isinstance(parent, (ast.If, ast.IfExp, ast.While)):
        conditions.append(parent.test)
    return [each for one in conditions for each in _walrus(one, name)], False


def _walrus(node: ast.AST, name: str) -> Iterator[Definition]:
    for each in ast.walk(node):
        if isinstance(each, ast.NamedExpr) and each.target.id == name:
            yield Definition(each.value)


def _last(block: Sequence[ast.stmt], name: str) -> tuple[list[Definition | Parameter], bool]:
    """The definitions that reach the end of a block, and whether none from before it does."""
    found: list[Definition | Parameter] = []
    for statement in reversed(block):
        new, ends = _of_statement(statement, name)
        found += new
        if ends:
            return found, True
    return found, False


def _of_statement(statement: ast.stmt, name: str) -> tuple[list[Definition | Parameter], bool]:
    if isinstance(statement, ast.Assign):
        paths = [path for target in statement.targets if (path := part_in(target, name)) is not None]
        return [Definition(statement.value, path) for path in paths], bool(paths)
    if isinstance(statement, ast.AnnAssign):
        here = part_in(statement.target, name) is not None and statement.value is not None
        return ([Definition(statement.value)] if here and statement.value else []), here
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [], False
    if isinstance(statement, ast.Match):
        blocks = [each.body for each in statement.cases]
    else:
        blocks = [getattr(statement, each, []) for each in ("body", "orelse")]
        blocks += [each.body for each in getattr(statement, "handlers", [])]
    going_on = [_last(each, name) for each in blocks if each and not isinstance(each[-1], LEAVES)]
    whole = (isinstance(statement, ast.If) and bool(statement.orelse)) or isinstance(statement, ast.With)
    test = getattr(statement, "test", None) or getattr(statement, "value", None)
    found = [each for new, _ends in going_on for each in new]
    found += _walrus(test, name) if isinstance(test, ast.AST) else []
    return found, whole and bool(going_on) and all(ends for _new, ends in going_on)
