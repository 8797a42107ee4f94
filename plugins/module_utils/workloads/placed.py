"""The Kubernetes nodes that hold the copies and votes of the databases on them, from which batches are cut."""

from __future__ import annotations

from dataclasses import replace

from ..common.task import Task
from ..common.waiting import FIRST_ANSWER
from ..kubernetes.client import connect as kubernetes
from ..longhorn.judge.copies import placement as of_volumes
from ..longhorn.observe.kinds import NAMESPACE as OF_LONGHORN
from ..longhorn.observe.look import look as look_at_longhorn
from ..opensearch.judge.checks import BEFORE_BATCH
from ..opensearch.judge.disk import ZONE
from ..opensearch.judge.proof import placement_of
from ..opensearch.member_list import members_in
from ..opensearch.observe.client import connect
from ..opensearch.observe.cluster import observe
from ..run.colouring import Placement
from .going_down import arguments_of
from .workload import Workload, workloads_in


def placed(task: Task) -> Placement:
    """The placement of all databases of the option `workloads` on Kubernetes nodes, as they are now.

    Raises:
        Refusal: one of them does not answer, or not as it should.
    """
    given, found = replace(task, first_answer=FIRST_ANSWER), Placement()
    for workload in workloads_in(task.params["workloads"]):
        found = found.and_of(_members(given, workload) if workload.searches else _volumes(given, workload))
    return found


def _members(task: Task, workload: Workload) -> Placement:
    params = arguments_of(task, workload, moment=BEFORE_BATCH)

    def look() -> Placement:
        state = observe(connect(params["opensearch"], params["kubernetes"]))
        listed = members_in(state, {**params, "zone_attribute": ZONE})
        return placement_of(state).at({each.name: each.kubernetes_node for each in listed if each.kubernetes_node})

    return task.ask(look)


def _volumes(task: Task, workload: Workload) -> Placement:
    client, namespace = kubernetes(task.params["kubernetes"]), workload.namespace or OF_LONGHORN
    return of_volumes(task.ask(lambda: look_at_longhorn(client, namespace)))
