"""The pods of machines around their upgrade: noted before the drain, and Ready again before the next machine goes.

The note is at the Kubernetes node, so whichever run comes next waits for the pods of a machine that a killed run has
left behind, although that machine is done and in no batch any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from ..common.attempts import until_unchanged
from ..common.errors import Refusal, Unreachable
from ..common.reading import part, text_map
from ..common.task import Task
from ..common.verdict import Reason, Verdict
from ..kubernetes.answers import reading_object
from ..kubernetes.client import KubernetesClient
from ..kubernetes.kubernetes_nodes import PATH as NODES
from .agent_work import ATTEMPTS
from .judge.ready_again import judge_ready_again, left_to_come, noted_still
from .observe.pods_of_machines import missing_pods, ready_before
from .observe.ready_before import NOTE, MissingPods, ReadyBefore, joined, read_note, written
from .observe.state import KubeadmCluster


def note_pods(task: Task, client: KubernetesClient, names: Collection[str]) -> None:
    """Note at each of these machines the controllers that have Ready pods on it, before the first pod leaves.

    Raises:
        Refusal: they cannot be had or understood, or the note was not written.
    """
    for name, found in task.ask(lambda: ready_before(client, names)).items():
        task.ask(partial(_note, task, client, name, found))


def await_pods(task: Task, client: KubernetesClient, seen: KubeadmCluster, names: Iterable[str]) -> Verdict:
    """Wait until the pods of these machines that were Ready before are Ready again, and remove the notes.

    A controller whose pods are back is not asked for again.

    Raises:
        Refusal: a note cannot be read, or an answer cannot be had.
    """
    left = _noted(seen, names)

    def again() -> list[MissingPods]:
        found = list[MissingPods]()
        for name, controllers in left.items():
            missing = missing_pods(client, name, controllers)
            left[name] = tuple(each.controller for each in missing)
            found += missing
        return found

    noted = list(left)
    _last, verdict = task.wait(again, judge_ready_again, remaining=left_to_come)
    for name in noted if verdict.passed else ():
        task.ask(partial(_note, task, client, name, ()))
    return verdict


def notes_put_back(task: Task, client: KubernetesClient, seen: KubeadmCluster) -> tuple[Reason, ...]:
    """Remove the notes of machines whose pods are Ready again. The result has a remark on each of the others, or the
    reasons for which the notes stay."""
    still = list[MissingPods]()
    try:
        for name, controllers in _noted(seen, seen.machines).items():
            missing = missing_pods(client, name, controllers)
            if not missing:
                _note(task, client, name, ())
            still += missing
    except Unreachable:
        raise
    except Refusal as error:
        return error.verdict.reasons
    return noted_still(still)


def is_noted(seen: KubeadmCluster, but: Collection[str] = ()) -> list[str]:
    """The machines, but for these, whose pods are to be waited for."""
    return [name for name, each in seen.machines.items() if each.pods_before and name not in but]


def _noted(seen: KubeadmCluster, names: Iterable[str]) -> dict[str, tuple[ReadyBefore, ...]]:
    there = (seen.machines[name] for name in names if name in seen.machines)
    return {each.name: read_note(each.name, each.pods_before) for each in there if each.pods_before}


def _note(task: Task, client: KubernetesClient, name: str, found: Collection[ReadyBefore]) -> None:
    """Write the note of a machine, or remove it if nothing is `found`."""

    def attempt() -> None:
        item = client.get(f"{NODES}/{name}")
        if item is None:
            return
        with reading_object("Node", item):
            metadata = part(item, "metadata")
            before = text_map(metadata, "annotations").get(NOTE, "")
        note = written(joined(read_note(name, before), found)) if found else ""
        if note == before:
            return
        guard = {each: metadata[each] for each in ("uid", "resourceVersion")}
        body = {"metadata": {**guard, "annotations": {NOTE: note or None}}}
        action = "noted_pods" if note else "noted_pods_back"
        task.act(action, f"Kubernetes node {name}", lambda: client.patch(f"{NODES}/{name}", body, "merge"))

    until_unchanged(attempt, ATTEMPTS)
