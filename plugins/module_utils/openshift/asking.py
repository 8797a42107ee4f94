"""Databases are asked whether they can spare a batch, and no pool is open until they have answered."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ..common.errors import Conflict, Unreachable
from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine
from ..kubernetes.client import connect
from ..workloads import going_down
from .act.changes import Acts
from .judge.order import away_with_control_plane
from .observe.look import Looking
from .observe.looking_at_target import release_of
from .open_pools import HeldAgain, is_control_plane

BETWEEN_LOOKS = 10.0
"""Seconds between two looks at the pools, as while a batch is followed."""


def asked_while_held(task: Task) -> Outcome:
    """Wait until all workloads can spare the batch. A pool that something else lets go until then is held again.

    Of the control plane those Kubernetes nodes have to be spared together that may be away at once.
    """
    holding = _Holding(task)
    seen = task.ask(Looking(connect(task.params["kubernetes"])).look)
    of_control_plane = is_control_plane(seen, task)
    if of_control_plane and seen.version.is_commenced(str(release_of(task.params["target_version"]))):
        # OpenShift continues by itself, and some of them may be away by now.
        return Outcome(Verdict())
    apart = away_with_control_plane(seen) if of_control_plane else None
    # The machine config operator evicts an elected manager without a hand-over.
    outcome = going_down.asked(replace(task, guard=holding), hands_over=False, apart=apart)
    verdict = combine((outcome.verdict, Verdict(holding.held.remarks)))
    return replace(outcome, verdict=verdict, changed=bool(task.journal.as_result()))


class _Holding:
    """The guard of a task that looks at databases: before such a look the pools are held, too."""

    def __init__(self, task: Task) -> None:
        client = connect(task.params["kubernetes"])
        self._task, self._guard, self._looked = task, task.guard, float("-inf")
        self._looking, self._acts, self.held = Looking(client), Acts(task, client), HeldAgain(task)

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        if self._guard is not None:
            self._guard.before_look(doing, stoppable)
        now = self._task.clock.now()
        if now - self._looked < BETWEEN_LOOKS:
            return
        self._looked = now
        # An answer that does not come is the next look's: the databases are asked all the same.
        with suppress(Unreachable, Conflict):
            self.held.hold(self._looking.look(), self._acts)

    def before_act(self) -> None:
        """See `Guard`."""
        if self._guard is not None:
            self._guard.before_act()
