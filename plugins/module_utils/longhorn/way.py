# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways in which a node's engine can be switched, and the one that the API server offers.

A way is data and functions. It is chosen by the kinds that discovery tells, never by a version. A further way is one
more entry of `WAYS`, the newest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..common.errors import refusal
from ..common.reading import listed, text
from ..common.verdict import Reason
from ..kubernetes.answers import reading
from ..kubernetes.client import KubernetesClient
from .act.changes import At, perform
from .judge.stages import Act, Step, Wanted, step
from .observe.kinds import API, FRONTENDS, INSTANCE_MANAGERS, VOLUMES
from .observe.state import Longhorn


@dataclass(frozen=True)
class Way:
    """One way to switch the engine of a node."""

    name: str
    """Its name in results."""
    kinds: frozenset[str]
    """The resources that the API server has to offer for it."""
    step: Callable[[Longhorn, Wanted], Step]
    """The state of the node, and the acts that are due in it, from one look alone. It is pure."""
    perform: Callable[[At, Iterable[Act]], list[Reason]]
    """Makes the acts that are due. The result has a waiting reason for each that was refused for now."""


OUTSIDE = Way("outside", frozenset({VOLUMES, INSTANCE_MANAGERS, FRONTENDS}), step, perform)
"""From outside, with the fields of 1.12: this collection carries out the state machine itself."""

WAYS = (OUTSIDE,)


def offered_way(client: KubernetesClient, ways: Iterable[Way] = WAYS) -> Way:
    """The first way of which the API server offers all kinds.

    Raises:
        Refusal: it offers the kinds of none, or discovery cannot be had.
    """
    answer = client.get(API) or {}
    with reading(f"to {API}"):
        offered = set(listed(answer, "resources", lambda each: text(each, "name"), ()))
    found = next((way for way in ways if way.kinds <= offered), None)
    if found is None:
        raise refusal(
            "way_missing",
            f"The API server has none of the kinds that a switch needs: {FRONTENDS} of the group longhorn.io, say.",
            "Longhorn 1.12 is the first version whose engines can be switched; upgrade Longhorn first.",
        )
    return found
