"""The part of a plan about the Kubernetes nodes that a run empties for the tasks of the user."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ..common.task import Outcome, Task
from ..common.verdict import combine
from .emptied_nodes import marks_of
from .judge.emptied import EmptiedBatch, emptied_with, judge_emptied, with_all_on_nodes
from .judge.pools import Pool
from .observe.version import Version
from .pool_order import Drawn

SAID = "; Kubernetes node {} is drained, and the tasks of tasks_emptied run while it is empty"


@dataclass
class Emptying:
    """The pools of a plan, in which all members on an emptied Kubernetes node go."""

    task: Task
    wanted: bool
    pools: tuple[Pool, ...] = ()
    marked: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The Kubernetes nodes that an earlier run has started to empty, and the members that were there."""

    def drawn(self, drawn: Drawn, target: Version) -> Drawn:
        """The pools, in which all members on an emptied Kubernetes node go.

        Raises:
            Refusal: the marks of an earlier run cannot be read.
        """
        if not self.wanted:
            return drawn
        self.marked, only = marks_of(self.task), self.task.params["members"]
        self.pools = with_all_on_nodes(drawn.pools, self.marked, target, only)
        return replace(drawn, pools=self.pools)

    def judged(self, order: Outcome) -> Outcome:
        """The order with the Kubernetes nodes that each batch empties, and the verdict on them."""
        batches = order.more.get("batches")
        if batches is None:
            return order
        if not self.wanted:
            none = [{**each, "empties": []} for each in batches]
            return replace(order, more={**order.more, "batches": none, "marked_nodes": []})
        found = emptied_with(batches, self.pools)
        own = [
            {**each, "empties": [*one.kubernetes_nodes], "reason": each["reason"] + _said(one)}
            for each, one in zip(batches, found, strict=True)
        ]
        more = {**order.more, "batches": own, "marked_nodes": sorted(self.marked)}
        reasons, given = {each["name"]: str(each["reason"]) for each in batches}, self.task.params
        still = given["allow_quorum_loss"]
        judged = judge_emptied(self.pools, found, given["batching"], reasons, may_stand_still=still)
        return replace(order, verdict=combine((order.verdict, judged)), more=more)


def planned_with(task: Task) -> Emptying:
    """The emptying of a plan, which does nothing unless tasks are given for it."""
    return Emptying(task, bool(task.params["tasks_emptied"]))


def _said(batch: EmptiedBatch) -> str:
    return SAID.format(", ".join(batch.kubernetes_nodes)) if batch.kubernetes_nodes else ""
