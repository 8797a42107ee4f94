# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a proof takes for granted: the consents of the user, and what is done before a batch goes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..observe.state import ClusterState


@dataclass(frozen=True)
class Policy:
    """What the user consented to by name, and what whoever takes the batch down does before."""

    allow_single_copy: bool = False
    allow_quorum_loss: bool = False
    hands_over: bool = False
    """Whether the elected manager hands over first, where it can."""
    allow_red_indices: frozenset[str] = frozenset()
    """The indices of which shards may be missing."""
    awaits_data: bool = False
    """Whether a member that may hold data is away, and is waited for before anything goes."""
    awaits_manager: bool = False
    """Whether a member that can be elected is away, and is cured before anything goes."""

    def without_consent(self) -> Policy:
        """What is done before a batch goes, and nothing that the user consented to."""
        return Policy(hands_over=self.hands_over, awaits_data=self.awaits_data, awaits_manager=self.awaits_manager)


def policy_of(params: Mapping[str, Any], *, hands_over: bool = False) -> Policy:
    """The policy from the arguments in `CONSENT`."""
    red = frozenset(params["allow_red_indices"])
    return Policy(params["allow_single_copy"], params["allow_quorum_loss"], hands_over, red)


def awaiting(policy: Policy, state: ClusterState, members: Collection[str], batch: Collection[str]) -> Policy:
    """The policy for a batch, while some of `members` outside it may be away."""
    present = {member.name for member in state.members.values()}
    return replace(policy, awaits_data=not set(members) <= present | set(batch))
