"""The exception of the collection: a refusal that a person can act on, and its kinds that code can act on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from .verdict import Reason, State, Verdict, refused

HANDSHAKE_BROKEN_OFF = "EOF occurred in violation of protocol"
"""The text of Python's ssl when a server, or a proxy before it, closes the connection during the TLS handshake: it
may pass."""


Kind = TypeVar("Kind", bound="Refusal")
Given = TypeVar("Given")
Found = TypeVar("Found")


class Refusal(Exception):
    """The work stops here. It carries the reasons; the user never sees a traceback."""

    def __init__(self, *reasons: Reason) -> None:
        super().__init__(" ".join(reason.sentence() for reason in reasons))
        self.verdict = Verdict(reasons)

    @classmethod
    def because(cls: type[Kind], code: str, message: str, remedy: str) -> Kind:
        """A refusal of this kind with a single reason."""
        return cls(refused(code, message, remedy))


class Unreachable(Refusal):
    """An API gave no answer, or one that says to come back later (429, 5xx). This may pass, so a wait asks again."""

    def as_waiting(self) -> Verdict:
        """The same reasons, as something that time may fix."""
        return Verdict(tuple(replace(reason, state=State.WAITING) for reason in self.verdict.reasons))


class NoConnection(Unreachable):
    """No connection could be made: nothing listens there, or the name of the host is unknown. The cause may be a server
    that restarts, or a wrong address."""


class NotUnderstood(Unreachable):
    """An API gave an answer that cannot be read, or that contradicts itself. This may pass, as an outage may."""


class NotTheServer(NotUnderstood, NoConnection):
    """The answer of another kind of server, such as a web page. The address may be wrong, or a proxy may be in front of
    a server that restarts."""


class Denied(Refusal):
    """The user lacks a right. If the user had that right before, this may pass: a server that has just started denies
    it until it knows the roles (seen on kube-apiserver 1.36 for some seconds)."""


class NotServed(Refusal):
    """The server does not know this request. This does not pass: the plugin that would serve it is missing."""


class Conflict(Refusal):
    """The object has changed since it was observed, so the guarded act was not made. Observe again."""


refusal = Refusal.because


def causes(error: BaseException) -> list[BaseException]:
    """The error and the errors that it wraps, the innermost last."""
    found = [error]
    for _depth in range(10):
        following = getattr(found[-1], "reason", None)
        following = following if isinstance(following, BaseException) else found[-1].__cause__
        if following is None or following is found[-1]:
            break
        found.append(following)
    return found


def root_cause(error: BaseException) -> str:
    """The innermost cause, without the addresses of Python objects that urllib3 puts into its messages."""
    inner = causes(error)[-1]
    text = str(getattr(inner, "strerror", None) or inner)
    return text.rsplit(">: ", 1)[-1].strip().rstrip(".") or type(inner).__name__


def each_read(
    given: Iterable[Given], read: Callable[[Given], Found], fault: Callable[[Given, ValueError], Reason]
) -> list[Found]:
    """The entries of an option, each as `read` gives it; `fault` makes the reason if `read` raises ValueError.

    Raises:
        Refusal: some of them cannot be read; it has a reason for each.
    """
    found, faults = list[Found](), list[Reason]()
    for each in given:
        try:
            found.append(read(each))
        except ValueError as error:
            faults.append(fault(each, error))
    if faults:
        raise Refusal(*faults)
    return found
