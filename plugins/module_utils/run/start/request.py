"""The request of an upgrade: a small YAML document with the variables of the run. Pure.

Every scalar is read as the text that was written, so that the version 3.10 is not a number, and a time is not a date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from ...common.arguments import OTHER_KUBERNETES
from ...common.errors import refusal
from ...common.packages import needed
from ...common.reading import Json, text, texts
from ...common.verdict import Reason, as_verdict, refused, waiting

TYPE = "type"
"""The key that names the system whose upgrade is requested."""
LONGEST = 64 * 1024
"""The most bytes of a request."""
REQUESTED: dict[str, Any] = {
    "type": "dict",
    "options": {
        **{name: {"type": "str", "required": True} for name in ("source", "digest")},
        "owner": {"type": "str", "default": ""},
        "members": {"type": "list", "elements": "str", "default": []},
    },
}
"""The option that names the request of a run, see `requested_in`."""
REQUEST_KUBERNETES: dict[str, dict[str, Any]] = {"request_kubernetes": OTHER_KUBERNETES}
"""The option with the connection to requests that are objects of a system, if they are in another Kubernetes."""
TEMPLATES = ("{{", "{%", "{#")
"""How templates start. A request is data from others, and Ansible would evaluate them."""
KEPT = 12
"""Characters of a digest."""


@dataclass(frozen=True)
class Request:
    """A request as it was read."""

    type: str
    """Empty if the document names none."""
    variables: Mapping[str, Any]
    digest: str
    """Differs for different requests; comments, order and layout do not change it."""
    faults: tuple[str, ...] = ()
    """One sentence for each fault of the document itself."""
    aborted: bool = False
    """Whether it says itself that its upgrade is to be aborted."""
    owner: str = ""
    """See `Requested.owner`."""
    members: tuple[str, ...] = ()
    """See `Requested.members`."""
    cluster: str = ""
    """The identity of the cluster with the members of its owner; empty without one."""

    def as_result(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "type": self.type,
            "variables": dict(self.variables),
            "digest": self.digest,
            "faults": list(self.faults),
            "owner": self.owner,
            "members": list(self.members),
        }


@dataclass(frozen=True)
class Requested:
    """The request that an upgrade carries out."""

    source: str
    """The place of the document, as `upgrade_request` names it."""
    digest: str
    owner: str = field(default="", compare=False)
    """The owner of all its members: a new document for the same owner replaces this one. Empty for others."""
    members: tuple[str, ...] = field(default=(), compare=False)
    """The members whose progress is reported to the requester one by one."""


def requested_in(raw: Json) -> Requested | None:
    """The request that a record keeps, or that an option names; None if there is none."""
    if not raw:
        return None
    return Requested(text(raw, "source"), text(raw, "digest"), text(raw, "owner", ""), texts(raw, "members", ()))


def read_request(document: str, where: str) -> Request:
    """The request that a document holds; `where` names its place for people.

    Raises:
        Refusal: it is too long, not YAML, or not a mapping of names to values.
    """
    yaml = needed("yaml", "PyYAML")
    loader = yaml.BaseLoader(document[: LONGEST + 1])
    try:
        node = loader.get_single_node()
        if len(document) > LONGEST:
            raise _unreadable(where, f"it is longer than {LONGEST // 1024} KiB")
        if not isinstance(node, yaml.MappingNode):
            raise _unreadable(where, "it is not a mapping of names to values")
        names = [str(key.value) for key, _value in node.value if isinstance(key, yaml.ScalarNode)]
        if len(names) < len(node.value):
            raise _unreadable(where, "one of its names is no text")
        content = dict(loader.construct_document(node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _unreadable(where, f"it is no YAML{f' (line {mark.line + 1})' if mark else ''}") from error
    except RecursionError as error:
        raise _unreadable(where, "it is nested too deep") from error
    finally:
        loader.dispose()
    faults = [f"{name} is in the request more than once." for name in dict.fromkeys(names) if names.count(name) > 1]
    faults += [
        f"{name} holds a template in the request, which is never carried out: write the value itself."
        for name, value in content.items()
        if any(mark in json.dumps({name: value}) for mark in TEMPLATES)
    ]
    kind = content.pop(TYPE, "")
    digest = sha256(json.dumps({TYPE: kind, **content}, sort_keys=True).encode()).hexdigest()[:KEPT]
    return Request(kind if isinstance(kind, str) else "", content, digest, tuple(faults))


DocumentReader = Callable[[str, str, Request], Request]
"""Makes the request of a document that is an object of a system, from its text, its place, and the request as read."""


def read_document(document: str, where: str, readers: Mapping[str, DocumentReader]) -> Request:
    """The request that a document holds: variables, or an object of one of the kinds that have readers.

    Raises:
        Refusal: it is too long, not YAML, or not a mapping of names to values.
    """
    request = read_request(document, where)
    reader = readers.get(str(request.variables.get("kind") or ""))
    return reader(document, where, request) if reader is not None else request


@as_verdict
def judge_due(request: Requested | None, done: Requested | None, at: str) -> Iterator[Reason]:
    """Whether this request is still to be carried out; `done` is the one that was carried out, and `at` when."""
    if request is not None and request == done:
        yield waiting(
            "request_carried_out",
            f"The request {request.source} was carried out at {at}, and does nothing more.",
            "Change the request to upgrade again.",
        )


@as_verdict
def judge_unchanged(request: Request | None, expected: str, where: str, *, aborts: bool = False) -> Iterator[Reason]:
    """Whether the request is still the one with the digest that is `expected`; None if it is gone.

    `aborts` says that the upgrade ends with its request.
    """
    if request is None and aborts:
        yield refused(
            "stopped_by_request",
            f"The request in {where} was aborted or deleted, which aborts the upgrade.",
            "Request the upgrade again, or leave it as it is.",
        )
    elif request is None:
        yield waiting(
            "request_withdrawn",
            f"The request in {where} was withdrawn, so no further batch is begun.",
            "Request the upgrade again and run again to continue, or leave it as it is.",
        )
    elif request.digest != expected:
        yield waiting(
            "request_changed",
            f"The request in {where} has changed since the run began, so no further batch is begun.",
            "Run again: the next run carries out the request as it is then.",
        )


def _unreadable(where: str, cause: str) -> Exception:
    return refusal(
        "request_unreadable",
        f"The request in {where} cannot be read: {cause}.",
        "Write a YAML mapping, one line for each variable, such as target_version: 3.8.0.",
    )
