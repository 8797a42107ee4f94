"""The status of a pod as a kubelet writes it: pure functions from container states to JSON.

Rules: Kubernetes' own (pkg/kubelet/kubelet_pods.go, pkg/kubelet/status): the phase is Pending until every container
has run once, a condition's lastTransitionTime changes only with its status, Ready is ContainersReady and every
readiness gate.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


def timestamp() -> str:
    """The time of day as Kubernetes writes a Time: whole seconds in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Waiting:
    """Not running, but meant to."""

    reason: str
    message: str = ""

    def json(self) -> Json:
        return {"waiting": {"reason": self.reason, **({"message": self.message} if self.message else {})}}


@dataclass(frozen=True)
class Running:
    """Running since a time."""

    started_at: str

    def json(self) -> Json:
        return {"running": {"startedAt": self.started_at}}


@dataclass(frozen=True)
class Terminated:
    """Ended; the exit code is 128 and the signal's number where a signal ended the process."""

    exit_code: int
    reason: str
    started_at: str
    finished_at: str
    container_id: str
    message: str = ""

    def json(self) -> Json:
        content = {
            "exitCode": self.exit_code,
            "reason": self.reason,
            "startedAt": self.started_at,
            "finishedAt": self.finished_at,
            "containerID": self.container_id,
        }
        return {"terminated": {**content, **({"message": self.message} if self.message else {})}}


@dataclass(frozen=True)
class ContainerState:
    """One container at one time."""

    name: str
    image: str
    state: Waiting | Running | Terminated
    last: Terminated | None = None
    restarts: int = 0
    started: bool = False
    ready: bool = False
    container_id: str = ""

    def json(self) -> Json:
        return {
            "name": self.name,
            "image": self.image,
            "imageID": f"lab://{self.image}" if self.container_id else "",
            "containerID": self.container_id,
            "state": self.state.json(),
            "lastState": self.last.json() if self.last else {},
            "restartCount": self.restarts,
            "started": self.started,
            "ready": self.ready,
        }


@dataclass(frozen=True)
class PodView:
    """One pod at one time; `final` is set once nothing of it runs or will run again."""

    address: str
    node_address: str
    start_time: str
    initialized: bool
    containers: Sequence[ContainerState]
    init_containers: Sequence[ContainerState]
    final: bool


def phase(view: PodView) -> str:
    """Pending, Running, Succeeded or Failed."""
    if view.final:
        ended = [item.state for item in (*view.containers, *view.init_containers)]
        failed = any(isinstance(state, Terminated) and state.exit_code != 0 for state in ended)
        return "Failed" if failed else "Succeeded"
    never_ran = any(isinstance(item.state, Waiting) and item.last is None for item in view.containers)
    return "Pending" if never_ran or not view.initialized else "Running"


def _conditions(view: PodView, manifest: Json) -> dict[str, tuple[bool, str, str]]:
    """Status, reason and message by type."""
    unready = [item.name for item in view.containers if not item.ready]
    sandbox = any(item.container_id for item in (*view.containers, *view.init_containers)) and not view.final
    if view.final:
        containers = (False, "PodCompleted" if phase(view) == "Succeeded" else "PodFailed", "")
    elif unready:
        containers = (False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    else:
        containers = (True, "", "")
    pending = [item.name for item in view.init_containers if not item.ready]
    initialized = (True, "", "")
    if not view.initialized:
        initialized = (False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(pending)}]")
    return {
        "PodReadyToStartContainers": (sandbox, "", ""),
        "Initialized": initialized,
        "ContainersReady": containers,
        "Ready": _gated(containers, manifest),
    }


def _gated(containers: tuple[bool, str, str], manifest: Json) -> tuple[bool, str, str]:
    gates = [gate["conditionType"] for gate in manifest["spec"].get("readinessGates", [])]
    given = {item["type"]: item["status"] for item in manifest.get("status", {}).get("conditions", [])}
    closed = [gate for gate in gates if given.get(gate) != "True"]
    if containers[0] and closed:
        return (
            False,
            "ReadinessGatesNotReady",
            f"corresponding conditions of pod readiness gates do not exist: {closed}",
        )
    return containers


def pod_status(view: PodView, manifest: Json, known: Mapping[str, Json], now: str) -> Json:
    """The status to write. `known` are the conditions written last, by type: unchanged ones keep their time."""
    generation = manifest["metadata"].get("generation", 0)
    conditions = []
    for kind, (holds, reason, message) in _conditions(view, manifest).items():
        status = "True" if holds else "False"
        before = known.get(kind, {})
        same = before.get("status") == status and before.get("lastTransitionTime")
        conditions.append(
            {
                "type": kind,
                "status": status,
                "reason": reason or None,
                "message": message or None,
                "lastTransitionTime": before["lastTransitionTime"] if same else now,
                "observedGeneration": generation,
            }
        )
    status_json: Json = {
        "observedGeneration": generation,
        "phase": phase(view),
        "startTime": view.start_time,
        "hostIP": view.node_address,
        "hostIPs": [{"ip": view.node_address}],
        "conditions": conditions,
        "containerStatuses": [item.json() for item in view.containers],
    }
    if view.init_containers:
        status_json["initContainerStatuses"] = [item.json() for item in view.init_containers]
    if any(item.container_id for item in (*view.containers, *view.init_containers)):
        status_json |= {"podIP": view.address, "podIPs": [{"ip": view.address}]}
    return status_json
