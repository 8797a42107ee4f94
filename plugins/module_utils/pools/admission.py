"""Asking admission, in a dry run, whether it would admit a member's pod again before the present pod is deleted.

The pod has the name of the present one, so policies that look at names or hosts see the right values. The dry run is
made by the user of the run, not by the controller of the pool: a policy that distinguishes users may answer them
differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from .quota_needs import QuotaNeed, needs_of_template
from .quota_room import await_room, judge_room


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
    judged = task.ask(lambda: [_judge_planned(client, params, each) for each in params["planned"]])
    verdict, needs = combine(each for each, _needs in judged), [need for _each, own in judged for need in own]
    # A pod that is refused by itself has named its quota.
    room = partial(judge_room, client, params["namespace"], needs)
    return Outcome(combine((verdict, await_room(task, room) if verdict.passed else Verdict())))


def _judge_planned(
    client: KubernetesClient, params: Mapping[str, Any], planned: Planned
) -> tuple[Verdict, list[QuotaNeed]]:
    """The verdict on one pod of a pool, and what all of them ask for in addition to the present ones.

    The pods of a pool differ only in name, so one stands for all until each is offered.
    """
    pool = get_stateful_set(client, params["namespace"], planned.name)
    if planned.image and planned.container:
        pool = replace(pool, template=template_with(pool, planned.container, planned.image))
    member = planned.members[0]
    pods = pods_of(client, pool)
    growing = needs_of_template(pool, (pods[name] for name in planned.members if name in pods))
    return judge_offered(offered(client, pool, member, pods.get(member), len(planned.members))), [*growing]


def judge_successors(client: KubernetesClient, homes: Mapping[str, StatefulSet], pods: Iterable[Pod]) -> Verdict:
    """Whether each of these pods would be admitted again, as its set makes it now. Remarks are left out: the plan has
    made them."""
    found = combine(judge_offered(offered(client, homes[pod.name], pod.name, pod)) for pod in pods)
    return Verdict(tuple(reason for reason in found.reasons if reason.state is not State.PASSED))


def offered(
    client: KubernetesClient, pool: StatefulSet, member: str, old: Pod | None, members: int = 1, *, added: bool = False
) -> Offered:
    """Offer the pod that the pool would make, in the place of another one or as one more. Nothing is made.

    Raises:
        Unreachable: no answer came, or one that may change later.
    """
    manifest = successor(pool, member)
    answer = Offered(pool, member, manifest["spec"], old, members=members, added=added)
    try:
        admitted = client.post(pod_path(pool.namespace), manifest, dry_run=True)
    except NameTaken:
        # Names are compared last, so everything else admits the pod.
        return answer
    except Conflict as error:
        return replace(answer, said=error.verdict.reasons[0].message)
    except Denied as error:
        return replace(answer, denied=error.verdict.reasons[0].message)
    except NotAdmitted as error:
        return replace(answer, said=error.said)
    # It has what admission fills in, such as the defaults of a LimitRange.
    return replace(answer, spec=admitted.get("spec") or answer.spec)
