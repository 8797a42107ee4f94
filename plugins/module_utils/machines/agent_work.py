"""The operation of the agent of a machine, noted at its Kubernetes node from before its submission until its end was
read.

Only the agent knows whether it still works, and a playbook without the hosts cannot ask it. So the note is what such a
playbook goes by: a machine that has one may restart at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from ..common.attempts import until_unchanged
from ..common.errors import refusal
from ..common.reading import part, text_map
from ..common.task import Outcome, Task
from ..common.verdict import Reason, Verdict, remark
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.kubernetes_nodes import PATH as NODES
from .observe.facts import MachineFacts, is_at_rest
from .observe.reading import OPERATION
from .observe.state import KubeadmCluster

ATTEMPTS = 10
"""Conflicts in a row before the note is given up. The kubelet changes its Kubernetes node, too."""
OPTIONS: dict[str, dict[str, Any]] = {"operation": {"type": "str", "default": ""}}
"""The option of the state `noted`."""

Operations = Mapping[str, str]
"""Operations whose end was not read, by the names of their machines."""


def noted(task: Task) -> Outcome:
    """Note the operation of the agent on the machine of the batch; without one, that none is left.

    Raises:
        Refusal: there is no such Kubernetes node, or the note was not written.
    """
    client, (name,) = connect(task.params["kubernetes"]), task.params["batch"]
    task.ask(lambda: _note(task, client, name, task.params["operation"]))
    return Outcome(Verdict(), bool(task.journal.as_result()))


def operations_left(
    task: Task, client: KubernetesClient, seen: KubeadmCluster, facts: Mapping[str, MachineFacts]
) -> Operations:
    """The operations whose end was not read. The note is removed where the agent has said that it has none.

    Raises:
        Refusal: a note was not removed.
    """
    noted_there = {name: each.operation for name, each in seen.machines.items() if each.operation}
    ended = {name for name in noted_there if is_at_rest(name, facts)}
    for name in ended:
        _note(task, client, name, "")
    return {name: operation for name, operation in noted_there.items() if name not in ended}


def _note(task: Task, client: KubernetesClient, name: str, operation: str) -> None:
    until_unchanged(partial(_attempt, task, client, name, operation), ATTEMPTS)


def _attempt(task: Task, client: KubernetesClient, name: str, operation: str) -> None:
    path = f"{NODES}/{name}"
    found = client.get(path)
    if found is None:
        said = f"There is no Kubernetes node {name}, at which the operation of its agent is noted."
        raise refusal("kubernetes_not_found", said, "Correct upgrade_member, or add the machine to its cluster again.")
    metadata = part(found, "metadata")
    if text_map(metadata, "annotations").get(OPERATION, "") == operation:
        return
    guard = {each: metadata[each] for each in ("uid", "resourceVersion")}
    body = {"metadata": {**guard, "annotations": {OPERATION: operation or None}}}
    action = "noted_operation" if operation else "noted_end"
    task.act(action, f"Kubernetes node {name}", lambda: client.patch(path, body, "merge"))


def stays_for_agent(name: str, unread: str) -> Reason:
    """The remark on a machine that stays cordoned for its agent, which is at work, or whose operation is `unread`."""
    again = "Run the playbook again: it reads the result of the operation and continues."
    if not unread:
        said = f"Machine {name} stays cordoned, since an operation of its agent is in progress, which may restart it."
        return remark("machine_stays_cordoned", said, again)
    said = f"Machine {name} stays cordoned, since the end of operation {unread} of its agent was not read."
    return remark("machine_stays_cordoned", f"{said} It may restart the machine.", f"{again} {_settled(name)}")


def uncordoned_at_work(operations: Operations, cordoned: Collection[str]) -> tuple[Reason, ...]:
    """The remarks on machines that are not cordoned, and on which an agent may be at work."""
    return tuple(
        remark(
            "machine_operation_left",
            f"The end of operation {operation} of the agent on machine {name} was not read, so it may still be at"
            " work there.",
            f"Run the playbook again, which reads its result. {_settled(name)}",
        )
        for name, operation in operations.items()
        if name not in cordoned
    )


def _settled(name: str) -> str:
    return (
        f"To end here instead, see that the agent has ended its operation, kubectl annotate node {name} {OPERATION}-,"
        " and settle."
    )
