"""Asking admission, in a dry run, whether it lets a member's pod come back before the present one goes.

The pod has the name of the one that is there, so that policies which look at names or hosts see the right ones. The
dry run is made by the user of the run, and not by the controller of the pool: a policy that tells users apart may
answer either of them otherwise.
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
    """The image that the container gets before; empty if the template stays."""


def run(task: Task) -> Outcome:
    """Offer one pod of each pool of the plan (`planned`), as the pool would make it."""
    params = task.params
    client = connect(params["kubernetes"])
    return Outcome(combine(task.ask(lambda: [_judge_planned(client, params, each) for each in params["planned"]])))


def _judge_planned(client: KubernetesClient, params: Mapping[str, Any], planned: Planned) -> Verdict:
    """The pods of a pool differ by their names alone, so that one stands for all until each is offered by itself."""
    pool = get_stateful_set(client, params["namespace"], planned.name)
    if planned.image and planned.container:
        pool = replace(pool, template=template_with(pool, planned.container, planned.image))
    member = planned.members[0]
    old = pods_of(client, pool).get(member)
    return judge_offered(offered(client, pool, member, old, len(planned.members)))


def judge_successors(client: KubernetesClient, homes: Mapping[str, StatefulSet], pods: Iterable[Pod]) -> Verdict:
    """Whether each of these pods would be admitted again, as its set makes it now. The plan has made the remarks."""
    found = combine(judge_offered(offered(client, homes[pod.name], pod.name, pod)) for pod in pods)
    return Verdict(tuple(reason for reason in found.reasons if reason.state is not State.PASSED))


def offered(client: KubernetesClient, pool: StatefulSet, member: str, old: Pod | None, members: int = 1) -> Offered:
    """Offer the pod that the pool would make. Nothing is made.

    Raises:
        Unreachable: no answer came, or one that may be another one later.
    """
    manifest = successor(pool, member)
    answer = Offered(pool, member, manifest["spec"], old, members=members)
    try:
        client.post(pod_path(pool.namespace), manifest, dry_run=True)
    except NameTaken:
        # Names are compared last.
        return answer
    except Conflict as error:
        return replace(answer, said=error.verdict.reasons[0].message)
    except Denied as error:
        return replace(answer, denied=error.verdict.reasons[0].message)
    except NotAdmitted as error:
        return replace(answer, said=error.said)
    return answer
