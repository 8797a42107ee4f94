"""The task of one machine: its states, its budget and its end. Pure: no I/O, and no clock.

waiting -> claimed -> in progress -> done
   ^          |            |
   +--- an attempt has failed, some are left      failed: nothing is done until a person clears it
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from .bodies import failure, optional_part, optional_text, success
from .coverage import NEVER_COMPARED
from .fields import Json, Segments
from .policy import Budget

HOOK = "UpdateMachine"
CLUSTER_API = "cluster.x-k8s.io/v1beta2"
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
DEPLOYMENT = "cluster.x-k8s.io/deployment-name"
OWNERS = {"cluster.x-k8s.io/control-plane-name": "control-plane", DEPLOYMENT: "deployment"}
"""The labels of a Machine that name its owner, each with the word before the name."""
EVENTS = 20
"""The most events that a task keeps."""


class TaskState(str, Enum):
    """The state of a task."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    IN_PROGRESS = "in-progress"
    FAILED = "failed"
    DONE = "done"


BUSY = (TaskState.CLAIMED, TaskState.IN_PROGRESS)

PASSING = frozenset(
    {"aborted", "drain_timeout", "gate_timeout", "lost", "package_unavailable", "run_failed", "unreachable"}
)
"""Kinds of failures after which the next attempt may succeed. Any other kind, also an unknown one, is for good."""


@dataclass(frozen=True)
class Wanted:
    """The machine, and the digest of the spec that it is to have; or the UpgradeTask for machines of one owner."""

    uid: str
    namespace: str
    name: str
    cluster: str
    version: str
    control_plane: bool
    kubernetes_node: str
    digest: str
    owner: str = ""
    upgrade_task: bool = False

    @property
    def task_name(self) -> str:
        """The name of the ConfigMap, and of the Lease, of its task."""
        return f"{'upgrade-task' if self.upgrade_task else 'machine'}-{self.uid}"


@dataclass(frozen=True)
class Task:
    """The record of the upgrade of one machine. `not_before` and `deadline` are times with a zone."""

    wanted: Wanted
    state: TaskState
    budget: Budget
    created: datetime
    deadline: datetime
    not_before: datetime
    attempts: int = 0
    holder: str = ""
    kind: str = ""
    reason: str = ""
    abort: bool = False
    events: tuple[str, ...] = ()


def digest_of(desired: Mapping[str, Json]) -> str:
    """The digest of the specs of a machine, its infrastructure and its bootstrap configuration.

    Parts that controllers change during an update are left out: metadata, references, and the token to join with.

    Raises:
        BadBody: a spec is no object.
    """
    specs = {name: _without(optional_part(item, "spec"), _LEFT_OUT[name]) for name, item in desired.items() if item}
    content = json.dumps(specs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def wanted_of(machine: Json, desired: Mapping[str, Json]) -> Wanted:
    """The machine of a request: what it is to have, and what its Machine, as it was read, says of it.

    Raises:
        BadBody: the request has no text where there is one.
    """
    cluster, version = (optional_text(desired, "machine", "spec", each) for each in ("clusterName", "version"))
    metadata = machine["metadata"]
    labels = metadata.get("labels") or {}
    return Wanted(
        uid=str(metadata["uid"]),
        namespace=str(metadata["namespace"]),
        name=str(metadata["name"]),
        cluster=cluster,
        version=version,
        control_plane=CONTROL_PLANE in labels,
        kubernetes_node=str(((machine.get("status") or {}).get("nodeRef") or {}).get("name", "")),
        digest=digest_of(desired),
        owner=next((f"{word}/{labels[label]}" for label, word in OWNERS.items() if labels.get(label)), ""),
    )


_LEFT_OUT: Mapping[str, Iterable[Segments]] = {
    "machine": NEVER_COMPARED,
    "infrastructureMachine": {("spec", "providerID")},
    "bootstrapConfig": {("spec", "joinConfiguration", "discovery")},
}


def _without(spec: Json, paths: Iterable[Segments]) -> Json:
    kept = dict(spec)
    for _spec, first, *rest in paths:
        if not rest:
            kept.pop(first, None)
        elif isinstance(kept.get(first), dict):
            kept[first] = _without(kept[first], [("spec", *rest)])
            if not kept[first]:
                del kept[first]
    return kept


def new_task(wanted: Wanted, budget: Budget, now: datetime, events: tuple[str, ...] = ()) -> Task:
    """A task that waits for a run, with a whole budget."""
    deadline = now + timedelta(seconds=budget.deadline)
    made = Task(wanted, TaskState.WAITING, budget, created=now, deadline=deadline, not_before=now, events=events)
    return _noted(made, now, f"requested: {wanted.version}")


def judged(task: Task | None, wanted: Wanted, budget: Budget, now: datetime, alive: bool, cleared: str = "") -> Task:
    """The task after a request for `wanted`.

    `alive` says whether a run still holds the claim; `cleared` names the person who clears a failure.
    """
    if task is None:
        return new_task(wanted, budget, now)
    if task.state is TaskState.FAILED:
        return cleared_by(cleared, task, wanted, budget, now) if cleared else task
    if task.wanted.digest != wanted.digest:
        return _another_target(task, wanted, budget, now, alive)
    if task.state is TaskState.DONE:
        return task
    if task.abort and task.state is TaskState.WAITING:
        # The run has ended, and the target that was to replace it is no longer wanted.
        return new_task(wanted, budget, now, task.events)
    if task.state in BUSY and not alive:
        task = ended(task, "lost", f"the run {task.holder} has given no sign of life", now)
    if task.state is not TaskState.FAILED and now >= task.deadline:
        return _failed(task, now, "deadline", _too_late(task))
    return task


def cleared_by(person: str, task: Task, wanted: Wanted, budget: Budget, now: datetime) -> Task:
    """The task after a person has cleared its failure: a whole budget, and a deadline from now on."""
    return new_task(wanted, budget, now, _noted(task, now, f"cleared: {person}").events)


def _another_target(task: Task, wanted: Wanted, budget: Budget, now: datetime, alive: bool) -> Task:
    if task.state in BUSY and alive:
        return task if task.abort else _noted(replace(task, abort=True), now, f"abort requested for {wanted.version}")
    return new_task(wanted, budget, now, _noted(task, now, f"superseded by {wanted.version}").events)


def _too_late(task: Task) -> str:
    before = f"; the last attempt failed: {task.reason}" if task.reason else ""
    return f"it was not done within {task.budget.deadline} s{before}"


def aborted(task: Task, now: datetime) -> Task:
    """The task once it is no longer wanted: no further run claims it, and a run that has it finishes."""
    return task if task.abort else _noted(replace(task, abort=True), now, "abort requested")


def claimed(task: Task, holder: str, now: datetime) -> Task:
    """The task once a run has claimed it. This takes one attempt of the budget."""
    taken = replace(task, state=TaskState.CLAIMED, holder=holder, attempts=task.attempts + 1)
    return _noted(taken, now, f"claimed: {holder}, attempt {taken.attempts} of {task.budget.attempts}")


def in_progress(task: Task, now: datetime) -> Task:
    """The task once its run works on the machine."""
    return _noted(replace(task, state=TaskState.IN_PROGRESS), now, "in progress")


def done(task: Task, now: datetime) -> Task:
    """The task once its run has succeeded."""
    return _noted(replace(task, state=TaskState.DONE, holder="", kind="", reason="", abort=False), now, "done")


def ended(task: Task, kind: str, reason: str, now: datetime) -> Task:
    """The task after a failed attempt: waiting once more, or failed for good."""
    reason = reason.rstrip(".")  # It stands within sentences.
    if kind not in PASSING:
        return _failed(task, now, kind, reason)
    if task.attempts >= task.budget.attempts and not task.abort:
        return _failed(task, now, kind, f"attempt {task.attempts} of {task.budget.attempts} failed: {reason}")
    again = replace(task, state=TaskState.WAITING, holder="", kind=kind, reason=reason)
    again = replace(again, not_before=now + timedelta(seconds=task.budget.pause))
    return _noted(again, now, f"attempt {task.attempts} failed: {kind}")


def _failed(task: Task, now: datetime, kind: str, reason: str) -> Task:
    failed = replace(task, state=TaskState.FAILED, holder="", kind=kind, reason=reason)
    return _noted(failed, now, f"failed: {kind}")


def _noted(task: Task, now: datetime, event: str) -> Task:
    line = f"{now.strftime('%Y-%m-%dT%H:%M:%SZ')} {event}"
    return replace(task, events=(*task.events, line)[-EVENTS:])


def reply(task: Task, wanted: Wanted, clearing: str) -> Json:
    """The answer to UpdateMachine. It is the same for the same task, because Cluster API writes it into a condition.

    `clearing` is the command with which a person clears the failure.
    """
    if task.state is TaskState.FAILED:
        message = f"The upgrade to {task.wanted.version} has failed: {task.reason}."
        return failure(HOOK, f"{message} Nothing is done until a person clears it: {clearing}", retryAfterSeconds=0)
    if task.state is TaskState.DONE and task.wanted.digest == wanted.digest:
        return success(HOOK, f"The machine has {task.wanted.version}.", retryAfterSeconds=0)
    return success(HOOK, _busy_with(task, wanted), retryAfterSeconds=task.budget.poll)


def _busy_with(task: Task, wanted: Wanted) -> str:
    attempt = f"attempt {task.attempts} of {task.budget.attempts}"
    if task.wanted.digest != wanted.digest:
        return (
            f"The upgrade to {wanted.version} waits for the end of the one to {task.wanted.version} by {task.holder}."
        )
    if task.state in BUSY:
        return (
            f"The upgrade to {task.wanted.version} is {task.state.value.replace('-', ' ')} by {task.holder}, {attempt}."
        )
    if task.reason:
        return f"The upgrade to {task.wanted.version} waits for a run to repeat it; {attempt} failed: {task.reason}."
    return f"The upgrade to {task.wanted.version} waits for a run to claim it."


def claimable(tasks: Iterable[Task], alive: Mapping[str, bool], now: datetime, side_by_side: int = 1) -> list[Task]:
    """The tasks that a run may claim, in their order: those that were begun first, then the oldest.

    In one cluster at most `side_by_side` are busy. `alive` says of each UID whether a run holds its claim.
    """
    listed = list(tasks)
    busy: dict[tuple[str, str], int] = {}
    for task in listed:
        if alive.get(task.wanted.uid):
            busy[cluster_of(task)] = busy.get(cluster_of(task), 0) + 1
    free = [task for task in listed if _may_be_claimed(task, now) and not alive.get(task.wanted.uid)]
    free = [task for task in free if busy.get(cluster_of(task), 0) < side_by_side]
    return sorted(free, key=lambda task: (task.attempts == 0, task.created, task.wanted.uid))


def cluster_of(task: Task) -> tuple[str, str]:
    """The cluster of a task: its namespace and its name."""
    return task.wanted.namespace, task.wanted.cluster


def _may_be_claimed(task: Task, now: datetime) -> bool:
    return task.state is TaskState.WAITING and not task.abort and task.not_before <= now < task.deadline
