"""MachineHealthChecks are paused for the time of an upgrade, as OpenShift's manual has it ("Performing a cluster
update").

Each carries the undo of its pause in the same patch. One that a person has paused, or that heeds nothing that a restart
shows, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
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
from .judge.health_checks import check_stays, judge_health_checks
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


def pause(task: Task) -> None:
    """Pause each of them, before a batch is taken. Those that it may not pause the plan has named."""
    client = connect(task.params["kubernetes"])
    acts = Acts(task, client)

    def again() -> None:
        checks = [each for each in _those_that_act(client)[0] if not each.is_paused]
        for each in checks if checks and _may_pause(client) else ():
            _unless_changed(partial(acts.pause_check, each.name))

    task.ask(again)


def put_back(client: KubernetesClient, acts: Acts, *, stay: bool, in_run: bool) -> list[Reason]:
    """End the pauses of runs, also of those that were killed. With `stay` they are only named.

    The result has the remarks, and the reasons for which one could not be put back.
    """
    found, unseen = asked(lambda: health_checks(client), PAUSED_ONES)
    if found is None:
        # The plan of a run has named the missing right. Elsewhere another user may have paused some.
        return [] if in_run else [*unseen]
    ours = [each for each in found if each.carries_undo]
    if stay:
        return [check_stays(each.name) for each in ours if each.is_paused]
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
