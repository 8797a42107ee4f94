"""The mark of a Kubernetes node that a run empties for a cluster, until the work on it is done.

It is written before the cordon, and outlasts it: a run that is killed, or whose work fails, uncordons the node, and the
next run sees by the mark that the work is still to be done, and which members were there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..common.attempts import until_unchanged
from ..common.reading import Json, part, text, text_map
from ..common.task import Task
from ..kubernetes.answers import reading_object
from ..kubernetes.client import KubernetesClient
from ..kubernetes.kubernetes_nodes import PATH as NODES
from ..run.undo.temporary_changes import ATTEMPTS

LABEL = "upgrade.stateful/empties-for"
"""The label whose value is the name of the lock of the cluster."""
MEMBERS = "upgrade.stateful/empties-members"
"""The annotation with the members that were on the Kubernetes node, with commas between them."""


@dataclass(frozen=True)
class MarkedNode:
    """A Kubernetes node on which work is still to be done."""

    name: str
    members: frozenset[str]
    """The members that were there when it was marked."""


def marked_nodes(client: KubernetesClient, cluster: str) -> list[MarkedNode]:
    """The Kubernetes nodes with a mark of this cluster, which is named by its lock.

    Raises:
        Refusal: they cannot be had or understood.
    """
    return client.list_as(NODES, _marked, label_selector=f"{LABEL}={cluster}")


def _marked(item: Json) -> MarkedNode:
    with reading_object("Node", item):
        metadata = part(item, "metadata")
        members = text_map(metadata, "annotations").get(MEMBERS, "")
        return MarkedNode(text(metadata, "name"), frozenset(filter(None, members.split(","))))


def mark(task: Task, client: KubernetesClient, name: str, cluster: str, members: Collection[str]) -> None:
    """Mark a Kubernetes node. Members that an earlier mark of this cluster names stay in it. In check mode nothing is
    done.

    Raises:
        Refusal: the mark was not written.
    """

    def wanted(labels: Mapping[str, str], notes: Mapping[str, str]) -> tuple[str | None, str | None]:
        before = notes.get(MEMBERS, "").split(",") if labels.get(LABEL) == cluster else ()
        return cluster, ",".join(sorted({*filter(None, before), *members}))

    _noted(task, client, name, wanted, "marked")


def unmark(task: Task, client: KubernetesClient, name: str, cluster: str) -> None:
    """Take the mark of this cluster off a Kubernetes node.

    Raises:
        Refusal: the mark was not removed.
    """

    def wanted(labels: Mapping[str, str], notes: Mapping[str, str]) -> tuple[str | None, str | None]:
        return (None, None) if labels.get(LABEL) == cluster else (labels.get(LABEL), notes.get(MEMBERS))

    _noted(task, client, name, wanted, "unmarked")


def _noted(task: Task, client: KubernetesClient, name: str, wanted: Any, act: str) -> None:
    def attempt() -> None:
        found = client.get(f"{NODES}/{name}")
        if found is None:
            return
        with reading_object("Node", found):
            metadata = part(found, "metadata")
            labels, notes = text_map(metadata, "labels"), text_map(metadata, "annotations")
            version = text(metadata, "resourceVersion")
        label, members = wanted(labels, notes)
        if (label, members) == (labels.get(LABEL), notes.get(MEMBERS)) or task.check_mode:
            return
        task.still_wanted()
        own = {"resourceVersion": version, "labels": {LABEL: label}, "annotations": {MEMBERS: members}}
        with task.journal.doing((act, f"Node {name}", {})):
            client.patch(f"{NODES}/{name}", {"metadata": own}, "merge")

    until_unchanged(attempt, ATTEMPTS)
