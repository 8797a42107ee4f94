"""The expressions that an expression can stand for: names, conditions and calls are followed to the end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .definitions import EACH, Definition, Parameter, definitions, parameters
from .sources import Function, Source, Sources, called

DEPTH = 12
"""The most steps from an expression to what it stands for."""
OF_VALUES = frozenset({"plugins/module_utils/common/words", "plugins/module_utils/common/timestamps"})
"""Files whose functions only enumerate or shorten what they are given."""


@dataclass(frozen=True, eq=False)
class Place:
    """A file, and what the call at hand gives to the parameters of a function."""

    source: Source
    given: Mapping[tuple[Function, str], Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Value:
    """An expression where it is."""

    node: ast.expr
    place: Place
    chosen: bool = False
    """Whether it is one of several that other code chooses from: the callers of a function, or the turns of a loop."""

    def of(self, node: ast.expr) -> Value:
        """A part of this expression."""
        return Value(node, self.place, self.chosen)


@dataclass(frozen=True, eq=False)
class Follower:
    """Follows expressions through the files."""

    sources: Sources

    def ends(self, value: Value, depth: int = DEPTH) -> Iterator[Value]:
        """What the expression can stand for in the end, the first choice first."""
        if depth <= 0:
            yield value
            return
        found = list(self._next(value, depth - 1))
        if not found:
            yield value
        for each in found:
            yield from self.ends(each, depth - 1)

    def _next(self, value: Value, depth: int) -> Iterator[Value]:
        node = value.node
        if isinstance(node, ast.IfExp):
            yield from map(
                value.of, [node.orelse, node.body] if _is_of_several(node.test) else [node.body, node.orelse]
            )
        elif isinstance(node, ast.BoolOp):
            yield from (
                each for one in node.values[:-1] for each in self.ends(value.of(one), depth) if not _is_empty(each)
            )
            yield value.of(node.values[-1])
        elif isinstance(node, (ast.NamedExpr, ast.Starred)):
            yield value.of(node.value)
        elif isinstance(node, ast.Name):
            yield from self._named(value, node, depth)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(value, node)
        elif isinstance(node, ast.Subscript):
            key = node.slice
            path = key.value if isinstance(key, ast.Constant) else EACH
            yield from self.part(value.of(node.value), (path,), depth)
        elif isinstance(node, ast.Call):
            yield from self._called(value, node)

    def part(self, value: Value, path: tuple[object, ...], depth: int = DEPTH) -> Iterator[Value]:
        """The parts of an expression to which indexes or keys lead."""
        if not path or depth <= 0:
            yield from [value] if not path else []
            return
        for end in self.ends(value, depth - 1):
            for each in self._elements(end, path[0], depth - 1):
                yield from self.part(each, path[1:], depth - 1)

    def _elements(self, value: Value, index: object, depth: int) -> Iterator[Value]:
        node = value.node
        each = Value(node, value.place, chosen=True)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            if index == EACH:
                yield from map(each.of, node.elts)
            elif isinstance(index, int) and index < len(node.elts):
                yield value.of(node.elts[index])
        elif isinstance(node, ast.Dict):
            known = [
                end for key, end in zip(node.keys, node.values, strict=True) if getattr(key, "value", None) == index
            ]
            yield from map(value.of, known) if known else map(each.of, node.values)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)) and index == EACH:
            yield each.of(node.elt)
        elif isinstance(node, ast.Call) and called(node.func) == "items" and isinstance(node.func, ast.Attribute):
            for end in self.ends(value.of(node.func.value), depth):
                if isinstance(end.node, ast.Dict):
                    pairs = zip(end.node.keys, end.node.values, strict=True)
                    yield from (each.of(ast.Tuple([key, one], ast.Load())) for key, one in pairs if key is not None)

    def _named(self, value: Value, node: ast.Name, depth: int) -> Iterator[Value]:
        found = definitions(value.place.source, node, node.id)
        for each in found:
            if isinstance(each, Definition):
                # A value that a loop takes turn by turn is one of several.
                yield from self.part(value.of(each.value), each.path, depth)
            else:
                yield from self._given(value, each)
        if not found:
            yield from self._constant(value, node.id)

    def _given(self, value: Value, parameter: Parameter) -> Iterator[Value]:
        """What calls give to a parameter: the call at hand, or else all."""
        bound = value.place.given.get((parameter.function, parameter.name))
        if bound is not None:
            yield bound
            return
        for source, call in self.sources.calls_of(value.place.source, parameter.function):
            found = arguments(parameter.function, call).get(parameter.name)
            if found is not None and not isinstance(found, ast.Starred):
                yield Value(found, Place(source), chosen=True)

    def _constant(self, value: Value, name: str) -> Iterator[Value]:
        source = value.place.source
        if name in source.constants:
            yield Value(source.constants[name], Place(source), value.chosen)
            return
        origin = self.sources.imported(source, name)
        if origin is not None and origin[1]:
            yield from self._constant(Value(value.node, Place(origin[0]), value.chosen), origin[1])

    def _attribute(self, value: Value, node: ast.Attribute) -> Iterator[Value]:
        source, base = value.place.source, node.value
        if not isinstance(base, ast.Name):
            return
        origin = self.sources.imported(source, base.id)
        if origin is not None:
            yield from self._constant(Value(node, Place(origin[0]), value.chosen), node.attr)
        elif base.id == "self" or any(
            isinstance(each, ast.ClassDef) and each.name == base.id for each in source.tree.body
        ):
            for function in source.functions.get(node.attr, ()):
                if any(called(each).endswith("property") for each in function.decorator_list):
                    yield from results(function, value)
            if base.id != "self":
                yield from self._constant(Value(node, Place(source), value.chosen), node.attr)

    def _called(self, value: Value, call: ast.Call) -> Iterator[Value]:
        for source, function in self.functions(value.place.source, call.func):
            bound = {(function, name): value.of(each) for name, each in arguments(function, call).items()}
            yield from results(function, Value(call, Place(source, bound), value.chosen))

    def functions(self, source: Source, node: ast.expr) -> list[tuple[Source, Function]]:
        """The function that is called by this name in a file, if it is one of ours."""
        name = called(node)
        if isinstance(node, ast.Attribute):
            if not isinstance(node.value, ast.Name):
                return []
            if node.value.id in {"self", "cls"}:
                return [(source, each) for each in source.functions.get(name, ()) if source.is_method(each)]
            origin = self.sources.imported(source, node.value.id)
        elif name in source.functions:
            return [(source, each) for each in source.functions[name] if not source.is_method(each)]
        else:
            origin = self.sources.imported(source, name)
            name = origin[1] if origin else ""
        if origin is None or origin[0].name in OF_VALUES:
            return []
        return [(origin[0], each) for each in origin[0].functions.get(name, ())]


def _is_empty(value: Value) -> bool:
    return isinstance(value.node, ast.Constant) and not value.node.value


def _is_of_several(test: ast.expr) -> bool:
    """Whether a condition says that there are several things: a text for one thing is the first choice."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Gt, ast.NotEq))


def results(function: Function, value: Value) -> Iterator[Value]:
    """What a function returns or yields."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
            yield value.of(node.value)


def arguments(function: Function, call: ast.Call) -> dict[str, ast.expr]:
    """Parameter → what a call gives it, or its default."""
    names = parameters(function)
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    given = function.args
    positional = [each.arg for each in (*given.posonlyargs, *given.args)]
    defaults = dict(zip(reversed(positional), reversed(given.defaults), strict=False))
    keywords = zip((each.arg for each in given.kwonlyargs), given.kw_defaults, strict=True)
    defaults |= {name: each for name, each in keywords if each is not None}
    if any(isinstance(each, ast.Starred) for each in call.args):
        names = []
    bound = dict(zip(names, call.args, strict=False))
    return {**defaults, **bound, **{each.arg: each.value for each in call.keywords if each.arg is not None}}
