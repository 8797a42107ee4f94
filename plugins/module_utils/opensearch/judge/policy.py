"""The premises of a proof: the consents of the user, and the acts that come before a batch goes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..observe.state import ClusterState
from .index_names import IndexNames, index_names

OF_INDICES = ("allow_single_copy", "allow_red_indices")
"""The consents that are given for indices."""


@dataclass(frozen=True)
class Policy:
    """The consents of the user, and the acts that come before a batch goes."""

    allow_single_copy: Container[str] = IndexNames()
    """The indices whose only copy may be away."""
    allow_quorum_loss: bool = False
    hands_over: bool = False
    """Whether the elected manager hands over first if it can."""
    allow_red_indices: Container[str] = IndexNames()
    """The indices whose shards may be missing."""
    awaits_data: bool = False
    """Whether a member that may hold data is away, and is waited for before any batch goes."""
    awaits_manager: bool = False
    """Whether a member that can be elected is away, and is brought back before any batch goes."""

    def without_consent(self) -> Policy:
        """The same policy without the consents of the user."""
        return Policy(hands_over=self.hands_over, awaits_data=self.awaits_data, awaits_manager=self.awaits_manager)


def policy_of(params: Mapping[str, Any], *, hands_over: bool = False) -> Policy:
    """The policy from the arguments in `CONSENT`.

    Raises:
        Refusal: a list of indices cannot be understood.
    """
    single, red = (index_names(params[option], option) for option in OF_INDICES)
    return Policy(single, params["allow_quorum_loss"], hands_over, red)


def awaiting(policy: Policy, state: ClusterState, members: Collection[str], batch: Collection[str]) -> Policy:
    """The policy for a batch, while some of `members` outside it may be away. Each may hold data or be electable."""
    present = {member.name for member in state.members.values()}
    away = not set(members) <= present | set(batch)
    return replace(policy, awaits_data=away, awaits_manager=away)
