"""Allocation is restricted for one batch immediately before it goes down, between two proofs that it may.

The replicas of an index that is made under the restriction are not allocated. So if the second proof lacks a copy, the
restriction is put back and the batch is started again, in the same task.

New primaries are not kept off the batch: an exclusion by name would also move primaries away under `primaries`, and
take a replica from every index that follows the number of members (`auto_expand_replicas`; server source,
EnableAllocationDecider and FilterAllocationDecider.shouldAutoExpandToNode). With an index every second on three real
members, three such indices were made in the 0.2 to 0.4 s between two tasks, and cost 17 of 60 s. So all of it is one
task.

On plain hosts the elected manager hands over before the user's tasks stop the members (`hands_over`). No batch is
divided there: if no other takes over from an elected manager that shares one, the gate refuses it.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import replace
from typing import Any

from ...common.arguments import Options
from ...common.attempts import proven_and_prepared
from ...common.errors import refusal
from ...common.task import Outcome, Task, passed_or_raise
from ...common.verdict import Reason, State, Verdict, combine, waiting
from ...common.waiting import Patience
from ..judge.policy import Policy
from ..judge.safety import prove
from ..observe.client import OpenSearchClient
from ..observe.cluster import read_settings
from ..observe.settings import ENABLE, allocates
from ..observe.state import ClusterState
from .allocation import CONTRACT as ALLOCATION
from .allocation import UNCHANGED, carry_out
from .flush import AGAIN_AFTER
from .hand_over import HandOver
from .last_look import LastLook, judge_snapshots_now

RESTRICTING: Options = {
    "allocation": {"type": "str", "default": UNCHANGED, "choices": [UNCHANGED, "restrict"]},
    "archived": ALLOCATION.argument_spec["archived"],
}

ATTEMPTS = 12
"""The most attempts to start a batch; with the pauses in between they last somewhat more than a minute."""
LONGEST_PAUSE = 10.0
"""The most seconds between two attempts. The pauses start at half a second, and double."""
PROOF = 15.0
"""Seconds with answers after which a proof that does not hold is given back to the caller."""


class Restriction:
    """The restriction for one batch: made once it is proven that the batch may go, put back if it does not go."""

    def __init__(self, task: Task, client: OpenSearchClient, batch: Collection[str], allow_red: Container[str]) -> None:
        self.last = LastLook(client, batch, self._keeps_replicas_away, allow_red)
        """The looks at the cluster with which the batch is proven."""
        self.remarks: tuple[Reason, ...] = ()
        """The remarks on the restriction."""
        self._task = task
        self._client = client
        self._batch = batch
        self._allow_red = allow_red
        self._unchanged = task.params["allocation"] == UNCHANGED
        self._made = self._restricts = False
        self._attempts = 0
        # Only the first part's gate can have waited long here; the gates of the other parts flush for themselves.
        self._flushes = (task.params.get("gate") or {}).get("waited", 0) > AGAIN_AFTER

    def make(self) -> bool:
        """Restrict, with the undo in the same request. The result says whether there was anything to do.

        Raises:
            Refusal: allocation could not be restricted, or the run may not act.
        """
        if self._unchanged or self._made:
            return False
        done = self._carry_out("restricted", flush=self._flushes)
        self._made, self._flushes = True, False
        self._restricts = any(
            name.endswith(f" {ENABLE}") and not allocates(value) for name, value in (done.after or {}).items()
        )
        self.remarks = tuple(reason for reason in done.verdict.reasons if reason.state is State.PASSED)
        return True

    def again(self, verdict: Verdict) -> bool:
        """Put the restriction back, since the batch does not go. The result says whether it is started again.

        It is not if nothing was restricted here, or if something other than a copy is missing: the caller decides then.

        Raises:
            Refusal: the batch was begun too often, the restriction was not put back, or the run may not go on.
        """
        if not self._made:
            return False
        passed_or_raise(self._carry_out("unrestricted").verdict)
        self._made = False
        if not self.last.in_vain() or not self._task.params["wait"]:
            return False
        self._attempts += 1
        said = " ".join(reason.message for reason in verdict.deciding())
        if self._attempts >= ATTEMPTS:
            raise refusal(
                "begun_in_vain",
                f"The batch was started {self._attempts} times. Each time the proof that it may go down no longer held"
                f" once allocation was restricted, so none of its members was stopped. The last time: {said}",
                "Run again when fewer indices are made: finished members are left alone.",
            )
        self._pause()
        return True

    def _pause(self) -> None:
        seconds = min(2.0 ** (self._attempts - 2), LONGEST_PAUSE)
        text = f"Allocation is put back, and the batch starts again in {seconds:g} s (attempt {self._attempts + 1})."
        verdict = Verdict((waiting("begun_in_vain", text),))
        patience = Patience(seconds, 1.0, hands_back=True)
        self._task.wait_apart(lambda: None, lambda _seen: verdict, patience, stoppable=True)

    def _keeps_replicas_away(self) -> bool:
        if self._unchanged:
            return not allocates(read_settings(self._client).effective(ENABLE))
        return self._made and self._restricts

    def _carry_out(self, state: str, **own: Any) -> Outcome:
        params = ALLOCATION.arguments(self._task.params, state=state, batch=list(self._batch), **own)
        return carry_out(replace(self._task, params=params), self._client, self._allow_red, self.last.state)


def wait_proven(
    task: Task, client: OpenSearchClient, members: Collection[str], batch: Collection[str], policy: Policy
) -> tuple[ClusterState, Verdict, tuple[Reason, ...]]:
    """Wait until the proof holds, with allocation restricted if that is asked for.

    If the policy says so, an elected manager in the batch hands over first, as before pods are deleted.
    A proof that has not held for `PROOF` seconds with answers, or cannot as long as allocation stays as it is, is
    returned as it is. The caller then puts allocation back if it has restricted it, so that the proof can hold.

    The result is the cluster, the verdict, and the remarks on the restriction.

    Raises:
        Refusal: the answer is missing or unreadable, or the batch was begun too often.
    """
    hand_over = HandOver(task, client, batch, policy)
    restriction = Restriction(task, client, batch, policy.allow_red_indices)

    def judge(state: ClusterState) -> Verdict:
        proven = prove(state, members, batch, policy)
        return combine((proven, hand_over.judge(state), judge_snapshots_now(task, state, batch)))

    def look() -> tuple[ClusterState, Verdict]:
        return task.wait(
            restriction.last.see,
            judge,
            stoppable=True,
            hands_back_after=min(PROOF, float(task.params["wait_timeout"])),
            in_vain=restriction.last.in_vain,
        )

    def prepare(_seen: ClusterState) -> bool:
        return (not task.check_mode and hand_over.make(batch)) or restriction.make()

    state, verdict = proven_and_prepared(look, prepare, restriction.again)
    return state, verdict, restriction.remarks
