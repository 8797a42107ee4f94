"""The controllers that had Ready pods before a machine went, as an annotation of its Kubernetes node has them. Pure.

The annotation is written before the drain, and removed once the pods are Ready again. So the next run knows after a
kill what to wait for, and a pod that was not Ready before holds no run up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from ...common.errors import NotUnderstood

NOTE = "upgrade.stateful/pods-before"
"""The annotation."""
APPS = "apps/v1"
DAEMON_SET = "DaemonSet"
RESOURCES = {DAEMON_SET: "daemonsets", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets"}
"""The controllers whose pods are waited for, all of `apps/v1`: they say how many pods they want. That of a Deployment
is its ReplicaSet, whose number goes to 0 in a rollout."""

Controller = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclass(frozen=True, order=True)
class ReadyBefore:
    """A controller, and its Ready pods before a machine went."""

    kind: str
    namespace: str
    name: str
    ready: int
    """In the whole cluster; for a DaemonSet on the machine alone, where it has one."""

    @property
    def title(self) -> str:
        """Its kind, namespace and name."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def key(self) -> Controller:
        """The controller without the number."""
        return self.kind, self.namespace, self.name


@dataclass(frozen=True)
class UnreadyPod:
    """A pod that is not Ready."""

    name: str
    """With its namespace."""
    cause: str
    """Why, in the words of Kubernetes; empty if it gives none."""


@dataclass(frozen=True)
class MissingPods:
    """A controller that has fewer Ready pods than before its machine went."""

    machine: str
    controller: ReadyBefore
    ready: int
    """Its Ready pods now; those of a DaemonSet on the machine."""
    wanted: int
    """Those that it has to have."""
    unready: tuple[UnreadyPod, ...] = ()
    """Its pods that are not Ready; none if they were not asked for, or are not made yet."""


def written(found: Iterable[ReadyBefore]) -> str:
    """The text of the annotation."""
    return json.dumps([[*each.key, each.ready] for each in sorted(found)], separators=(",", ":"))


def read_note(machine: str, note: str) -> tuple[ReadyBefore, ...]:
    """The controllers in the annotation of the Kubernetes node of a machine; none without it.

    Raises:
        NotUnderstood: no run writes such a text.
    """
    try:
        return tuple(_controller(*each) for each in json.loads(note or "[]"))
    except (ValueError, TypeError, RecursionError) as error:
        raise NotUnderstood.because(
            "note_unreadable",
            f"Annotation {NOTE} of Kubernetes node {machine} is none that a run writes: {error}.",
            f"Remove it: kubectl annotate node {machine} {NOTE}-. The pods of that machine are then not waited for.",
        ) from error


def _controller(kind: str, namespace: str, name: str, ready: int) -> ReadyBefore:
    texts = (namespace, name)
    is_number = isinstance(ready, int) and not isinstance(ready, bool)
    if kind not in RESOURCES or not is_number or not all(isinstance(each, str) and each for each in texts):
        raise ValueError("it names no controller")
    return ReadyBefore(kind, namespace, name, ready)


def joined(earlier: Iterable[ReadyBefore], now: Iterable[ReadyBefore]) -> tuple[ReadyBefore, ...]:
    """The controllers of a note that a killed run has left, and those of now. The earlier number counts: pods that went
    since then are still away."""
    found = {each.key: each for each in (*now, *earlier)}
    return tuple(sorted(found.values()))
