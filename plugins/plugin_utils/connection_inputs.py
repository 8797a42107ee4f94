"""The options of the connections as variables of their own, such as `upgrade_opensearch_hosts`.

A survey and a command line give text, not dictionaries. So each option has a flat variable in addition to the
dictionary of its connection. Both are merged here, and nowhere else. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.common.validation import check_type_bool, check_type_dict, check_type_int

from ..module_utils.common.arguments import ALERTMANAGER, KUBERNETES, METRICS, OPENSEARCH, PROMETHEUS
from .variables import PREFIX, table

NAMESPACE = f"{PREFIX}namespace"
CONNECTIONS: Mapping[str, Mapping[str, Any]] = {
    f"{PREFIX}{name}": option
    for name, option in {**KUBERNETES, **OPENSEARCH, **PROMETHEUS, **ALERTMANAGER, **METRICS}.items()
    if "options" in option
}
"""The dictionaries by the name of their variable."""
FORWARDED = ("port_forward", "namespace")


@dataclass(frozen=True)
class ConnectionOption:
    """An option of a connection."""

    path: tuple[str, ...]
    """Its name, after the names of the options that it is in."""
    option: Mapping[str, Any]
    """Its argument specification."""


def parts_of(connection: str) -> dict[str, ConnectionOption]:
    """The options of a connection by their flat variables; empty for any other variable."""
    return dict(_parts(connection, (), CONNECTIONS.get(connection, {}).get("options", {})))


def _parts(prefix: str, above: tuple[str, ...], options: Mapping[str, Any]) -> Iterator[tuple[str, ConnectionOption]]:
    for name, option in options.items():
        if "options" in option:
            yield from _parts(f"{prefix}_{name}", (*above, name), option["options"])
        else:
            yield f"{prefix}_{name}", ConnectionOption((*above, name), option)


def is_list(name: str) -> bool:
    """Whether a variable is a list that may also be a text with commas."""
    parts = (parts_of(each) for each in CONNECTIONS if name.startswith(each))
    return (name in table() and table()[name].is_text_list) or any(
        each[name].option["type"] == "list" for each in parts if name in each
    )


def merged(connection: str, given: Mapping[str, Any]) -> Any:
    """The dictionary of a connection with its flat variables in it. An empty text counts as not given.

    Without a namespace of its own, `port_forward` goes to pods of the namespace that is upgraded. A value that is
    not a dictionary stays as it is, and is refused where it is read.
    """
    whole = _whole(connection, given.get(connection))
    if whole is None:
        return given[connection]
    for name, part in parts_of(connection).items():
        if not unanswered(given.get(name)):
            _put(whole, part.path, listed(given[name]) if is_list(name) else given[name])
    forward, namespace = whole.get(FORWARDED[0]), given.get(NAMESPACE)
    if isinstance(forward, Mapping) and forward and not forward.get(FORWARDED[1]) and namespace:
        _put(whole, FORWARDED, namespace)
    return whole


def contradictions(connection: str, given: Mapping[str, Any]) -> Iterator[str]:
    """One sentence for each option that is given twice with different values. The values are not repeated."""
    whole = _whole(connection, given.get(connection)) or {}
    for name, part in parts_of(connection).items():
        in_whole = _found(whole, part.path)
        if (
            not unanswered(given.get(name))
            and in_whole is not None
            and _read(name, part, in_whole) != _read(name, part, given[name])
        ):
            yield f"{'.'.join((connection, *part.path))} and {name} have different values: give only one of them."


def unanswered(value: Any) -> bool:
    """Whether it is the value of an unanswered question of a survey.

    AWX gives an empty text, marked as `!unsafe`. From ansible-core 2.19 on, such a text is null.
    """
    return value is None or (isinstance(value, str) and not value)


def listed(value: Any) -> Any:
    """The list that a text with commas means; anything else as it is."""
    if not isinstance(value, str):
        return value
    return [item.strip() for item in value.split(",")] if value.strip() else []


def _whole(connection: str, value: Any) -> dict[str, Any] | None:
    """The dictionary, with the names of its options in place of their aliases; None if it is not a dictionary."""
    try:
        return _by_name(check_type_dict(value if value is not None else {}), CONNECTIONS[connection]["options"])
    except (TypeError, ValueError):
        return None


def _by_name(values: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    names = {alias: name for name, option in options.items() for alias in option.get("aliases", ())}
    return {
        names.get(each, each): dict(value) if isinstance(value, Mapping) else value for each, value in values.items()
    }


def _put(whole: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        inner = whole.get(name)
        whole[name] = dict(inner) if isinstance(inner, Mapping) else {}
        whole = whole[name]
    whole[path[-1]] = value


def _found(whole: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        whole = whole.get(name) if isinstance(whole, Mapping) else None
    return whole


def _read(name: str, part: ConnectionOption, value: Any) -> Any:
    """The value as a module would read it, for a comparison; a wrong one as it is."""
    if is_list(name):
        return listed(value)
    check = {"bool": check_type_bool, "int": check_type_int}.get(part.option["type"], str)
    try:
        return check(value)
    except (TypeError, ValueError):
        return value
