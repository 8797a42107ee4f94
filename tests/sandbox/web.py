"""Requests and answers of the servers in memory, whether they come over a socket or as a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.sandbox.clock import Clock

STEP = 0.05
"""Seconds between two looks at what an answer waits for."""


@dataclass(frozen=True)
class Request:
    """One request. The path has no query; `body` is JSON that was read, or None."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeated: Sequence[tuple[str, str]] = ()
    """The whole query, in which a name may occur several times."""
    secure: bool = False
    """Whether it comes over TLS."""


@dataclass(frozen=True)
class Answer:
    """One answer. `body` is what JSON is made of; a text is sent as it is, and None is no body."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The body as it is sent."""
        return self.body if isinstance(self.body, str) else "" if self.body is None else json.dumps(self.body)


@dataclass(frozen=True)
class Messages(Answer):
    """A websocket that sends these messages and is closed. Its status is 101."""

    protocols: Sequence[str] = ()
    messages: Sequence[bytes] = ()


@dataclass(frozen=True)
class Passed(Answer):
    """A websocket that is passed on to another server, at this URL. Its status is 101."""

    url: str = ""


@dataclass(frozen=True)
class Pending:
    """An answer that is given as soon as something is so, and at the latest after so many seconds."""

    ready: Callable[[], bool]
    seconds: float
    answer: Callable[[], Answer]


class CutOff(Exception):
    """The connection ends without an answer. `made`: what was asked for has been done all the same."""

    def __init__(self, made: bool) -> None:
        super().__init__("the connection was cut")
        self.made = made


class OtherScheme(Exception):
    """The server speaks TLS and the request does not, or the other way round: nothing was taken."""


Handler = Callable[[Request], Answer | Pending]
"""A function that answers requests. It may raise `CutOff`."""


def answered(handler: Handler, request: Request, clock: Clock) -> Answer:
    """The answer to a call: time passes on the clock as long as the answer is pending."""
    answer = handler(request)
    if isinstance(answer, Answer):
        return answer
    end = clock.now() + answer.seconds
    while not answer.ready() and clock.now() < end:
        clock.advance(min(STEP, end - clock.now()))
    return answer.answer()
