"""The drain of Kubernetes nodes by a run itself: cordon, then evict and look again until nothing is left.

Nothing is kept in memory that a later run would need: the undo of the cordon has its time, and the rest is observed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from ..common.task import Outcome, Task
from ..common.timestamps import timestamp_of, timestamp_text, utc_now
from ..common.verdict import State, Verdict
from ..kubernetes.client import KubernetesClient
from .act.draining import Draining
from .act.forcing import Forcing
from .judge.drained import EvictionAnswers, evictable, judge_drained, left
from .judge.forced_drains import ForcedRung
from .judge.undrainable import judge_startable, judge_undrainable, unmanaged
from .observe.drain_look import look_at_drain
from .observe.drain_state import DrainLook

SLACK = timedelta(seconds=30)
"""The time after the end of a grace period for which a pod may still be there: a kubelet needs some, and clocks
differ."""


@dataclass(frozen=True)
class DrainRules:
    """The rules that a user gives for a drain."""

    rungs: Sequence[ForcedRung] = ()
    """The forced acts that are allowed (`allow_forced_drains`)."""
    unmanaged: tuple[str, ...] = ()
    """Patterns of the namespaces whose pods without a controller may be deleted (`allow_unmanaged_pods`)."""
    spared: frozenset[tuple[str, str]] = frozenset()
    """The pods that the drain leaves where they are, by namespace and name: something else removes them."""

    def without_spared(self, look: DrainLook) -> DrainLook:
        """The look without the pods that are spared."""
        if not self.spared:
            return look
        pods = tuple(each for each in look.pods if (each.namespace, each.name) not in self.spared)
        kept = tuple(each for each in look.kept if (each.namespace, each.name) not in self.spared)
        return replace(look, pods=pods, kept=kept)


@dataclass(frozen=True)
class DrainPass:
    """A look at a drain, and its verdict by the answers to the evictions that followed it."""

    seen: DrainLook
    verdict: Verdict


def drain(
    task: Task, client: KubernetesClient, names: Sequence[str], module: str, rules: DrainRules | None = None
) -> Outcome:
    """Drain these Kubernetes nodes until no pod that could go is left there, and no volume of those that went.

    If one of them is refused, none is cordoned. The arguments of the task are `wait`, `wait_timeout`, which counts from
    the last progress, and `wait_sleep`. `module` is that of `Draining`.

    Raises:
        Refusal: something cannot be had, or an act was not made.
    """
    rules = rules or DrainRules()
    task = task.part()
    before = task.ask(lambda: rules.without_spared(look_at_drain(client, names)))
    foreseen = judge_startable(before, names, rules.unmanaged)
    if foreseen.state is State.REFUSED:
        return Outcome(foreseen, before=_shown(before))
    draining = Draining(task, client, module)
    for name in names:
        task.ask(partial(draining.cordon, name))
    forcing, began = Forcing(task, client, rules.rungs), utc_now()

    def step() -> DrainPass:
        seen = rules.without_spared(look_at_drain(client, names))
        spared = [each.uid for each in unmanaged(seen.pods, names, rules.unmanaged)]
        answers = draining.evict(evictable(seen, spared))
        if rules.rungs and not task.check_mode:
            forcing.force(seen.pods, _ages(seen, began), {each.uid for each in seen.kept})
        return DrainPass(seen, _judge(task, names, rules, seen, answers))

    def judged(found: DrainPass) -> Verdict:
        # Nothing is changed in check mode, so nothing would come of waiting: the verdict is that of the first look.
        return Verdict() if task.check_mode and found.verdict.state is State.WAITING else found.verdict

    found, verdict = task.wait(step, judged, stoppable=True, remaining=_remaining)
    shown = found.verdict if task.check_mode else verdict
    return Outcome(
        shown,
        changed=bool(task.journal.as_result()),
        before=_shown(before),
        after=_shown(found.seen),
        more={"kept": _kept(found.seen)},
    )


def _judge(task: Task, names: Collection[str], rules: DrainRules, seen: DrainLook, answers: EvictionAnswers) -> Verdict:
    verdict = judge_drained(seen, answers, timestamp_text(utc_now() - SLACK), tried=task.check_mode)
    undrainable = judge_undrainable(seen.pods, names, rules.unmanaged).deciding()
    return Verdict((*undrainable, *verdict.reasons))


def _remaining(found: DrainPass) -> dict[str, tuple[float, ...]]:
    return dict.fromkeys({each.code for each in found.verdict.deciding()}, left(found.seen))


def _ages(seen: DrainLook, began: datetime) -> dict[str, float]:
    """The seconds since the drain of each of these Kubernetes nodes began: with the cordon by a run, or with this task
    where a person has cordoned it, perhaps long before."""
    since = {each.name: timestamp_of(each.since) if each.ours and each.since else began for each in seen.nodes}
    return {name: max(0.0, (utc_now() - at).total_seconds()) for name, at in since.items()}


def _shown(seen: DrainLook) -> dict[str, Any]:
    return {
        "cordoned": sorted(each.name for each in seen.nodes if each.cordoned),
        "pods": {each.name: len(seen.left_on(each.name)) for each in seen.nodes},
    }


def _kept(seen: DrainLook) -> list[dict[str, Any]]:
    return [
        {
            "pod": each.full_name,
            "kubernetes_node": each.kubernetes_node,
            "budget": f"{each.namespace}/{each.budget.name}",
            "disruptions_allowed": each.budget.allowed,
        }
        for each in seen.kept
    ]
