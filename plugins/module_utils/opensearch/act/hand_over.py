"""The elected manager hands over before its batch goes down, so that the cluster waits for no election then.

The members of the batch are excluded from voting until another one is elected, and vote again at once; the undo of that
is written first. The room `judge` says whether it may hand over; the proof, made again, sees that it has.

Of two members that can be elected only the elected one votes. There its vote goes to the next elected one, and does not
come back when the exclusion ends (server source, Reconfigurator: of an even number one does not vote, and that is never
the elected one).

When an elected manager dies, the others must first notice that and then elect one of them, while shards
fail over. All manager-eligible members of the batch are excluded, since the server chooses the successor at
random. Of three managers a single one votes during that time, so it is kept short: two requests and the election.

If none takes over in time, an elected manager that is alone in its batch goes as it is. If it shares the batch, the
proof does not hold: allocation is put back, and the batch starts again without a hand-over, so that the others go
first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

from ...common.errors import Refusal, refusal
from ...common.task import Task
from ...common.verdict import Reason, Verdict, remark, waiting
from ...common.waiting import Patience
from ...common.words import enumerate_few
from ...run.lock.lock_watch import writer_of
from ...run.undo.undo import Undo
from ..judge.changes import settings_body
from ..judge.policy import Policy
from ..judge.quorum import judge_majorities, successors, votes_alone
from ..observe.client import OpenSearchClient
from ..observe.cluster import observe_elected, observe_voting, read_settings
from ..observe.settings import UNDO, carried_undo, excluded_by, with_excluded
from ..observe.state import ClusterState, Voting
from .settings_change import undo_left
from .voting import exclude, prove_take_back, refused_by_server, take_back

EFFECT = 10.0
"""Seconds for which the server waits until an exclusion takes effect; then it answers that it has not."""
PATIENCE = 30.0
"""Seconds in which another member has to be elected, and a request answered."""
PAUSE = 0.05
"""Seconds between two looks during that time."""

Seen = TypeVar("Seen")


class HandOver:
    """The hand-over before one batch. It is tried at most once in a task, if the policy says so."""

    def __init__(self, task: Task, client: OpenSearchClient, batch: Collection[str], policy: Policy) -> None:
        self._task = task
        self._client = client
        self._batch = batch
        self._policy = policy
        self._seen: ClusterState | None = None
        self._tried = False
        self._voters = 0
        self._freed: frozenset[str] = frozenset()
        self._why = ""
        self._is_kept = False
        """Whether the undo names more than these exclusions, so that it stays when they end."""

    def judge(self, state: ClusterState, gone: Collection[str] = ()) -> Verdict:
        """Whether a hand-over that was tried is complete on fresh state: another is elected, and as many vote again.

        If no member took over, an elected manager that is alone goes as it is, if there is a majority without it or the
        user has consented. Once some of the batch are `gone`, fewer vote.
        """
        self._seen = state
        down = state.ids(self._batch)
        if not self._tried:
            return Verdict()
        reasons: list[Reason] = []
        elected = state.members.get(state.elected or "")
        if elected is not None and elected.id in down:
            message = f"{elected.name} has not handed over: {self._why or 'it was elected again.'}"
            stands = judge_majorities(state, down, replace(self._policy, hands_over=False))
            if not stands.passed:
                reasons += [replace(reason, message=f"{message} {reason.message}") for reason in stands.reasons]
            elif len(down) == 1:
                reasons.append(remark("elected_manager_stays", f"{message} It goes down as the elected manager."))
            else:
                reasons.append(waiting("hand_over_unfinished", message, "Look at the manager-eligible members' logs."))
        if not gone and not self._is_whole(state.voting):
            reasons.append(self._incomplete(state.voting))
        return Verdict(tuple(reasons))

    def is_ahead(self, state: ClusterState) -> bool:
        """Whether the hand-over can be made and has not been tried, so that it comes before this batch goes."""
        return self._policy.hands_over and not self._tried and bool(successors(state, state.ids(self._batch)))

    def make(self, going: Collection[str]) -> bool:
        """Let the elected manager hand over if it is one of those going. The result says whether anything was done.

        Raises:
            Refusal: the exclusion could not be taken back; then the undo is still in the cluster.
        """
        state = self._seen
        if not self._policy.hands_over or state is None or self._tried or state.elected not in state.ids(going):
            return False
        down = state.ids(self._batch)
        if not successors(state, down):
            return False
        voting = len(state.voting.committed & state.members.keys())
        self._tried, self._voters = True, voting - (voting % 2 == 0)
        names = tuple(sorted(state.members[each].name for each in down if state.members[each].manager_eligible))
        # The server is first asked to remove exclusions while there are none: it may not let this user do so.
        unable = self._ask(lambda: refused_by_server(lambda: prove_take_back(self._task, self._client), lost=False))
        failed = unable or self._note(names, state) or self._change(names, state, down)
        if failed is not None:
            self._why = failed.verdict.reasons[0].message
        if self._why:
            self._task.progress(f"No hand-over: {self._why}")
        return True

    def _note(self, names: tuple[str, ...], state: ClusterState) -> Refusal | None:
        """Write the undo before anything is changed. The result is the refusal if it was not written."""
        undo = carried_undo(self._ask(lambda: read_settings(self._client)))
        if undo is None:
            undo = Undo(writer_of(self._task), more={"cluster": state.uuid})
        if (undo.writer.run, undo.more["cluster"]) != (self._task.run, state.uuid):
            return undo_left(undo)
        self._is_kept = bool(undo.changes or undo.foreign)
        return self._write(with_excluded(undo, sorted({*excluded_by(undo), *names})))

    def _change(self, names: tuple[str, ...], state: ClusterState, down: frozenset[str]) -> Refusal | None:
        """Exclude, wait until another one is elected, and take the exclusion back at once, whatever the result is.

        The result is the refusal of the server, if any.
        """
        before = state.members[state.elected or ""].name
        self._ask(self._task.still_wanted)
        failed = refused_by_server(lambda: exclude(self._task, self._client, names, EFFECT))
        settled = failed is not None or self._has_elected(before, state, down)
        others = self._ask(lambda: take_back(self._task, self._client, observe_voting(self._client), names))
        if others:
            raise refusal(
                "voting_exclusions",
                f"Something else has excluded {enumerate_few(others)} from voting just now.",
                "Remove the exclusions with DELETE _cluster/voting_config_exclusions?wait_for_removal=false.",
            )
        if settled:
            self._forget()
        # Otherwise a request whose answer was lost may still be under way: putting the batch back looks once more.
        self._await(lambda: observe_voting(self._client), self._judge_whole, hands_back=True)
        return failed

    def _has_elected(self, before: str, state: ClusterState, down: frozenset[str]) -> bool:
        """Whether a member outside the batch is elected in time."""

        def judge(elected: str | None) -> Verdict:
            if elected is not None and elected not in down:
                return Verdict()
            message = f"{before} hands over: no other member is elected yet."
            return Verdict((waiting("hand_over_unfinished", message, "It takes less than a second."),))

        elected = self._await(lambda: observe_elected(self._client, state), judge, hands_back=True)
        if elected is None or not judge(elected).passed:
            self._why = f"no other member was elected within {PATIENCE:.0f} s."
            return False
        after = state.members[elected].name if elected in state.members else elected
        self._freed = down if votes_alone(state) else frozenset()
        self._task.journal.did("handed_over", before, to=after)
        self._task.progress(f"{before} has handed over to {after}")
        return True

    def _forget(self) -> None:
        """Drop the undo if it holds nothing else; otherwise the names go with the undo of the batch."""
        if self._is_kept:
            return
        undo = carried_undo(self._ask(lambda: read_settings(self._client)))
        if undo is not None and excluded_by(undo) and not (undo.changes or undo.foreign):
            self._write(None)

    def _write(self, undo: Undo | None) -> Refusal | None:
        """Write the undo, or drop it. The result is the refusal of the server, if any."""
        excluded = list(excluded_by(undo))

        def put() -> None:
            self._task.still_wanted()
            with self._task.journal.doing(("noted", UNDO, {"voting_exclusions": excluded})):
                self._client.put("/_cluster/settings", settings_body((), undo, back=False))

        return self._ask(lambda: refused_by_server(put, lost=False))

    def _await(self, look: Callable[[], Seen], judge: Callable[[Seen], Verdict], *, hands_back: bool = False) -> Seen:
        """Wait even in one pass, and even if the run is asked to stop, so that no member stays excluded too long."""
        return self._task.wait_apart(look, judge, Patience(PATIENCE, PAUSE, hands_back=hands_back))[0]

    def _ask(self, question: Callable[[], Seen]) -> Seen:
        return self._await(question, lambda _answer: Verdict())

    def _is_whole(self, voting: Voting) -> bool:
        """Whether as many vote as before. The servers see to that themselves, with an odd number (Reconfigurator)."""
        if self._freed & (voting.committed | voting.accepted):
            return False
        return min(len(voting.committed), len(voting.accepted)) >= self._voters and not voting.exclusions

    def _judge_whole(self, voting: Voting) -> Verdict:
        return Verdict() if self._is_whole(voting) else Verdict((self._incomplete(voting),))

    def _incomplete(self, voting: Voting) -> Reason:
        there = min(len(voting.committed), len(voting.accepted))
        kept = self._freed & (voting.committed | voting.accepted)
        said = "a member of the batch still votes" if kept else f"{there} of {self._voters} members vote again"
        return waiting(
            "hand_over_unfinished", f"After the hand-over {said}.", "Look at the manager-eligible members' logs."
        )
