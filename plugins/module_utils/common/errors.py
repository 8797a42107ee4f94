# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exception of the collection: a refusal that a person can act on, and its kinds that code can act on."""

from __future__ import annotations

from dataclasses import replace

from .verdict import Reason, State, Verdict, refused

HANDSHAKE_BROKEN_OFF = "EOF occurred in violation of protocol"
"""What Python's ssl says where a server, or what stands before it, ends in the middle of TLS: it may pass."""


class Refusal(Exception):
    """Work stops here. Carries the reasons; never a traceback for the user."""

    def __init__(self, *reasons: Reason) -> None:
        super().__init__(" ".join(reason.sentence() for reason in reasons))
        self.verdict = Verdict(reasons)


class Unreachable(Refusal):
    """An API gave no answer, or none it stands by (429, 5xx). It may pass, so whoever waits asks again."""

    def as_waiting(self) -> Verdict:
        """The same reasons, as something that time may cure."""
        return Verdict(tuple(replace(reason, state=State.WAITING) for reason in self.verdict.reasons))


class NotUnderstood(Unreachable):
    """An API gave an answer that is none: it cannot be read, or contradicts itself. It may pass, as an outage may."""


class Denied(Refusal):
    """The user lacks a right. Where it had that right before, it may pass: a server that has just started answers so
    until it knows the roles (seen on kube-apiserver 1.36 for some seconds)."""


class Conflict(Refusal):
    """The thing changed since it was observed, so the guarded act was not made. Observe again."""


def refusal(code: str, message: str, remedy: str) -> Refusal:
    """A `Refusal` with a single reason."""
    return Refusal(refused(code, message, remedy))
