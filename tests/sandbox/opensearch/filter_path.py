"""`filter_path`: the parts of an answer that are wanted, by patterns of names with dots."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.sandbox.opensearch.rest.parts import NOTHING, WHOLE, Part, Parts, Pattern, number_of


def filtered(body: Any, paths: str) -> Any:
    """The wanted parts of a body. `*` is any name, `**` any number of names; a path after `-` is left out."""
    patterns = [tuple(path.strip().split(".")) for path in paths.split(",") if path.strip()]
    wanted = [pattern for pattern in patterns if not pattern[0].startswith("-")]
    unwanted = [(pattern[0][1:], *pattern[1:]) for pattern in patterns if pattern[0].startswith("-")]
    if wanted:
        body = _kept(body, wanted)
    if unwanted and body is not NOTHING:
        body = _without(body, unwanted)
    return {} if body is NOTHING else body


def _following(patterns: Sequence[Pattern], name: str) -> tuple[bool, list[Pattern]]:
    """Whether all below a name is meant, and the patterns for what is below it."""
    whole, rest = False, list[Pattern]()
    for pattern in patterns:
        if pattern[0] == "**":
            rest.append(pattern)
            inner_whole, inner = _following([pattern[1:]], name) if len(pattern) > 1 else (True, [])
            whole, rest = whole or inner_whole, rest + inner
        elif pattern[0] in {"*", name} or ("*" in pattern[0] and fnmatch.fnmatchcase(name, pattern[0])):
            if len(pattern) == 1:
                whole = True
            else:
                rest.append(pattern[1:])
    return whole, rest


def _kept(body: Any, patterns: Sequence[Pattern]) -> Any:
    if isinstance(body, list):
        items = [found for each in body if (found := _kept(each, patterns)) is not NOTHING]
        return items or NOTHING
    if not isinstance(body, dict):
        return NOTHING
    if isinstance(body, Parts):
        return _kept_of_parts(body, patterns)
    found = {}
    for name, value in body.items():
        whole, rest = _following(patterns, str(name))
        inner = _chosen(value, whole=whole, rest=rest)
        if inner is not NOTHING:
            found[name] = inner
    return found or NOTHING


def _kept_of_parts(body: Parts, patterns: Sequence[Pattern]) -> Any:
    found, same = Parts(), all(pattern[0] == "*" for pattern in patterns)
    whole, rest = _following(patterns, "")
    number = number_of(rest)
    for name, value in body.items():
        if not same:
            whole, rest = _following(patterns, name)
            number = number_of(rest)
        if isinstance(value, Part):
            inner = value.filtered(WHOLE if whole else number, partial(_chosen, whole=whole, rest=rest))
        else:
            inner = _chosen(value, whole=whole, rest=rest)
        if inner is not NOTHING:
            found[name] = inner
    return found or NOTHING


def _chosen(value: Any, *, whole: bool, rest: list[Pattern]) -> Any:
    return _whole(value) if whole else _kept(value, rest) if rest else NOTHING


def _whole(value: Any) -> Any:
    if isinstance(value, Parts):
        return Parts({name: _whole(each) for name, each in value.items()})
    return value.filtered(WHOLE, lambda made: made) if isinstance(value, Part) else value


def _without(body: Any, patterns: Sequence[Pattern]) -> Any:
    if isinstance(body, list):
        return [_without(each, patterns) for each in body]
    if not isinstance(body, dict):
        return body
    found = {}
    for name, value in body.items():
        whole, rest = _following(patterns, str(name))
        if not whole:
            found[name] = _without(value, rest) if rest else value
    return found
