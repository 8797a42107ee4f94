"""The pools that are open while a batch is taken: held before anything is asked, and held again whatever happens."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from ..common.errors import Refusal
from ..common.release import Release
from ..common.task import Outcome, Task, attempt
from ..common.verdict import Reason, Verdict, refused, remark
from ..common.waiting import Patience
from ..common.words import enumerate_few
from ..kubernetes.client import connect
from .act.changes import Acts
from .act.commencing import hold_those
from .judge.health import is_held_by_person
from .judge.progress import is_taken, is_taken_last
from .observe.looking_at_target import chain_in, release_of, through_of
from .observe.state import MachineConfigPool, OpenShift

PATIENCE = Patience(120.0)
"""Within so many seconds a pool is held again after a batch that was not taken."""


def is_control_plane(seen: OpenShift, task: Task) -> bool:
    """Whether the batch is that of the control plane; without one it is, too."""
    names = task.params["batch"]
    return not names or not set(names).isdisjoint(seen.masters)


def pools_of(seen: OpenShift, task: Task) -> Iterator[tuple[MachineConfigPool, list[str]]]:
    """The pools with Kubernetes nodes of the batch, and these. One that a person has paused stays as it is."""
    for pool in seen.worker_pools:
        own = [name for name in task.params["batch"] if name in seen.members[pool.name]]
        if own and not is_held_by_person(pool):
            yield pool, own


def has_some_left(task: Task, seen: OpenShift, pool: MachineConfigPool) -> bool:
    """Whether the machine config operator would take a further Kubernetes node of a pool that is open."""
    return _has_some_left(task, seen, pool, release_of(task.params["target_version"]))


def _has_some_left(task: Task, seen: OpenShift, pool: MachineConfigPool, target: Release) -> bool:
    in_turn = (seen.planned if target in through_of(task.params) else seen.members)[pool.name]
    return any(not is_taken_last(seen, name, target) for name in in_turn)


def hold_open(task: Task, seen: OpenShift, acts: Acts, but: Collection[str] = ()) -> list[MachineConfigPool]:
    """Hold the pools that are open, and return these: a killed run may have left one, or something else let one go.

    From the time on at which an update is commenced nothing is taken while a batch is asked for, and no other one while
    it is updated. The pools in `but` stay as they are.
    """
    target = str(release_of(task.params["target_version"]))
    if is_control_plane(seen, task):
        begun = seen.version.commenced_of(chain_in(task.params))
    else:
        begun = target if seen.version.has_completed(target) else ""
    pools = [pool for pool in seen.worker_pools if pool.name not in but]
    left = [pool for pool in pools if begun and _has_some_left(task, seen, pool, release_of(begun))]
    return hold_those(seen, left, acts, task.params["max_unavailable"])


def let_required_go(seen: OpenShift, acts: Acts) -> None:
    """Put back the pools that are held, and that OpenShift updates with the control plane by now."""
    for pool in seen.required_pools:
        if pool.carries_undo:
            acts.put_back(pool.name)


class HeldAgain:
    """The pools that are found open during a batch: they are held again, and named."""

    def __init__(self, task: Task) -> None:
        self._task, self._remarks = task, dict[str, Reason]()

    def hold(self, seen: OpenShift, acts: Acts, but: Collection[str] = (), *, first: bool = False) -> set[str]:
        """Hold those that are open, but for those in `but`, and return their names.

        Where a batch does so `first`, a pool may be open because no run has held it yet, or because a killed one has
        let it go. Then only those are named whose pause something else has ended. In check mode none is held.
        """
        if self._task.check_mode:
            return set()
        let_required_go(seen, acts)
        held = hold_open(self._task, seen, acts, but)
        for pool in held:
            if pool.is_held or not first:
                self._note(seen, pool)
        return {pool.name for pool in held}

    def _note(self, seen: OpenShift, pool: MachineConfigPool) -> None:
        batch, target = self._task.params["batch"], release_of(self._task.params["target_version"])
        names = [name for name in seen.planned[pool.name] if name not in batch and seen.nodes[name].is_handled]
        taken = [name for name in names if is_taken(seen, name, target)]
        said = (
            f"MachineConfigPool {pool.name} was open, so that the machine config operator takes further Kubernetes"
            " nodes without any gate. It is paused again."
        )
        said += f" Taken by then: {enumerate_few(taken)}." if taken else ""
        reason = remark(
            "pool_was_open",
            said,
            "If something else ends its pause, such as GitOps, have that leave spec.paused alone for now.",
        )
        if pool.name not in self._remarks:
            self._task.progress(reason.sentence())
        self._remarks[pool.name] = reason

    @property
    def remarks(self) -> tuple[Reason, ...]:
        """A remark for each of them, as it was found last."""
        return tuple(self._remarks.values())


def hold_again(task: Task, pools: Collection[str]) -> tuple[Reason, ...]:
    """Hold the pools of a batch that was not taken in time. The result names those that may be open."""

    def hold(given: Task) -> Outcome:
        acts = Acts(given, connect(given.params["kubernetes"]))

        def again() -> None:
            for name in pools:
                acts.hold(name)

        return Outcome(given.wait_apart(again, lambda _done: Verdict(), PATIENCE)[1])

    found = attempt(hold, task).verdict if pools and not task.check_mode else Verdict()
    return () if found.passed else (_may_be_open(pools, found.reasons[0]),)


def _may_be_open(pools: Collection[str], cause: Reason) -> Reason:
    said = (
        f"MachineConfigPool {enumerate_few(pools)} may be open, since it could not be paused again, so that the machine"
        f" config operator takes further Kubernetes nodes without any gate. {cause.message}"
    )
    return refused("pool_may_be_open", said, "Pause it (spec.paused), or run the playbook again, which does that.")


@contextmanager
def held_after_failure(task: Task, pools: Collection[str]) -> Iterator[None]:
    """A block that may leave these pools open: they are held again if it fails, and named if that fails too."""
    try:
        yield
    except Exception as error:
        if (left_open := hold_again(task, pools)) and isinstance(error, Refusal):
            raise Refusal(*error.verdict.reasons, *left_open) from error
        raise
