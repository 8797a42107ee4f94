"""Asking the ResourceQuotas of a namespace whether they have room for what a run needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ..common.errors import Denied
from ..common.task import Task
from ..common.verdict import State, Verdict
from ..common.waiting import Clock, Patience
from ..kubernetes.client import KubernetesClient
from ..kubernetes.pod_usage import Amounts, usage_of
from ..kubernetes.pods import list_pods
from ..kubernetes.quotas import list_quotas
from .admitted import full_quota
from .pull_pod import POOL_LABEL
from .quota_needs import FULL, QuotaNeed, judge_quotas, unknown_quotas

FREED = 10.0
"""Seconds for the controller of quotas to take off the pods that have gone, such as the throw-away pods of a plan. It
does so when it sees that they have gone, and is late where the control plane is busy."""
_ENDED = frozenset({"Succeeded", "Failed"})


def judge_room(client: KubernetesClient, namespace: str, needs: Sequence[QuotaNeed]) -> Verdict:
    """Whether the quotas have room now. Where the user may not list them, that is a remark.

    Raises:
        Refusal: the API gives no usable answer.
    """
    if not needs:
        return Verdict()
    try:
        quotas = list_quotas(client, namespace)
    except Denied as error:
        return unknown_quotas(namespace, needs, error.verdict.reasons[0])
    found = judge_quotas(namespace, quotas, needs, {})
    return found if found.passed else judge_quotas(namespace, quotas, needs, thrown_away(client, namespace))


@dataclass
class FreedSoon:
    """Verdicts that only a full quota refuses: for a while they wait, since pods that have gone may still count."""

    clock: Clock
    _since: float | None = None

    def judge(self, verdict: Verdict) -> Verdict:
        """The verdict, waiting if a quota may have room soon."""
        if verdict.state is not State.REFUSED or not all(full_quota(each.message) for each in verdict.deciding()):
            return verdict
        now = self.clock.now()
        self._since = now if self._since is None else self._since
        return verdict if now - self._since >= FREED else as_waiting(verdict)


def as_waiting(verdict: Verdict) -> Verdict:
    """The same reasons, but those that refuse wait."""
    reasons = (replace(each, state=State.WAITING) if each.state is State.REFUSED else each for each in verdict.reasons)
    return Verdict(tuple(reasons))


def await_room(task: Task, look: Callable[[], Verdict]) -> Verdict:
    """The verdict of `look` once pods that have gone no longer count.

    Raises:
        Refusal: the API gives no usable answer in time.
    """

    def waited_for() -> Verdict:
        found = task.ask(look)
        return as_waiting(found) if any(each.code == FULL for each in found.deciding()) else found

    return task.wait_apart(waited_for, lambda found: found, Patience(FREED, hands_back=True))[1].without_waiting()


def thrown_away(client: KubernetesClient, namespace: str) -> Amounts:
    """The amounts of the throw-away pods that prove images now, and go with the plan."""
    freed: dict[str, Decimal] = {}
    for pod in list_pods(client, namespace, POOL_LABEL):
        if pod.phase not in _ENDED:
            for name, amount in usage_of(pod.spec).items():
                freed[name] = freed.get(name, Decimal(0)) + amount
    return freed
