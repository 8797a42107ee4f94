"""MachineHealthChecks are paused for the time of an upgrade, as OpenShift's manual has it ("Performing a cluster
update").

Each carries the undo of its pause in the same patch. One that a person has paused, or that heeds nothing that a restart
shows, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from ..common.attempts import refusals_of
from ..common.errors import Refusal
from ..common.task import Task
from ..common.verdict import Reason, Verdict, combine
from ..draining.observe.optional import asked
from ..kubernetes.answers import is_not_found
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.rights import may
from .act.changes import Acts
from .judge.health_checks import check_stays, check_waits, judge_health_checks, was_active
from .observe.health_checks import health_checks
from .observe.kinds import MACHINE_API
from .observe.machine_state import HealthCheck
from .rights import PAUSE_CHECKS

NAMED = "the MachineHealthChecks that may replace machines"
PAUSED_ONES = "the MachineHealthChecks that runs have paused"


def planned(client: KubernetesClient) -> Verdict:
    """A remark on each of them, and whether the run pauses it.

    Raises:
        Refusal: they cannot be had for another cause than a missing right, or not be understood.
    """
    checks, remarks = _those_that_act(client)
    may_pause = bool(checks) and _may_pause(client)
    return combine((judge_health_checks(checks, may_pause=may_pause), Verdict(remarks)))


class PausedChecks:
    """The MachineHealthChecks while batches are taken and updated: each is paused, and again if it is found open.

    Those that it may not pause the plan has named.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._client = task, connect(task.params["kubernetes"])
        self._acts, self._remarks = Acts(task, self._client), dict[str, Reason]()
        self._may_pause = False

    def pause_first(self) -> None:
        """Pause each of them, before a batch is taken. It names only those whose pause something else has ended."""
        self._task.ask(partial(self.pause, first=True))

    def pause(self, *, first: bool = False) -> None:
        """Pause those that are not paused, and note them, since a Kubernetes node may have restarted until now.

        A right that is missing is asked for again: an API server that has just started denies what it allows later.
        """
        open_ones = [each for each in _those_that_act(self._client)[0] if not each.is_paused]
        self._may_pause = self._may_pause or (bool(open_ones) and _may_pause(self._client))
        for each in open_ones if self._may_pause else ():
            _unless_changed(partial(self._acts.pause_check, each.name))
            if each.carries_undo or not first:
                self._note(each.name)

    def _note(self, name: str) -> None:
        reason = was_active(name)
        if name not in self._remarks and not self._task.check_mode:
            self._task.progress(reason.sentence())
        self._remarks[name] = reason

    @property
    def remarks(self) -> Verdict:
        """A remark for each of those that were found open."""
        return Verdict(tuple(self._remarks.values()))


def put_back(
    client: KubernetesClient, acts: Acts, *, stay: bool, in_run: bool, restarting: Collection[str] = ()
) -> list[Reason]:
    """End the pauses of runs, also of those that were killed. With `stay`, or while Kubernetes nodes are `restarting`
    without a run, they are only named.

    The result has the remarks, and the reasons for which one could not be put back.
    """
    found, unseen = asked(lambda: health_checks(client), PAUSED_ONES)
    if found is None:
        # The plan of a run has named the missing right. Elsewhere another user may have paused some.
        return [] if in_run else [*unseen]
    ours = [each for each in found if each.carries_undo]
    if stay:
        return [check_stays(each.name) for each in ours if each.is_paused]
    if restarting:
        return [check_waits(each.name, restarting) for each in ours if each.is_paused]
    remarks = list[Reason]()

    def end(name: str) -> None:
        remarks.extend(acts.put_check_back(name))

    refusals = refusals_of([partial(end, each.name) for each in ours])
    return [*remarks, *refusals]


def _those_that_act(client: KubernetesClient) -> tuple[list[HealthCheck], tuple[Reason, ...]]:
    found, remarks = asked(lambda: health_checks(client), NAMED)
    return [each for each in found or () if each.acts], remarks


def _may_pause(client: KubernetesClient) -> bool:
    return all(may(client, MACHINE_API, right) for right in PAUSE_CHECKS)


def _unless_changed(act: Callable[[], object]) -> None:
    """Make an act on one that may have been deleted, or paused in other words by a person, since it was seen."""
    try:
        act()
    except Refusal as error:
        if not is_not_found(error) and error.verdict.reasons[0].code != "value_not_kept":
            raise
