"""The controllers that had Ready pods before a machine went, as an annotation of its Kubernetes node has them. Pure.

The annotation is written before the drain, and removed once the pods are Ready again. So the next run knows after a
kill what to wait for, and a pod that was not Ready before holds no run up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...common.errors import NotUnderstood

NOTE = "upgrade.stateful/pods-before"
"""The annotation."""
APPS = "apps/v1"
ALWAYS = "Always"
"""The restart policy of a pod that is to run on, also the default. Pods of Jobs cannot have it."""
OF_CORE = "ReplicationController"
"""The only controller without an API group. A static pod, which never leaves its machine, has its Node as owner."""
DAEMON_SET = "DaemonSet"
RESOURCES = {DAEMON_SET: "daemonsets", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets"}
"""The controllers of `apps/v1`, which say how many pods they want. That of a Deployment is its ReplicaSet, whose number
goes to 0 in a rollout. Of any other controller, such as that of an operator, the pods are counted."""

Controller = tuple[str, str, str]
"""Kind, namespace and name. A kind that is not in `RESOURCES` has its API group behind a dot, as in kubectl."""


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


def kind_in(version: str, kind: str) -> str:
    """The kind of a controller as it stands in the note. `version` is its apiVersion."""
    group = version.partition("/")[0] if "/" in version else ""
    return kind if not group or (version == APPS and kind in RESOURCES) else f"{kind}.{group}"


def stays(version: str, kind: str, spec: Mapping[str, Any]) -> bool:
    """Whether pods of a controller are waited for: those of `apps/v1`, and of others the pods that are to run on. What
    runs to its end, as in a Job or a workflow, never has the restart policy `Always`."""
    if version == APPS and kind in RESOURCES:
        return True
    return ("/" in version or kind == OF_CORE) and spec.get("restartPolicy", ALWAYS) == ALWAYS


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
            f"Annotation {NOTE} of Kubernetes node {machine} is not one that a run writes: {error}.",
            f"Remove it: kubectl annotate node {machine} {NOTE}-. The pods of that machine are then not waited for.",
        ) from error


def _controller(kind: str, namespace: str, name: str, ready: int) -> ReadyBefore:
    texts = (namespace, name)
    is_number = isinstance(ready, int) and not isinstance(ready, bool)
    is_known = kind in RESOURCES or kind == OF_CORE or (isinstance(kind, str) and "." in kind)
    if not is_known or not is_number or not all(isinstance(each, str) and each for each in texts):
        raise ValueError("it names no controller")
    return ReadyBefore(kind, namespace, name, ready)


def joined(earlier: Iterable[ReadyBefore], now: Iterable[ReadyBefore]) -> tuple[ReadyBefore, ...]:
    """The controllers of a note that a killed run has left, and those of now. The earlier number counts: pods that went
    since then are still away."""
    found = {each.key: each for each in (*now, *earlier)}
    return tuple(sorted(found.values()))
