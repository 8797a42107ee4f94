"""The faults of a request apart from its values: its type, names that it may not hold, and contradictions. Pure.

A request says what to upgrade to which version, when and how carefully. The run says where, as which user, and with
which code of its own, so that permission to write a request gives no further right. For the same reason no request
names a file of the controller, which would be read or written there.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.common.validation import check_type_dict

from .connection_inputs import CONNECTIONS, parts_of
from .input_values import by_any_name
from .variables import PREFIX, names


def faults_of_request(
    request: Mapping[str, Any], playbook: str, system: str, known: Mapping[str, Any], given: Mapping[str, Any]
) -> Iterator[str]:
    """One sentence for each fault. `known` are the variables of the playbook, `given` those that the run sets itself.

    `system` is the short name of the role of the system.
    """
    yield from request["faults"]
    if request["type"] != system:
        said = f"is '{request['type']}'" if request["type"] else "is missing"
        yield f"type {said} in the request, and the playbook {playbook} carries out requests of the type {system}."
    of_connections = {part for connection in CONNECTIONS for part in (connection, *parts_of(connection))}
    of_the_run = names(lambda each: each.run_only)
    for name, value in request["variables"].items():
        if name in of_the_run or name in of_connections:
            yield f"{name} is in the request, but only the run may give it: take it out of the request."
        elif name not in known and not name.startswith(PREFIX):
            yield f"{name} in the request is not a variable of the playbook {playbook}: {_question(name, known)}"
        elif name in given and _plain(given[name]) != _plain(value):
            yield f"{name} has one value in the request and another in the run: give it in one of them."
        else:
            for place in _files(name, value, known.get(name, {})):
                yield f"{place} in the request names a file of the controller: give {name} in the run."


def _files(place: str, value: Any, option: Mapping[str, Any]) -> Iterator[str]:
    """The places in a value at which its specification has a path."""
    if option.get("type") == "path" or option.get("elements") == "path":
        yield place
    known = by_any_name(option.get("options") or {})
    for each in (value if isinstance(value, list) else [value]) if known else ():
        # A text may be read as a dictionary, as modules do. One that cannot is another fault.
        with contextlib.suppress(TypeError, ValueError):
            for name, inner in check_type_dict(each).items():
                if inner and name in known:
                    yield from _files(f"{place}.{name}", inner, known[name])


def _question(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1) or [each for each in known if each == f"{PREFIX}{name}"]
    return f"did you mean {near[0]}?" if near else "take it out."


def _plain(value: Any) -> Any:
    """The value as a request writes it, in which each scalar is text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return str(value).strip().lower() if isinstance(value, bool) else str(value).strip()
