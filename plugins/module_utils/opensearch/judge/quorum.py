"""The quorum: whether the members that stay can elect, and the elected manager may go. Pure, over one cluster state.

A majority of the voters has to stay, and one member that can be elected: a voter of Elasticsearch with the role
`voting_only` votes and is never elected (Elasticsearch reference, Voting-only master-eligible node; server source,
VotingOnlyNodePlugin: with the votes of such members alone no election is won).
"""

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
    """Whether the members that stay can elect (`judge_majorities`), and exclusions are empty.

    `ours` are voting exclusions that an interrupted run left; they are lifted before any batch goes.
    """
    if not state.voting.exclusions <= ours:
        yield refused(
            "voting_exclusions",
            f"Voting configuration exclusions are left behind: {', '.join(sorted(state.voting.exclusions))}.",
            "Remove them with DELETE _cluster/voting_config_exclusions?wait_for_removal=false.",
        )
    yield from judge_majorities(state, down, policy).reasons


@as_verdict
def judge_majorities(
    state: ClusterState, down: frozenset[str], policy: Policy, *, more_come: bool | None = None
) -> Iterator[Reason]:
    """Whether more than half of both configurations stays with a member that can be elected, or the only voter hands
    over before it goes.

    `more_come` says whether a member that can be elected is away and comes back before these go; None that this is not
    known, so that it may be any voter that is away.
    Source: CoordinationState.isElectionQuorum: a majority of both configurations.
    """
    majority = True
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
        majority = False
        names = enumerate_few(state.members[each].name for each in lost)
        message = (
            f"Without {names} only {staying} of the {len(configuration)} members of the {name}voting configuration are"
            " left, which is no majority."
        )
        # The servers take the vote of a member that is away if only one other is left; it votes again once it is back.
        heir_comes = policy.awaits_manager and policy.hands_over and votes_alone(state)
        if heir_comes or 2 * len(configuration - down) > len(configuration):
            yield waiting("no_majority", message, "Bring the missing manager-eligible members back.")
        elif policy.allow_quorum_loss:
            yield remark("no_majority", f"{message} The cluster stands still for that time, as allowed.")
        else:
            yield refused(
                "no_majority",
                message,
                "Run three manager-eligible members, or accept the standstill with allow_quorum_loss.",
            )
    if majority and can_be_elected(state) and can_be_elected(state) <= down:
        yield _none_electable(state, down, policy, more_come)


def can_be_elected(state: ClusterState) -> frozenset[str]:
    """The members in the cluster that can be elected."""
    return frozenset(member.id for member in state.members.values() if member.electable)


def _none_electable(state: ClusterState, down: frozenset[str], policy: Policy, more_come: bool | None) -> Reason:
    """The reason if a majority is left, but none of it can be elected."""
    voters = state.voting.committed | state.voting.accepted
    names = enumerate_few(state.members[each].name for each in can_be_elected(state) & down)
    left = enumerate_few(state.members[each].name for each in (voters & state.members.keys()) - down)
    message = f"Without {names} no member is left that can be elected; only members that just vote are ({left})."
    if bool(voters - state.members.keys()) if more_come is None else more_come:
        return waiting("no_electable_manager", message, "Bring the missing manager-eligible members back.")
    if policy.allow_quorum_loss:
        return remark("no_electable_manager", f"{message} The cluster stands still for that time, as allowed.")
    return refused(
        "no_electable_manager",
        message,
        "Run a second manager-eligible member without the role voting_only, or accept the standstill with"
        " allow_quorum_loss.",
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
    batch, and of its members one that can be elected, or another one that can and has no vote only because an even
    number of members could vote. If the elected manager votes alone, any other one takes over its vote for good.
    Source: a member that is excluded leaves the configuration, and an elected one that is in none abdicates to one
    that is not excluded (Reconfigurator.reconfigure, Coordinator.nodeMayWinElection and abdicateTo). When the exclusion
    ends, of two again one votes, and that is the elected one, so that the other is free to go.
    """
    if state.elected not in down or state.elected not in state.members or state.voting.exclusions:
        return frozenset()
    staying = frozenset(state.members) - down
    electable = can_be_elected(state) & staying
    if votes_alone(state):
        return electable
    return (electable & state.voting.committed or electable) if _elects(state, staying) else frozenset()


def _elects(state: ClusterState, staying: frozenset[str]) -> bool:
    """Whether these members are a majority of both configurations, and one of them may be elected.

    A member that is away does not report its roles.
    """
    configurations = (state.voting.committed, state.voting.accepted)
    majority = all(2 * len(configuration & staying) > len(configuration) for configuration in configurations)
    return majority and bool(staying - (state.members.keys() - can_be_elected(state)))


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
    if hands_over and _elects(state, (voters | can_be_elected(state)) - down):
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
