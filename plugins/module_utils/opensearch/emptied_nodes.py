"""The work of the part `emptied_nodes`: the Kubernetes nodes of a batch are emptied, and take their pods back.

The members of the batch are stopped by the roll of their pods, which proves that they may go. All other pods are
evicted before, while the members are up. The tasks of the user run while a node is empty. Then it is uncordoned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..common.arguments import CONNECTIONS, NAMESPACE, WAIT
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Reason, Verdict, combine, refused
from ..common.words import enumerate_few
from ..draining.act.draining import Draining
from ..draining.drain import DrainRules, drain
from ..draining.marks import mark, marked_nodes, unmark
from ..draining.observe.placed_pods import placed_pods
from ..draining.planned import PlannedDrains, judge_drains
from ..draining.rights import DRAIN
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.rights import Right, may, missing_rights
from ..run.lock.lock import name_for
from .observe import client as opensearch
from .observe.cluster import observe, uuid_for

MODULE = "upgrade_plan"
"""The module that plans the runs, whose option `take_over` puts back what another run has cordoned."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 1800},
        "wait_sleep": {"type": "float", "default": 1.0},
        "state": {
            "type": "str",
            "required": True,
            "choices": ["planned", "drained", "emptied", "refilled", "restored"],
        },
        "batch": {"type": "list", "elements": "str", "default": []},
        "kubernetes_nodes": {"type": "list", "elements": "str", "default": []},
        "batches": {"type": "dict", "default": {}},
        "tasks_emptied": {"type": "list", "elements": "path", "default": []},
        "take_over": {"type": "str", "default": ""},
    },
)


def run(task: Task) -> Outcome:
    """Bring the Kubernetes nodes into the wanted state."""
    works = {
        "planned": _planned,
        "drained": _drained,
        "emptied": _emptied,
        "refilled": _refilled,
        "restored": restored,
    }
    return works[task.params["state"]](task)


def planning(params: Mapping[str, Any], batches: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The options with which a plan asks whether these batches can be emptied."""
    own = {str(each["name"]): {"nodes": each["empties"], "members": each["members"]} for each in batches}
    return CONTRACT.arguments(params, state="planned", batches=own)


def marks_of(task: Task) -> dict[str, frozenset[str]]:
    """The members on each Kubernetes node that a run of this cluster has started to empty.

    Raises:
        Refusal: they cannot be read.
    """
    cluster, client = name_for(uuid_for(task)), connect(task.params["kubernetes"])
    return {each.name: each.members for each in task.ask(lambda: marked_nodes(client, cluster))}


def _planned(task: Task) -> Outcome:
    """Whether the user may drain, and the Kubernetes nodes can be drained of all but the members."""
    task.may_look()
    client, batches = connect(task.params["kubernetes"]), task.params["batches"]
    rights = missing_rights(client, "", DRAIN)
    if not rights.passed:
        return Outcome(rights)
    spared = {(task.params["namespace"], name) for each in batches.values() for name in each["members"]}
    nodes = {name: each["nodes"] for name, each in batches.items() if each["nodes"]}
    return Outcome(
        combine((rights, task.ask(lambda: judge_drains(client, PlannedDrains.at_once(nodes), (), (), spared))))
    )


def _drained(task: Task) -> Outcome:
    """Mark and cordon the Kubernetes nodes of the batch, and evict all pods there but its members."""
    batch, client = task.params["batch"], connect(task.params["kubernetes"])
    cluster = name_for(uuid_for(task))
    strangers = task.ask(lambda: _strangers(task, client))
    if not strangers.passed:
        return Outcome(strangers)
    for name in task.params["kubernetes_nodes"]:
        task.ask(partial(mark, task, client, name, cluster, batch))
    spared = frozenset((task.params["namespace"], name) for name in batch)
    return drain(task, client, task.params["kubernetes_nodes"], MODULE, DrainRules(spared=spared))


def _emptied(task: Task) -> Outcome:
    """Wait until nothing is left on the Kubernetes nodes of the batch."""
    client = connect(task.params["kubernetes"])
    strangers = task.ask(lambda: _strangers(task, client))
    if not strangers.passed:
        return Outcome(strangers)
    return drain(task, client, task.params["kubernetes_nodes"], MODULE)


def _strangers(task: Task, client: KubernetesClient) -> Verdict:
    """Whether all members on the Kubernetes nodes are of the batch: none is evicted without a proof."""
    state = observe(opensearch.connect(task.params["opensearch"], task.params["kubernetes"]))
    members = {member.name for member in state.members.values()} - {*task.params["batch"]}
    namespace = task.params["namespace"]
    return combine(
        Verdict((_moved_in(name, found),))
        for name in task.params["kubernetes_nodes"]
        if (
            found := sorted(
                pod.name for pod in placed_pods(client, name) if pod.namespace == namespace and pod.name in members
            )
        )
    )


def _moved_in(node: str, members: Sequence[str]) -> Reason:
    several = len(members) > 1
    return refused(
        "member_moved_in",
        f"Kubernetes node {node} is to be emptied, but {enumerate_few(members)} {'are' if several else 'is'} there and"
        " not in the batch.",
        "Run again: the next plan takes all members of the node together.",
    )


def _refilled(task: Task) -> Outcome:
    """Uncordon the Kubernetes nodes of the batch, since the work on them is done, and remove their marks."""
    client, cluster = connect(task.params["kubernetes"]), name_for(uuid_for(task))
    draining, reasons = Draining(task, client, MODULE), list[Reason]()
    for name in task.params["kubernetes_nodes"]:
        reasons += task.ask(partial(draining.uncordon, name))
        task.ask(partial(unmark, task, client, name, cluster))
    return Outcome(Verdict(tuple(reasons)), bool(task.journal.as_result()))


def restored(task: Task) -> Outcome:
    """Uncordon the Kubernetes nodes that runs of this cluster have cordoned.

    The marks stay while the work is still wanted (`tasks_emptied`), so that the next run does it. A user who may not
    list Kubernetes nodes has cordoned none.
    """
    client, cluster = connect(task.params["kubernetes"]), name_for(uuid_for(task))
    # The right is checked first, because a denied list would be retried for two minutes, like any right lost in a run.
    if not task.params["tasks_emptied"] and not task.ask(lambda: may(client, "", Right("list", "", "nodes"))):
        return Outcome(Verdict())
    marked = task.ask(lambda: marked_nodes(client, cluster))
    draining, reasons = Draining(task, client, MODULE), list[Reason]()
    for each in marked:
        reasons += task.ask(partial(draining.uncordon, each.name))
        if not task.params["tasks_emptied"]:
            task.ask(partial(unmark, task, client, each.name, cluster))
    return Outcome(Verdict(tuple(reasons)), bool(task.journal.as_result()), next="nothing")
