"""The work of the module `kubernetes_nodes`: all of some Kubernetes nodes are fit."""

from __future__ import annotations

from collections.abc import Mapping

from ..common.arguments import CONNECTIONS, WAIT
from ..common.task import Contract, Outcome, Task
from ..common.timestamps import timestamp_of
from ..common.verdict import Verdict
from .answers import reading_object
from .client import KubernetesClient, connect
from .node_fitness import NodeFitness, judge_fitness, parse_fitness
from .rights import Right, may

PATH = "/api/v1/nodes"
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "wait_sleep": {"type": "float", "default": 5.0},
        "names": {"type": "list", "elements": "str", "default": []},
        "baseline": {"type": "str"},
    },
)


def run(task: Task) -> Outcome:
    """Look until all of these are fit, except those that are gone. Nothing is changed."""
    given, names = task.params["baseline"], task.params["names"]
    client = connect(task.params["kubernetes"])
    baseline = timestamp_of(given) if given else None

    def look() -> list[NodeFitness]:
        found = []
        for item in client.list(PATH):
            with reading_object("Node", item):
                found.append(parse_fitness(item))
        return [each for each in found if each.name in names]

    def judge(nodes: list[NodeFitness]) -> Verdict:
        return judge_fitness(nodes, baseline)

    nodes, verdict = task.wait(look, judge, stoppable=True)
    return Outcome(verdict, more={"unfit": sorted(each.name for each in nodes if each.troubles)})


def visible(client: KubernetesClient, nodes: Mapping[str, str]) -> dict[str, str]:
    """The Kubernetes nodes of these members, if the user may look at them, which a Role in a namespace cannot allow.

    Raises:
        Refusal: the API does not answer the question.
    """
    return dict(nodes) if nodes and may(client, "", Right("list", "", "nodes")) else {}
