"""`filter_path`: the parts of an answer that are wanted, by patterns of names with dots."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any

_NOTHING = object()
Pattern = tuple[str, ...]


def filtered(body: Any, paths: str) -> Any:
    """The wanted parts of a body. `*` is any name, `**` any number of names; a path after `-` is left out."""
    patterns = [tuple(path.strip().split(".")) for path in paths.split(",") if path.strip()]
    wanted = [pattern for pattern in patterns if not pattern[0].startswith("-")]
    unwanted = [(pattern[0][1:], *pattern[1:]) for pattern in patterns if pattern[0].startswith("-")]
    if wanted:
        body = _kept(body, wanted)
    if unwanted and body is not _NOTHING:
        body = _without(body, unwanted)
    return {} if body is _NOTHING else body


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
        items = [found for each in body if (found := _kept(each, patterns)) is not _NOTHING]
        return items or _NOTHING
    if not isinstance(body, dict):
        return _NOTHING
    found = {}
    for name, value in body.items():
        whole, rest = _following(patterns, str(name))
        inner = value if whole else _kept(value, rest) if rest else _NOTHING
        if inner is not _NOTHING:
            found[name] = inner
    return found or _NOTHING


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
