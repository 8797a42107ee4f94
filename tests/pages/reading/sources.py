"""The files of plugins as syntax trees: what is defined in a file, what it imports, and who calls a function."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
OURS = ("ansible_collections", "stateful", "upgrade")
"""The first parts of the name of a module that is imported by its full name."""


def called(node: ast.expr) -> str:
    """The name of what is called."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


class _Plain(ast.NodeTransformer):
    """Writes what is added to a name as an assignment of the sum."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """The statement `x += y` as `x = x + y`."""
        if not isinstance(node.target, ast.Name):
            return node
        added = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([node.target], added), node))


@dataclass(frozen=True, eq=False)
class Source:
    """One file."""

    name: str
    """Its path below the root, without the suffix."""
    tree: ast.Module

    @classmethod
    def parsed(cls, name: str, text: str) -> Source:
        """The file with this text."""
        return cls(name, _Plain().visit(ast.parse(text, name)))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Node → the node that has it."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def functions(self) -> dict[str, list[Function]]:
        """Functions and methods by name, in the order of the file."""
        found = defaultdict(list)
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                found[node.name].append(node)
        return found

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """The values that the file gives to names outside of functions, those in its classes included."""
        found: dict[str, ast.expr] = {}
        classes = [node for node in self.tree.body if isinstance(node, ast.ClassDef)]
        for statement in (*(each for one in classes for each in one.body), *self.tree.body):
            targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
            value = getattr(statement, "value", None)
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and value is not None:
                found |= {each.id: value for each in targets if isinstance(each, ast.Name)}
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Name → (file, name there) of what comes from other files; the name is empty for a whole file."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                folder = self._folder(node)
                for each in node.names:
                    found[each.asname or each.name] = (folder, each.name)
        return found

    def _folder(self, node: ast.ImportFrom) -> str:
        parts = (node.module or "").split(".") if node.module else []
        if not node.level:
            return "/".join(parts[len(OURS) :] if tuple(parts[: len(OURS)]) == OURS else parts)
        return "/".join([*self.name.split("/")[: -node.level], *parts])

    def is_method(self, function: Function) -> bool:
        """Whether a function is called as an attribute of an object."""
        return isinstance(self.parents[function], ast.ClassDef)

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """(node, the node that has it), from the inside to the outside."""
        while node in self.parents:
            yield node, self.parents[node]
            node = self.parents[node]


@dataclass(frozen=True, eq=False)
class Sources:
    """All files, by name."""

    files: dict[str, Source] = field(default_factory=dict)

    @classmethod
    def below(cls, root: Path, folder: str) -> Sources:
        """Those of a folder."""
        paths = {str(path.relative_to(root).with_suffix("")): path for path in sorted((root / folder).rglob("*.py"))}
        return cls({name: Source.parsed(name, path.read_text("utf-8")) for name, path in paths.items()})

    def imported(self, source: Source, name: str) -> tuple[Source, str] | None:
        """The file from which a name comes, and its name there; an empty name stands for the file itself."""
        folder, there = source.imports.get(name, ("", ""))
        if f"{folder}/{there}" in self.files:
            return self.files[f"{folder}/{there}"], ""
        return (self.files[folder], there) if folder in self.files else None

    @cached_property
    def calls(self) -> dict[str, list[tuple[Source, ast.Call]]]:
        """The calls of each name."""
        found = defaultdict(list)
        for source in self.files.values():
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Call):
                    found[called(node.func)].append((source, node))
        return found

    def calls_of(self, source: Source, function: Function) -> Iterator[tuple[Source, ast.Call]]:
        """The calls of a function, in its own file first."""
        found, is_method = self.calls[function.name], source.is_method(function)
        yield from (
            each for each in found if each[0] is source and isinstance(each[1].func, ast.Attribute) == is_method
        )
        for there, call in found:
            node = call.func
            name = (
                node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else called(node)
            )
            origin = self.imported(there, name)
            if there is not source and origin is not None and origin[0] is source:
                yield there, call
