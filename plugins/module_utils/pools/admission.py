"""Asking admission, in a dry run, whether it would admit a member's pod again before the present pod is deleted.

The pod has the name of the present one, so policies that look at names or hosts see the right values. The dry run is
made by the user of the run, not by the controller of the pool: a policy that distinguishes users may answer them
differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.errors import Conflict, Denied
from ..common.task import Outcome, Task
from ..common.verdict import State, Verdict, combine
from ..kubernetes.answers import NameTaken, NotAdmitted
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.pods import pod_path, pods_of
from ..kubernetes.state import Pod, StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set
from ..kubernetes.successor import successor
from .admitted import Offered, judge_offered
from .pool_changes import template_with


@dataclass(frozen=True)
class Planned:
    """A pool of a plan, and the members whose pods it is to make again."""

    name: str
    members: Sequence[str]
    container: str = ""
    image: str = ""
    """The image that the container gets before that; empty if the template is not changed."""


def run(task: Task) -> Outcome:
    """Offer one pod of each pool of the plan (`planned`), as the pool would make it."""
    params = task.params
    client = connect(params["kubernetes"])
    return Outcome(combine(task.ask(lambda: [_judge_planned(client, params, each) for each in params["planned"]])))


def _judge_planned(client: KubernetesClient, params: Mapping[str, Any], planned: Planned) -> Verdict:
    """The verdict on one pod of a pool: its pods differ only in name, so one stands for all until each is offered."""
    pool = get_stateful_set(client, params["namespace"], planned.name)
    if planned.image and planned.container:
        pool = replace(pool, template=template_with(pool, planned.container, planned.image))
    member = planned.members[0]
    old = pods_of(client, pool).get(member)
    return judge_offered(offered(client, pool, member, old, len(planned.members)))


def judge_successors(client: KubernetesClient, homes: Mapping[str, StatefulSet], pods: Iterable[Pod]) -> Verdict:
    """Whether each of these pods would be admitted again, as its set makes it now. Remarks are left out: the plan has
    made them."""
    found = combine(judge_offered(offered(client, homes[pod.name], pod.name, pod)) for pod in pods)
    return Verdict(tuple(reason for reason in found.reasons if reason.state is not State.PASSED))


def offered(client: KubernetesClient, pool: StatefulSet, member: str, old: Pod | None, members: int = 1) -> Offered:
    """Offer the pod that the pool would make. Nothing is made.

    Raises:
        Unreachable: no answer came, or one that may change later.
    """
    manifest = successor(pool, member)
    answer = Offered(pool, member, manifest["spec"], old, members=members)
    try:
        client.post(pod_path(pool.namespace), manifest, dry_run=True)
    except NameTaken:
        # Names are compared last, so everything else admits the pod.
        return answer
    except Conflict as error:
        return replace(answer, said=error.verdict.reasons[0].message)
    except Denied as error:
        return replace(answer, denied=error.verdict.reasons[0].message)
    except NotAdmitted as error:
        return replace(answer, said=error.said)
    return answer
