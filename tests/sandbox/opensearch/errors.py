"""Errors as the servers answer them."""

from __future__ import annotations

from typing import Any

from tests.sandbox.web import Answer


class ServerError(Exception):
    """The error that a server answers instead of the thing that was asked for."""

    def __init__(self, status: int, kind: str, reason: str | None, **more: Any) -> None:
        super().__init__(reason)
        self.status = status
        self.rooted = True
        """Whether there is a cause below it."""
        self.error = {"type": kind, "reason": reason, **more}
        self.cause: dict[str, Any] = {}

    @property
    def answer(self) -> Answer:
        """The answer to the request."""
        return Answer(self.status, {"error": self.body, "status": self.status})

    @property
    def body(self) -> dict[str, Any]:
        """The error, with its root."""
        return {"root_cause": [self.error] if self.rooted else [], **self.error, **self.cause}


def illegal(reason: str) -> ServerError:
    """An invalid argument."""
    return ServerError(400, "illegal_argument_exception", reason)


def no_manager() -> ServerError:
    """There is no elected manager, and there was none in time."""
    return ServerError(503, "cluster_manager_not_discovered_exception", None)


def no_index(name: str, kind: str = "index_or_alias") -> ServerError:
    """There is no such index; `kind` is empty where a server does not say that it looked for aliases too."""
    more = {"resource.id": name, "resource.type": kind} if kind else {}
    return ServerError(
        404, "index_not_found_exception", f"no such index [{name}]", index=name, **more, index_uuid="_na_"
    )


def blocked(blocks: dict[str, dict[str, Any]], what: str = "") -> ServerError:
    """A block of the cluster forbids it, or keeps it waiting."""
    passing = all(block["retryable"] for block in blocks.values())
    kind = "SERVICE_UNAVAILABLE" if passing else "FORBIDDEN"
    said = "".join(f"[{kind}/{number}/{block['description']}];" for number, block in blocks.items())
    reason = f"{what}blocked by: {said}"
    return ServerError(503 if passing else 403, "cluster_block_exception", reason)
