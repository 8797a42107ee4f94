"""The addresses of things outside the cluster that an upgrade depends on. Pure: no request is made here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from ..common.errors import Refusal
from ..common.verdict import Reason, as_verdict, refused, waiting


class DependencyKind(str, Enum):
    """How a dependency is checked."""

    HTTPS = "https"
    HTTP = "http"
    TCP = "tcp"
    """A connection can be made."""
    DNS = "dns"
    """The name has an address."""
    REGISTRY = "registry"
    """A registry of images answers at its base (OCI distribution specification: GET /v2/)."""


@dataclass(frozen=True)
class Dependency:
    """One thing that must be available."""

    kind: DependencyKind
    host: str
    port: int | None
    url: str
    """The URL that is requested over HTTP; empty for the other kinds."""
    shown: str
    """The address for people, without a query, which may hold a secret."""


def dependencies_in(texts: Iterable[str]) -> list[Dependency]:
    """The dependencies that the texts name.

    Raises:
        Refusal: some texts name no dependency; it has a reason for each.
    """
    found, faults = list[Dependency](), list[Reason]()
    for each in texts:
        try:
            found.append(_parsed(each.strip()))
        except ValueError as error:
            said = f"{each.partition('?')[0]} is not a dependency that can be checked: {error}."
            remedy = "Write https://…, http://…, tcp://HOST:PORT, dns://NAME or registry://HOST."
            faults.append(refused("dependency_unreadable", said, remedy))
    if faults:
        raise Refusal(*faults)
    return found


def _parsed(text: str) -> Dependency:
    parts = urlsplit(text)
    if parts.scheme not in [each.value for each in DependencyKind]:
        raise ValueError("its kind is not known")
    if "@" in parts.netloc:
        raise ValueError("it holds a user name, which would be shown")
    kind, host, port = DependencyKind(parts.scheme), parts.hostname, parts.port
    if not host:
        raise ValueError("it names no host")
    if kind is DependencyKind.TCP and not port:
        raise ValueError("it names no port")
    if kind in (DependencyKind.TCP, DependencyKind.DNS, DependencyKind.REGISTRY) and (
        parts.path.strip("/") or parts.query
    ):
        raise ValueError("it has more than a host and a port")
    url = (
        f"https://{parts.netloc}/v2/"
        if kind is DependencyKind.REGISTRY
        else text
        if kind in (DependencyKind.HTTP, DependencyKind.HTTPS)
        else ""
    )
    return Dependency(kind, host, port, url, text.partition("?")[0])


def fault_of_status(dependency: Dependency, status: int) -> str:
    """Why an HTTP answer means that the dependency is not available; empty if it is available.

    A registry that asks for a login is available. So is a server that redirects.
    """
    if status < 400 or (dependency.kind is DependencyKind.REGISTRY and status == 401):
        return ""
    return f"it answers {status}"


@as_verdict
def judge_dependencies(causes: Iterable[tuple[Dependency, str]]) -> Iterator[Reason]:
    """Whether all are available. Each comes with the cause if it is not; an empty cause means that it is."""
    for dependency, cause in causes:
        if cause:
            yield waiting(
                "dependency_unavailable",
                f"{dependency.shown} is not available: {cause}.",
                "Fix that, or take it out of the dependencies (upgrade_dependencies).",
                about=dependency.shown,
            )
