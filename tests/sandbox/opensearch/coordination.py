"""The members of the cluster, the elected one, and the voters.

A majority of both voting configurations elects, by what its members have accepted on their disks. Without a majority
no one is elected, and the members keep what they knew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection

from tests.sandbox.opensearch.admission import refusal_to_join, refusal_to_start
from tests.sandbox.opensearch.errors import illegal
from tests.sandbox.opensearch.known import MOST_EXCLUSIONS, SHRINK
from tests.sandbox.opensearch.model import Accepted, Member
from tests.sandbox.opensearch.state import NOT_FORMED, State
from tests.sandbox.opensearch.voting import NOBODY, Exclusion, has_majority, reconfigured


class Coordination:
    """Members come, go, and are elected. `left` is called with who is gone, `reroute` after a change of the state."""

    def __init__(
        self,
        state: State,
        left: Callable[[Collection[str]], None],
        reroute: Callable[[], None],
        recover: Callable[[], None],
    ) -> None:
        self._state = state
        self._left = left
        self._reroute = reroute
        self._recover = recover
        self._chance = random.Random(state.name)  # noqa: S311 - which of several is elected, as chance has it
        self.processes: list[Member] = []
        """Those that live and have booted, in the cluster or not."""

    def booted(self, member: Member) -> None:
        """A process has started, and looks for a cluster; or it ends because of what is on its disk."""
        if not member.alive:
            return
        member.said = refusal_to_start(self._state, member)
        if member.said:
            member.alive = False
            return
        member.disk.version = member.version
        member.seeking = True
        self.processes.append(member)
        self._state.clock.later(self._state.durations.no_manager, lambda: _open(member))
        self._seek(member)

    def _seek(self, member: Member) -> None:
        """Look for the elected manager, again and again; where there is none, an election may be possible now."""
        if not member.alive or not member.seeking:
            return
        state = self._state
        if state.manager is not None:
            state.clock.later(state.durations.join, lambda: self._join(member))
        else:
            self._call_election(state.durations.election)
        state.clock.later(state.durations.join + state.durations.retry, lambda: self._seek(member))

    def _join(self, member: Member) -> None:
        state = self._state
        if not member.alive or not member.seeking or state.manager is None:
            return
        member.said = refusal_to_join(state, member)
        if not member.said:
            self._admit([member])

    def _admit(self, members: Collection[Member]) -> None:
        state = self._state
        gone = [each.id for each in members if state.nodes.get(each.id, each) is not each]
        self._forget(gone)
        for member in members:
            member.seeking, member.in_memory = False, True
            state.nodes[member.id] = member
            state.recount()
            _open(member)
        state.changed()
        self._reroute()
        self._schedule_reconfiguration()

    def gone(self, member: Member) -> None:
        """A process has ended, or is about to: its connections are closed, which the others see at once."""
        state = self._state
        if member in self.processes:
            self.processes.remove(member)
        if state.nodes.get(member.id) is not member:
            return
        if state.elected == member.id:
            self._step_down(state.durations.election)
        elif state.manager is not None:
            state.clock.later(state.durations.removal, self._remove_the_dead)

    def _step_down(self, seconds: float) -> None:
        self._state.elected = None
        self._call_election(seconds)

    def _call_election(self, seconds: float) -> None:
        self._state.clock.later(seconds, self._elect)

    def _elect(self) -> None:
        """Elect one of those that no accepted state is ahead of, where a majority of both configurations votes."""
        state = self._state
        if state.manager is not None:
            return
        if state.uuid == NOT_FORMED:
            self._found()
            return
        voters = [member for member in self.processes if member.manages and member.disk.accepted]
        able = [member for member in voters if member.electable and self._may_lead(member, voters)]
        if not able:
            return
        last = max(_age(member) for member in able)
        able = [member for member in able if _age(member) == last]
        kept = [member for member in able if member.in_memory]
        ordered = sorted(kept or able, key=lambda member: member.name)
        votes = [member for member in ordered if member.id in state.committed]
        self._begin_to_lead(self._chance.choice(votes or ordered))

    def _may_lead(self, member: Member, voters: Collection[Member]) -> bool:
        """Whether a majority of its voters votes for a member, and accepts its first state.

        A voter that the new manager does not let in gives its vote and gets no state, so that manager steps down again
        and another one is elected.
        """
        own = _accepted(member)
        votes = member.id in own.committed or member.id in own.accepted
        if not votes and member.id in {each.id for each in self._state.exclusions}:
            return False
        # A fresh manager starts with an empty cluster, which all may join.
        let_in = [
            each for each in voters if not (member.in_memory and each.seeking and refusal_to_join(self._state, each))
        ]
        followers = {each.id for each in let_in if _age(each) <= _age(member)}
        return has_majority(own.committed, followers) and has_majority(own.accepted, followers)

    def _found(self) -> None:
        """The first election ever: more than half of those have to be there who are to found the cluster."""
        managers = [member for member in self.processes if member.manages]
        founders = {name for member in managers for name in member.spec.initial_managers}
        there = [member for member in managers if member.name in founders and member.disk.accepted is None]
        if not founders or 2 * len({member.name for member in there}) <= len(founders):
            return
        state = self._state
        missing = founders - {member.name for member in there}
        holders = {f"{{bootstrap-placeholder}}-{name}" for name in missing}
        state.committed = state.accepted = frozenset({*(member.id for member in there), *holders})
        state.uuid, state.recovered = state.names.make(), True
        able = [member for member in there if member.electable] or there
        self._begin_to_lead(self._chance.choice(sorted(able, key=lambda member: member.name)))

    def _begin_to_lead(self, leader: Member) -> None:
        """It is elected. Its voters are in the cluster with that; members that have died are removed then."""
        state = self._state
        state.elected = leader.id
        state.term += 1
        leader.applied = None
        fresh = not leader.in_memory
        if fresh and state.version:
            # The state is read from its disk: who was in the cluster, and which copies were where, is not kept there.
            others = [member for member in state.nodes.values() if member.alive and member is not leader]
            state.nodes.clear()
            state.recount()
            for member in others:
                member.seeking = True
                self._seek(member)
            state.recovered = False
        voters = [member for member in self.processes if member.seeking and member.manages]
        joining = [member for member in voters if member is leader or not refusal_to_join(state, member)]
        self._admit([leader, *(member for member in joining if member is not leader)])
        if state.recovered:
            state.clock.later(state.durations.removal, self._remove_the_dead)
        else:
            self._recover()
            state.clock.later(state.durations.recovered, self._recovered)

    def _recovered(self) -> None:
        state = self._state
        if state.manager is None:
            return
        state.settings.archive(state.managing_version)
        state.recovered = True
        state.changed()
        self._reroute()

    def _remove_the_dead(self) -> None:
        """The elected manager takes those from the state that it has no connection to; that needs a majority."""
        state = self._state
        dead = [each.id for each in state.nodes.values() if not each.alive]
        if state.manager is None:
            return
        if not self._has_majority():
            self._step_down(state.durations.election)
            return
        if dead:
            self._forget(dead)
            state.changed()
            self._reroute()
            self._schedule_reconfiguration()

    def _forget(self, gone: Collection[str]) -> None:
        if gone:
            self._left(gone)
            for each in gone:
                del self._state.nodes[each]
            self._state.recount()

    def _has_majority(self) -> bool:
        state = self._state
        there = [member.id for member in state.nodes.values() if member.alive and member.manages]
        return has_majority(state.committed, there) and has_majority(state.accepted, there)

    def _schedule_reconfiguration(self) -> None:
        self._state.clock.later(self._state.durations.reconfiguration, self._reconfigure)

    def _reconfigure(self) -> None:
        """Set the voting configuration that is wanted; an elected manager without a vote abdicates."""
        state = self._state
        leader = state.manager
        if leader is None or not leader.alive or not self._has_majority():
            return
        live = [member.id for member in state.nodes.values() if member.alive and member.manages]
        retired = {each.id for each in state.exclusions}
        shrink = str(state.setting(SHRINK)).lower() == "true"
        wanted = reconfigured(live, retired, leader.id, state.committed, shrink=shrink)
        if wanted != state.committed:
            state.committed = state.accepted = wanted
            state.changed()
            self._schedule_reconfiguration()
        if leader.id not in state.committed and state.committed & set(live):
            self._step_down(state.durations.abdication)

    def exclude(self, exclusions: Collection[Exclusion]) -> None:
        """Take the vote from members.

        Raises:
            ServerError: they would be too many.
        """
        state = self._state
        fresh = [each for each in exclusions if each not in state.exclusions]
        most = int(state.setting(MOST_EXCLUSIONS))
        if len(state.exclusions) + len(fresh) > most:
            raise illegal(
                f"add voting config exclusions request would add [{len(fresh)}] exclusions to the existing"
                f" [{len(state.exclusions)}] which would exceed the maximum of [{most}] set by [{MOST_EXCLUSIONS}]"
            )
        if fresh:
            state.exclusions += fresh
            state.changed()
        self._schedule_reconfiguration()

    def resolve(self, names: Collection[str], ids: Collection[str]) -> list[Exclusion]:
        """The members of these names or ids; whoever is not there may come, and is excluded all the same."""
        nodes = self._state.nodes.values()
        found = []
        for name in names:
            there = [node for node in nodes if node.name == name and node.manages]
            found += [Exclusion(node.id, node.name) for node in there] or [Exclusion(NOBODY, name)]
        for each in ids:
            there = [node for node in nodes if node.id == each and node.manages]
            found += [Exclusion(node.id, node.name) for node in there] or [Exclusion(each, NOBODY)]
        return found

    def is_in_effect(self, exclusions: Collection[Exclusion]) -> bool:
        """Whether none of them votes any more, and another one is elected."""
        ids = {each.id for each in exclusions}
        return self._state.manager is not None and not ids & (self._state.committed | self._state.accepted)

    def include(self) -> None:
        """All may vote again."""
        self._state.exclusions.clear()
        self._state.changed()
        self._schedule_reconfiguration()


def _open(member: Member) -> None:
    """It answers requests, once it is in a cluster or has waited for long enough."""
    member.rest = member.alive


def _accepted(member: Member) -> Accepted:
    assert member.disk.accepted is not None
    return member.disk.accepted


def _age(member: Member) -> tuple[int, int]:
    """Term and version of what it has accepted: it votes for no member that is behind this."""
    return _accepted(member).term, _accepted(member).version
