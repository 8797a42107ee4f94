"""Whether the pods that machines had before they went are Ready again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...common.verdict import Reason, as_verdict, remark, waiting
from ...common.words import first_few
from ..observe.ready_before import NOTE, MissingPods, UnreadyPod

PODS_MISSING = "pods_not_back"


@as_verdict
def judge_ready_again(missing: Iterable[MissingPods]) -> Iterator[Reason]:
    """One reason for each machine, with the pods in the order of their controllers."""
    for machine, found in _by_machine(missing).items():
        yield waiting(PODS_MISSING, _said(machine, found), f"{_REMEDY} {_without(machine)}", about=machine)


def noted_still(missing: Iterable[MissingPods]) -> tuple[Reason, ...]:
    """The remarks on machines whose note stays, for the next run to wait for their pods."""
    return tuple(
        remark(PODS_MISSING, f"{_said(machine, found)} The next run waits for them.", f"{_REMEDY} {_without(machine)}")
        for machine, found in _by_machine(missing).items()
    )


def left_to_come(missing: Iterable[MissingPods]) -> dict[str, tuple[float, ...]]:
    """The number of pods that are still missing, by the code of the reason."""
    return {PODS_MISSING: (float(sum(each.wanted - each.ready for each in missing)),)}


_REMEDY = (
    "See why with kubectl describe pod, and correct it. A Deployment, StatefulSet or DaemonSet that no longer needs its"
    " pods may be scaled down or deleted; those of an operator are waited for anyway."
)


def _without(machine: str) -> str:
    return f"To go on without them: kubectl annotate node {machine} {NOTE}-. Then run again."


def _by_machine(missing: Iterable[MissingPods]) -> dict[str, list[MissingPods]]:
    found: dict[str, list[MissingPods]] = {}
    for each in missing:
        found.setdefault(each.machine, []).append(each)
    return found


def _said(machine: str, missing: Sequence[MissingPods]) -> str:
    names = [name for each in missing for name in _names(each)]
    return f"Pods that were Ready before machine {machine} went are not Ready again: {first_few(names)}."


def _names(missing: MissingPods) -> Iterator[str]:
    """A name for each missing pod: those that are not Ready, and the controller for those that are not there."""
    lacking = missing.wanted - missing.ready
    for each in missing.unready[:lacking]:
        yield _named(each)
    for _other in range(lacking - len(missing.unready)):
        yield f"one of {missing.controller.title} ({missing.ready} of {missing.wanted} Ready)"


def _named(pod: UnreadyPod) -> str:
    return f"{pod.name} ({pod.cause})" if pod.cause else pod.name
