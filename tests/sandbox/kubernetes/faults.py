"""Failures on demand: answers with errors, and connections that end."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.sandbox.kubernetes.objects import Refused
from tests.sandbox.web import Answer, CutOff, Pending, Request

_REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
_MESSAGES = {
    409: "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version "
    "and try again",
    410: "The provided continue parameter is too old to display a consistent list result.",
    429: "Too many requests, please try again later.",
    500: "Internal error occurred: etcdserver: request timed out",
    503: "apiserver is shutting down",
}


@dataclass
class Fault:
    """A fault of the next requests whose method and path match."""

    method: str
    path: str
    """A regular expression that some part of the path matches."""
    times: int
    status: int = 0
    """Answered instead of doing it; 0: the connection is cut."""
    made: bool = False
    """Whether it is done all the same, and only its answer lost."""
    retry_after: int | None = None


@dataclass
class Faults:
    """The failures that are to come, in the order of asking; each ends when its requests have been made."""

    coming: list[Fault] = field(default_factory=list)
    away: bool = False
    """Whether no request is answered at all."""

    def answer(self, status: int, method: str, path: str, times: int = 1, retry_after: int | None = None) -> None:
        """Answer so many requests with a status, and do nothing else."""
        self.coming.append(Fault(method, path, times, status, retry_after=retry_after))

    def cut(self, method: str, path: str, times: int = 1, *, made: bool) -> None:
        """Cut the connections of so many requests, before (`made=False`) or after they are done."""
        self.coming.append(Fault(method, path, times, made=made))

    def around(self, request: Request, handle: Callable[[Request], Answer | Pending]) -> Answer | Pending:
        """The answer to a request, spoiled by the first fault that fits it. Raises CutOff."""
        if self.away:
            raise CutOff(made=False)
        fault = next((each for each in self.coming if _fits(each, request)), None)
        if fault is None:
            return handle(request)
        fault.times -= 1
        if not fault.times:
            self.coming.remove(fault)
        if fault.made:
            handle(request)
        if not fault.status:
            raise CutOff(fault.made)
        headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        details = {} if fault.retry_after is None else {"retryAfterSeconds": fault.retry_after}
        message = _MESSAGES.get(fault.status, "failed on demand")
        refused = Refused(fault.status, _REASONS.get(fault.status, "Unknown"), message, details)
        return Answer(fault.status, refused.body(), headers)


def _fits(fault: Fault, request: Request) -> bool:
    return fault.method in {"*", request.method} and re.search(fault.path, request.path) is not None
