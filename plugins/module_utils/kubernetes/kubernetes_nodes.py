# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `kubernetes_nodes`: all Kubernetes nodes of a selector are fit."""

from __future__ import annotations

from ..common.arguments import CONNECTIONS, WAIT
from ..common.moments import moment_of
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, combine, waiting
from .answers import reading_object
from .client import connect
from .node_fitness import NodeFitness, judge_fitness, parse_fitness

PATH = "/api/v1/nodes"
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "wait_sleep": {"type": "float", "default": 5.0},
        "label_selector": {"type": "str"},
        "baseline": {"type": "str"},
    },
)


def run(task: Task) -> Outcome:
    """Look until all are fit. Nothing is changed."""
    selector, given = task.params["label_selector"], task.params["baseline"]
    client = connect(task.params["kubernetes"])
    baseline = moment_of(given) if given else None

    def look() -> list[NodeFitness]:
        found = []
        for item in client.list(PATH, selector):
            with reading_object("Node", item):
                found.append(parse_fitness(item))
        return found

    def judge(nodes: list[NodeFitness]) -> Verdict:
        return combine([judge_fitness(nodes, baseline), *([] if nodes else [_none(selector)])])

    nodes, verdict = task.wait(look, judge, stoppable=True)
    return Outcome(verdict, more={"unfit": sorted(each.name for each in nodes if each.troubles)})


def _none(selector: str | None) -> Verdict:
    said = f"There is no Kubernetes node{f' with the labels {selector}' if selector else ''}."
    return Verdict((waiting("kubernetes_nodes_missing", said, "Correct the labels (upgrade_node_selector)."),))
