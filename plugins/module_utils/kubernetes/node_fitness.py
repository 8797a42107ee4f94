"""The fitness of Kubernetes nodes: whether pods may run on them, and whether they have room. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ..common.reading import Json, flag, listed, text, within
from ..common.verdict import Reason, as_verdict, remark, waiting

PREFIX = "node.kubernetes.io/"
CORDONED = f"{PREFIX}unschedulable"
TROUBLES = {
    CORDONED: "is cordoned",
    f"{PREFIX}not-ready": "is not Ready",
    f"{PREFIX}unreachable": "is unreachable",
    f"{PREFIX}memory-pressure": "is under memory pressure",
    f"{PREFIX}disk-pressure": "is under disk pressure",
    f"{PREFIX}pid-pressure": "has nearly no process ids left",
    f"{PREFIX}network-unavailable": "has no network",
}
"""The taints that the node controller gives a Kubernetes node that is unfit
(https://kubernetes.io/docs/reference/labels-annotations-taints/), and what each says."""

PRESSURES = {f"{kind}Pressure": TROUBLES[f"{PREFIX}{kind.lower()}-pressure"] for kind in ("Memory", "Disk", "PID")}
"""The conditions that a kubelet sets, from which the first of these taints follow."""


@dataclass(frozen=True)
class NodeFitness:
    """One Kubernetes node."""

    name: str
    troubles: tuple[tuple[str, datetime | None], ...]
    """The taints that say that it is unfit, each with the time since when it has it; None if that is not known."""


def parse_fitness(item: Json) -> NodeFitness:
    """The fitness of a Kubernetes node from its object."""
    name = within(item, "metadata", lambda metadata: text(metadata, "name"))
    taints = dict(within(item, "spec", lambda spec: listed(spec, "taints", _taint, ()), {}))
    if within(item, "spec", lambda spec: flag(spec, "unschedulable", default=False), {}):
        taints.setdefault(CORDONED, None)
    return NodeFitness(name, tuple((key, since) for key, since in sorted(taints.items()) if key in TROUBLES))


def _taint(raw: Json) -> tuple[str, datetime | None]:
    added = text(raw, "timeAdded", "")
    return text(raw, "key"), datetime.fromisoformat(added.replace("Z", "+00:00")) if added else None


@as_verdict
def judge_fitness(nodes: Iterable[NodeFitness], baseline: datetime | None) -> Iterator[Reason]:
    """Whether all of them are fit. One that was unfit before the `baseline` is reported, and stops nothing."""
    for node in sorted(nodes, key=lambda each: each.name):
        for taint, since in node.troubles:
            said = f"Kubernetes node {node.name} {TROUBLES[taint]}"
            if baseline is not None and since is not None and since <= baseline:
                yield remark("kubernetes_node_unfit_before", f"{said}, as it was when the upgrade began.")
            else:
                yield waiting(
                    "kubernetes_node_unfit",
                    f"{said}.",
                    "Uncordon it, or fix it. To continue without, skip the step nodes or nodes_after (upgrade_steps).",
                    about=node.name,
                )
