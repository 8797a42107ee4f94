"""The last look before a batch goes down, while allocation is restricted for it: the proof, and running snapshots.

The other checks of a gate were made before. Made again now, they would refuse because of the restriction itself: the
replicas of an index that was made since are not assigned. A snapshot may have started since the gate, by the clock of a
policy; the members that go would end it PARTIAL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container

from ...common.attempts import just_looked
from ...common.task import Task
from ...common.verdict import Verdict, waiting
from ...common.waiting import Patience
from ...common.words import enumerate_few
from ..judge.background import judge_snapshots_of
from ..judge.safety import needs_allocation
from ..observe.client import OpenSearchClient
from ..observe.cluster import observe
from ..observe.state import ClusterState


class LastLook:
    """The looks for the proof of one batch. Each also says whether waiting for the proof is in vain."""

    def __init__(
        self,
        client: OpenSearchClient,
        batch: Collection[str],
        is_restricted: Callable[[], bool],
        may_be_red: Container[str] = (),
    ) -> None:
        """`is_restricted` says whether replicas cannot be allocated; it is only asked if that matters."""
        self._client = client
        self._batch = batch
        self._is_restricted = is_restricted
        self._may_be_red = may_be_red
        self._in_vain = False
        self.state: ClusterState | None = None
        """The cluster at the last look."""

    def see(self) -> ClusterState:
        """The cluster now."""
        self.state = state = observe(self._client)
        self._in_vain = bool(needs_allocation(state, self._batch, self._may_be_red)) and self._is_restricted()
        return state

    def in_vain(self) -> bool:
        """Whether the proof on the last look cannot hold as long as allocation is restricted."""
        return self._in_vain


def judge_snapshots_now(task: Task, state: ClusterState, batch: Collection[str]) -> Verdict:
    """Whether no snapshot needs a shard from these members, unless that check is skipped."""
    skipped = "snapshots" in (task.params.get("skip_checks") or ())
    return Verdict() if skipped else judge_snapshots_of(state, state.ids(batch))


CALM = 5.0
"""The most seconds of waiting until no replica is about to be allocated. The proof decides in any case."""
PAUSE = 0.1
"""Seconds between two looks during that time."""


def wait_calm(
    task: Task, client: OpenSearchClient, state: ClusterState, batch: Collection[str], may_be_red: Container[str] = ()
) -> ClusterState:
    """The cluster at a time when a restriction blocks no replica that the proof of the batch needs.

    An index is made in two steps: its replicas are allocated once its primary has started. If allocation were
    restricted in between, the batch would have to start again. `state` is the last look. The proof needs no copy of
    an index in `may_be_red`.
    """

    def judge(found: ClusterState) -> Verdict:
        missing = needs_allocation(found, batch, may_be_red)
        text = f"The replicas of {enumerate_few(missing)} are about to be allocated."
        return Verdict((waiting("allocating", text),)) if missing else Verdict()

    look = just_looked(state, lambda: observe(client))
    return task.wait_apart(look, judge, Patience(CALM, PAUSE, hands_back=True))[0]
