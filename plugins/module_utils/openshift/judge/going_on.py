"""A batch that is late, the end of the wait for it, and what OpenShift continues by itself after that. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from ...common.release import Release
from ...common.verdict import Reason, State, Verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.state import OpenShift
from .progress import is_taken

TIMED_OUT = "timed_out"
OF_CONTROL_PLANE = "control_plane_timeout or run_timeout"
"""The options that limit the batch of the control plane."""
AGAIN = "To follow that, run the playbook again: it continues with this batch."


def control_plane_late(members: str, waits: str) -> Reason:
    """The remark that the batch of the control plane is late; `waits` says what it waits for."""
    return remark("control_plane_late", f"The batch of {members} is late: {waits}")


def workers_late(members: str, waits: str) -> Reason:
    """The remark that another batch is late."""
    return remark("workers_late", f"The batch of {members} is late: {waits}")


def with_going_on(
    verdict: Verdict, seen: OpenShift, names: Collection[str], target: Release, *, own_limit: bool
) -> Verdict:
    """The verdict on a batch. One whose time is over also says what OpenShift continues by itself.

    `own_limit` says whether the batch of the control plane has a limit of its own.
    """
    if verdict.state is not State.REFUSED or TIMED_OUT not in {each.code for each in verdict.reasons}:
        return verdict
    of_control_plane = not set(names).isdisjoint(seen.masters)
    reasons = map(_of_control_plane, verdict.reasons) if of_control_plane and own_limit else verdict.reasons
    return Verdict((*reasons, *_going_on(seen, names, target, of_control_plane=of_control_plane)))


def _of_control_plane(reason: Reason) -> Reason:
    """The reason with the options of this batch in place of the limit of any wait."""
    message, remedy = (each.replace("wait_limit", OF_CONTROL_PLANE) for each in (reason.message, reason.remedy))
    return replace(reason, message=message, remedy=remedy)


def _going_on(seen: OpenShift, names: Collection[str], target: Release, *, of_control_plane: bool) -> Iterator[Reason]:
    if of_control_plane:
        if not seen.version.is_commenced(str(target)):
            return
        there = sum(each.version == str(target) for each in seen.operators)
        said = f"the control plane goes to {target} ({there} of {len(seen.operators)} operators are there). No worker"
    else:
        taken = [name for name in names if seen.is_configured(name) and is_taken(seen, name, target)]
        left = [name for name in taken if not seen.is_done(name, target)]
        if not left:
            return
        said = f"{enumerate_few(left)} of the batch go to {target}, taken by the machine config operator. No other one"
    message = f"The run no longer waits, and OpenShift continues by itself: {said} is taken."
    yield refused("goes_on_by_itself", message, AGAIN)
