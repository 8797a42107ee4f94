"""The ConfigMap of a task and the Lease of its claim: the contract with the runs that do the work. Pure: no I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from typing import Any

from .fields import Json
from .policy import Budget
from .tasks import Task, TaskState, Wanted

TASK_LABEL = "upgrade.stateful/machine-task"
UPGRADE_TASK_LABEL = "upgrade.stateful/upgrade-task"
"""The label of the task of an UpgradeTask, with its name, cut to what a label may have."""
LABEL = 63
"""The most characters of the value of a label."""
STATE_LABEL = "upgrade.stateful/state"
CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
CLEAR = "upgrade.stateful/clear"
"""The annotation with which a person clears a failure; its value is the person or the cause."""
CLEARED = "upgrade.stateful/cleared"
"""An annotation of a Machine: any change of it has Cluster API ask again at once."""
TIMES = ("created", "deadline", "not_before")


class NotUnderstood(ValueError):
    """An object that another program has written in another form: one sentence."""


def config_map_of(task: Task, namespace: str, version: str = "") -> Json:
    """The ConfigMap of a task, to be written over the resourceVersion that was read, or made if that is empty."""
    content = asdict(task)
    content.update({name: _written(content[name]) for name in TIMES}, state=task.state.value)
    metadata: Json = {
        "name": task.wanted.task_name,
        "namespace": namespace,
        "labels": {
            **_marked(task.wanted),
            STATE_LABEL: task.state.value,
            CLUSTER_LABEL: task.wanted.cluster,
        },
    }
    if version:
        metadata["resourceVersion"] = version
    data = {"task.json": json.dumps(content, sort_keys=True)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _marked(wanted: Wanted) -> dict[str, str]:
    return {UPGRADE_TASK_LABEL: wanted.name[:LABEL].rstrip("-.")} if wanted.upgrade_task else {TASK_LABEL: "true"}


def task_of(config_map: Mapping[str, Any]) -> Task:
    """The task in a ConfigMap.

    Raises:
        NotUnderstood: it has another form.
    """
    try:
        content = dict(json.loads(config_map["data"]["task.json"]))
        times = {name: _read(content[name]) for name in TIMES}
        fixed = {
            "state": TaskState(content["state"]),
            "wanted": Wanted(**content["wanted"]),
            "budget": Budget(**content["budget"]),
            "events": tuple(map(str, content["events"])),
        }
        return Task(**{**content, **times, **fixed})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        name = (config_map.get("metadata") or {}).get("name", "")
        raise NotUnderstood(
            f"The ConfigMap {name} holds no task that can be read: delete it, and it is made again."
        ) from error


def cleared_in(config_map: Mapping[str, Any]) -> str:
    """The person who clears the failure, or the cause that is given; empty if no one does."""
    found = (config_map["metadata"].get("annotations") or {}).get(CLEAR)
    return str(found or "a person") if found is not None else ""


def lease_of(task: Task, namespace: str, holder: str, seconds: int, now: datetime, version: str = "") -> Json:
    """The Lease of a claim, renewed now."""
    metadata: Json = {"name": task.wanted.task_name, "namespace": namespace, "labels": _marked(task.wanted)}
    if version:
        metadata["resourceVersion"] = version
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": _micro(now)}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def holder_at(lease: Mapping[str, Any] | None, now: datetime) -> str:
    """The holder of a claim that is in force; empty if there is none.

    Raises:
        NotUnderstood: the Lease has no times.
    """
    spec = (lease or {}).get("spec") or {}
    if not spec.get("holderIdentity"):
        return ""
    try:
        end = _read(spec["renewTime"]) + timedelta(seconds=int(spec["leaseDurationSeconds"]))
    except (KeyError, TypeError, ValueError) as error:
        name = ((lease or {}).get("metadata") or {}).get("name", "")
        raise NotUnderstood(f"The Lease {name} has a holder, but no times: delete it.") from error
    return str(spec["holderIdentity"]) if now < end else ""


def _written(time: datetime) -> str:
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro(time: datetime) -> str:
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read(written: str) -> datetime:
    time = datetime.fromisoformat(written.replace("Z", "+00:00"))
    if time.tzinfo is None:
        raise ValueError(written)
    return time.astimezone(timezone.utc)
