# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quorum: whether the members that stay can elect, and the elected manager may go. Pure, over one cluster state."""

from __future__ import annotations

from collections.abc import Iterator

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.state import ClusterMember, ClusterState
from .policy import Policy


@as_verdict
def judge_voting(
    state: ClusterState, down: frozenset[str], policy: Policy, ours: frozenset[str] = frozenset()
) -> Iterator[Reason]:
    """Whether more than half of the committed and of the accepted configuration stays, and exclusions are empty.

    `ours` are voting exclusions that an interrupted run left; they are lifted before any batch goes.
    Source: CoordinationState.isElectionQuorum: a majority of both configurations.
    """
    if not state.voting.exclusions <= ours:
        yield refused(
            "voting_exclusions",
            f"Voting configuration exclusions are left behind: {', '.join(sorted(state.voting.exclusions))}.",
            "Remove them with DELETE _cluster/voting_config_exclusions?wait_for_removal=false.",
        )
    yield from judge_majorities(state, down, policy).reasons


@as_verdict
def judge_majorities(state: ClusterState, down: frozenset[str], policy: Policy) -> Iterator[Reason]:
    """Whether more than half of both configurations stays, or the only voter hands over before it goes."""
    committed, accepted = state.voting.committed, state.voting.accepted
    both = [("", committed)] if committed == accepted else [("committed ", committed), ("accepted ", accepted)]
    for name, configuration in both:
        staying = len((configuration & state.members.keys()) - down)
        lost = configuration & down
        if not lost or 2 * staying > len(configuration):
            continue
        heirs = successors(state, down) if policy.hands_over else frozenset()
        if heirs:
            yield _only_voter(state, heirs)
            continue
        names = enumerate_few(state.members[each].name for each in lost)
        message = (
            f"Without {names} only {staying} of the {len(configuration)} members of the {name}voting configuration are"
            " left, which is no majority."
        )
        if 2 * len(configuration - down) > len(configuration):
            yield waiting("no_majority", message, "Bring the missing manager-eligible members back.")
        elif policy.allow_quorum_loss:
            yield remark("no_majority", f"{message} The cluster stands still for that time, as allowed.")
        else:
            yield refused(
                "no_majority",
                message,
                "Run three manager-eligible members, or accept the standstill with allow_quorum_loss.",
            )


def _only_voter(state: ClusterState, heirs: frozenset[str]) -> Reason:
    elected = state.members[state.elected or ""].name
    return remark(
        "only_voter_hands_over",
        f"Only {elected} votes now. Before it goes down, it hands over to {_one_of(state, heirs)}, which then votes"
        " in its place.",
    )


def _one_of(state: ClusterState, heirs: frozenset[str]) -> str:
    names = enumerate_few(state.members[identity].name for identity in heirs)
    return f"one of {names}" if len(heirs) > 1 else names


def votes_alone(state: ClusterState) -> bool:
    """Whether the elected manager is the only voter, as it is if only one or two members can be elected.

    Source: the servers let an odd number vote, of two the elected one (Reconfigurator.reconfigure). If they must not
    take votes away (`cluster.auto_shrink_voting_configuration: false`), both may vote, which the user has chosen.
    """
    return state.voting.committed == state.voting.accepted == {state.elected}


def successors(state: ClusterState, down: frozenset[str]) -> frozenset[str]:
    """The members that could be elected before the members in `down` go, if the elected manager is one of them.

    It is empty if the elected manager cannot hand over. A majority of both configurations has to be there without the
    batch; if the elected manager votes alone, any other electable member takes over its vote with its office for good.
    Source: a member that is excluded leaves the configuration, and an elected one that is in none abdicates to one
    that is not excluded (Reconfigurator.reconfigure, Coordinator.nodeMayWinElection and abdicateTo). When the exclusion
    ends, of two again one votes, and that is the elected one, so that the other is free to go.
    """
    if state.elected not in down or state.elected not in state.members or state.voting.exclusions:
        return frozenset()
    staying = frozenset(state.members) - down
    if votes_alone(state):
        return frozenset(identity for identity in staying if state.members[identity].electable)
    if not _elects(state, staying):
        return frozenset()
    return frozenset(identity for identity in state.voting.committed & staying if state.members[identity].electable)


def _elects(state: ClusterState, staying: frozenset[str]) -> bool:
    """Whether these members are a majority of both configurations."""
    configurations = (state.voting.committed, state.voting.accepted)
    return all(2 * len(configuration & staying) > len(configuration) for configuration in configurations)


@as_verdict
def judge_elected(state: ClusterState, down: frozenset[str], policy: Policy) -> Iterator[Reason]:
    """Whether there is an elected manager, and it goes alone or hands over first."""
    elected = state.members.get(state.elected or "")
    if elected is None:
        yield waiting(
            "no_elected_manager",
            "The cluster has no elected manager.",
            "An election ends within seconds; if it does not, look at the manager-eligible members' logs.",
        )
    elif elected.id in down and len(down) > 1:
        yield _sharing(state, elected, down, hands_over=policy.hands_over and not state.voting.exclusions)


def _sharing(state: ClusterState, elected: ClusterMember, down: frozenset[str], *, hands_over: bool) -> Reason:
    """The reason for an elected manager that shares its batch."""
    message = f"{elected.name} is the elected manager and shares a batch with others"
    others = successors(state, down)
    if hands_over and others:
        heir = _one_of(state, others)
        return remark("elected_manager_hands_over", f"{message}, so it hands over to {heir} first.")
    voters = state.voting.committed | state.voting.accepted
    if hands_over and _elects(state, voters - down):
        return waiting(
            "elected_manager_not_alone",
            f"{message}, and without them there is no majority now that could elect another one.",
            "Bring the missing manager-eligible members back.",
        )
    return refused(
        "elected_manager_not_alone",
        f"{message}{', and there is no other one to hand over to' if hands_over else ''}.",
        f"Run again{'' if hands_over else ' with hand_over=false'}: the new plan takes it alone and last.",
    )
