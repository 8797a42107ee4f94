"""The work of the part `raised_replicas`: indices without a replica get one before the first batch, and it starts.

The undo in the cluster names what was before. The end of the upgrade, `settle` and `abort` put that back
(`shard_allocation` with `state: restored`). If the replicas do not start in time, this puts them back at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..common.arguments import CONNECTIONS, WAIT
from ..common.task import Contract, Outcome, Task, attempt
from ..common.verdict import State, Verdict, combine
from ..run.begin_and_end import part_of, with_arguments
from . import shard_allocation
from .act.raising import RAISE_REPLICAS, has_raised, look_at_single, raise_replicas, replicas_undo, wanted_replicas
from .judge.index_names import index_names
from .judge.replicas import STARTING, UNASSIGNED, judge_raising, judge_started, not_started, single_indices
from .judge.replicas_back import fate_of
from .observe.client import OpenSearchClient, connect
from .observe.cluster import observe, observe_recoveries, read_settings
from .observe.copies import copies_move
from .observe.explaining import explain
from .observe.explanation import Explanation
from .observe.finding_replicas import observe_replicas
from .observe.state import ClusterState

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 1800},
        **RAISE_REPLICAS,
        "allow_single_copy": {"type": "list", "elements": "str", "default": []},
        "batch": {"type": "list", "elements": "str", "default": []},
        "archived": shard_allocation.CONTRACT.argument_spec["archived"],
        "take_over": {"type": "str", "default": ""},
    },
)


@dataclass(frozen=True)
class StartingLook:
    """One look at the replicas of a run."""

    state: ClusterState
    names: frozenset[str] = frozenset()
    """The indices that have a replica by a run."""
    verdict: Verdict = field(default_factory=Verdict)
    """Whether all that are to get one can."""
    bytes: float = math.inf
    explanations: tuple[Explanation, ...] = ()


def run(task: Task) -> Outcome:
    """Give the indices a replica, and wait until all copies are started."""
    client = connect(task.params["opensearch"], task.params["kubernetes"])
    raising = _RaisingLooks(task, client)
    look, verdict = task.wait(raising.look, raising.judge, stoppable=True, remaining=raising.remaining)
    changed = has_raised(task)
    if any(reason.code == STARTING for reason in verdict.deciding()) and verdict.state is State.REFUSED:
        verdict = combine((verdict, attempt(_put_back, task).verdict))
    return Outcome(verdict, changed, more={"raised": sorted(look.names)})


def _put_back(task: Task) -> Outcome:
    own = {"state": "restored", "part": "all", "wait": True, "wait_timeout": 60}
    return part_of(with_arguments(task, **own), shard_allocation.CONTRACT, shard_allocation.run)


class _RaisingLooks:
    """The looks of the part. Each gives a replica to indices that have none, also to those made since the last look."""

    def __init__(self, task: Task, client: OpenSearchClient) -> None:
        self._task, self._client = task, client
        self._wanted = wanted_replicas(task.params)
        self._allowed = index_names(task.params["allow_single_copy"], "allow_single_copy")

    def look(self) -> StartingLook:
        """The copies now, once the missing replicas were made."""
        task, client = self._task, self._client
        settings, state, verdict = read_settings(client), observe(client), Verdict()
        names = single_indices(state, task.params["batch"], self._wanted)
        if names:
            single = look_at_single(client, state, names, task.params["batch"])
            raising = judge_raising(single, self._allowed)
            verdict = raising.verdict
            # All problems are reported before anything is changed.
            if verdict.state is not State.REFUSED and raising.indices:
                failed = raise_replicas(task, client, settings, single, raising)
                verdict = combine((verdict, failed))
                settings, state = read_settings(client), observe(client)
        undo = replicas_undo(client, settings, state.uuid)
        ours = frozenset(fate_of(undo, observe_replicas(client)).names) if undo else frozenset[str]()
        waited = not_started(state, ours, task.params["batch"])
        left = [copy for copy in waited if copy.state == UNASSIGNED and not copy.primary]
        stuck = explain(client, state, left) if left and not copies_move(state) else ()
        size = observe_recoveries(client).bytes if waited else 0.0
        return StartingLook(state, ours, verdict, size, stuck)

    def judge(self, look: StartingLook) -> Verdict:
        """Whether all that can get a replica has it, started."""
        going = self._task.params["batch"]
        return combine((look.verdict, judge_started(look.state, look.names, going, look.bytes, look.explanations)))

    def remaining(self, look: StartingLook) -> dict[str, tuple[float, ...]]:
        """The copies and bytes that are left, so that a wait lasts as long as there is progress."""
        left = not_started(look.state, look.names, self._task.params["batch"])
        return {STARTING: (float(len(left)), look.bytes)}
