"""A request as an action gets it, and the table that actions are in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.sandbox.opensearch.errors import ServerError, illegal
from tests.sandbox.opensearch.indices import Indices
from tests.sandbox.opensearch.model import Member
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.values import seconds
from tests.sandbox.web import Answer, Pending, Request

if TYPE_CHECKING:
    from tests.sandbox.opensearch.cluster import Cluster

EVERYWHERE = frozenset({"pretty", "human", "error_trace", "filter_path", "format", "source"})
PATIENCE = frozenset({"timeout", "master_timeout", "cluster_manager_timeout"})
NAMING = frozenset({"ignore_unavailable", "allow_no_indices", "expand_wildcards"})
ACKNOWLEDGED = {"acknowledged": True}
NEVER = (99, 0)


@dataclass(frozen=True)
class Call:
    """One request to one member."""

    cluster: Cluster
    member: Member
    request: Request
    parts: Mapping[str, str]

    in_place: bool = False
    """Whether the member answers from the state that it has applied, and not the elected manager in its place."""

    @property
    def state(self) -> State:
        """The state of the cluster from which it is answered."""
        own = self.member.applied if self.in_place else None
        return own or self.cluster.state

    @property
    def indices(self) -> Indices:
        """The indices of that state."""
        own = self.state
        return self.cluster.indices if own is self.cluster.state else Indices(own, self.cluster.allocation)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A parameter that is true or false; one without a value is true.

        Raises:
            ServerError: it is neither.
        """
        value = self.request.query.get(name, str(default).lower())
        if value not in {"true", "false", ""}:
            raise illegal(f"Failed to parse value [{value}] as only [true] or [false] are allowed.")
        return value != "false"

    def text(self, name: str, default: str = "") -> str:
        """A parameter."""
        return self.request.query.get(name, default)

    def seconds(self, name: str, default: float) -> float:
        """A parameter that is a time."""
        found = self.request.query.get(name)
        return default if found is None else seconds(found, name)

    @property
    def patience(self) -> float:
        """For how long an elected manager is waited for."""
        for name in ("cluster_manager_timeout", "master_timeout"):
            if name in self.request.query:
                return self.seconds(name, 30.0)
        return self.seconds("timeout", 30.0) if self.request.path.startswith("/_cluster/health") else 30.0

    @property
    def body(self) -> dict[str, Any]:
        """The body, which has to be an object where there is one."""
        body = self.request.body
        if body is None or body == "":
            return {}
        if not isinstance(body, dict):
            raise ServerError(400, "parse_exception", "Failed to parse content to map")
        return body

    @property
    def needed_body(self) -> dict[str, Any]:
        """The body, where one has to be there."""
        if self.request.body in (None, ""):
            raise ServerError(400, "parse_exception", "request body is required")
        return self.body


Action = Callable[[Call], Answer | Pending]


@dataclass(frozen=True)
class Route:
    """The requests that an action answers. Those for the elected manager wait until there is one."""

    methods: tuple[str, ...]
    path: str
    action: Action
    params: frozenset[str] = frozenset()
    manager: bool = True
    in_place_from: tuple[int, int] = NEVER
    """The version from which on Elasticsearch answers it on the member that is asked."""
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        parts = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path)
        object.__setattr__(self, "pattern", re.compile(parts))

    def is_in_place(self, call: Call) -> bool:
        """Whether the member that is asked answers from what it knows."""
        version = call.member.version
        return not self.manager or call.flag("local") or (version.elastic and version[:2] >= self.in_place_from)


def answered(body: Any, status: int = 200) -> Answer:
    """An answer with a body."""
    return Answer(status, body)
