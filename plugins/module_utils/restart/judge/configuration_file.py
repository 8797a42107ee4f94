"""Configurations as the servers read them: nested or flat YAML becomes flat settings with texts as values. Pure.

The servers keep every value as a text, so `true` and `"true"` are the same, and a list is the same as its items with
commas between them. With a key that comes twice, an empty value, or objects in a list they do not start (server source,
Settings.fromXContent); they do not know anchors. Such a configuration is refused before a process is stopped for it.
Refusals name the line and the setting, and no value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...common.errors import Refusal, refusal
from ...common.packages import needed

DEEPEST = 40
"""The deepest nesting that is read; no setting comes near it."""
_NOTHING = ("", "~", "null", "Null", "NULL")


def settings_in(text: str, where: str) -> dict[str, str]:
    """The flat settings of an opensearch.yml or elasticsearch.yml. `where` names it in refusals.

    Raises:
        Refusal: the servers would not start with it.
    """
    yaml = needed("yaml", "PyYAML")
    try:
        _scanned(yaml, text, where)
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _not_valid(where, "it is no YAML" + (f" (line {mark.line + 1})" if mark else "")) from None
    if root is None or (root.id == "scalar" and root.value in _NOTHING):
        return {}
    if root.id != "mapping":
        raise _not_valid(where, "it is not a list of settings with values")
    return _collected(_nodes(root, "", where), where)


def _scanned(yaml: Any, text: str, where: str) -> None:
    """A first pass, which refuses what could make the second one endless: nesting and aliases."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise _not_valid(where, "it has an alias, which the servers do not resolve")
        if depth > DEEPEST:
            raise _not_valid(where, "it is nested too deeply")


def _collected(found: Iterator[tuple[str, str]], where: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for name, value in found:
        if name in settings:
            raise _not_valid(where, f"the setting {name} is in it twice")
        settings[name] = value
    return settings


def _nodes(node: Any, prefix: str, where: str) -> Iterator[tuple[str, str]]:
    """The settings below a mapping of YAML."""
    keys: set[str] = set()
    for key, value in node.value:
        if key.id != "scalar" or not key.value:
            raise _not_valid(where, f"line {key.start_mark.line + 1} has no name of a setting")
        name = f"{prefix}{key.value}"
        if key.value in keys:
            raise _not_valid(where, f"the setting {name} is in it twice")
        keys.add(key.value)
        if value.id == "mapping":
            yield from _nodes(value, f"{name}.", where)
        elif value.id == "sequence":
            if any(each.id != "scalar" for each in value.value):
                raise _not_valid(where, f"the list of the setting {name} holds more than plain values")
            yield name, _listed([each.value for each in value.value])
        elif value.style is None and value.value in _NOTHING:
            raise _not_valid(where, f"the setting {name} has no value")
        else:
            yield name, value.value


def _listed(items: list[str]) -> str:
    """A list as one text: as the servers also read it, unless an item has a comma itself."""
    return json.dumps(items) if any("," in each for each in items) else ",".join(items)


def _not_valid(where: str, what: str) -> Refusal:
    return refusal(
        "configuration_not_valid",
        f"The servers would not start with the configuration of {where}: {what}.",
        "Correct the configuration; nothing was stopped for it.",
    )
