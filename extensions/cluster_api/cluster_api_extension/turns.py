"""Which UpgradeTasks a worker carries out, in which order, and why it leaves the others. Pure: no I/O."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from .fields import Json
from .policy import Budget
from .tasks import Task, Wanted, cluster_of
from .upgrade_tasks import (
    ABORT,
    COMPLETE,
    CONTROL_PLANE_REF,
    DEPLOYMENT_REF,
    age_of,
    digest_of_task,
    is_aborted,
    is_made,
    is_open,
    owner_of,
    phase_of,
)

OWNER_WORDS = {CONTROL_PLANE_REF: "control-plane", DEPLOYMENT_REF: "deployment"}
"""The word before the name of an owner, by the field of an UpgradeTask, as the task of a machine has it."""
ONGOING = "Ongoing"


@dataclass(frozen=True)
class Choice:
    """The UpgradeTasks of a worker: their clusters, as a pattern of namespace/name, their upgrader and their budget."""

    clusters: str = "*"
    upgrader: Mapping[str, str] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)

    @property
    def namespace(self) -> str:
        """The namespace of all its clusters; empty if there may be several."""
        namespace, slash, _name = self.clusters.partition("/")
        return "" if not slash or any(each in namespace for each in "*?[") else namespace


@dataclass(frozen=True)
class Turn:
    """An open UpgradeTask of a worker: whether a run has begun it, and its age, for its place in the order."""

    begun: bool
    age: tuple[str, str]


def turn_of(task: Json) -> Turn:
    """The place of an UpgradeTask. A run of a person, too, writes that it has begun one."""
    return Turn(phase_of(task) == ONGOING, age_of(task))


def is_over(task: Json) -> bool:
    """Whether there is nothing to do, and nothing to say: it is complete, or its abort has ended."""
    return phase_of(task) in (COMPLETE, ABORT)


def left_because(task: Json, listed: Sequence[Json], cluster: tuple[str, str], choice: Choice) -> str:
    """The cause for which no run is started for an UpgradeTask that is not over, with the remedy; empty if one may be.

    `listed` are all UpgradeTasks, and `cluster` is the namespace and the name of its Cluster. One of the service names
    the upgrader of its policy, and the service itself aborts those before it.
    """
    namespace, called = task["metadata"]["namespace"], "/".join(cluster)
    if is_aborted(task):
        return "it is aborted or being deleted. The playbook settle puts back what its run may have left."
    if not cluster[1]:
        return "it names no Cluster, and its first Machine is not there: give spec.cluster."
    if not fnmatch.fnmatchcase(called, choice.clusters):
        return f"it is for Cluster {called}, and this worker has those of {choice.clusters} (--cluster)."
    if is_made(task):
        return ""
    if cluster[0] != namespace:
        return f"its Cluster is in namespace {cluster[0]}: make it there, next to its Machines."
    if other := _other_upgrader(task, choice.upgrader):
        return f"{other}: give that upgrader in the policy (external.upgrader, --policy), or leave upgraderRef out."
    if newer := _newer(task, listed):
        return f"{newer} was made later for the same owner, and replaces it."
    return ""


def _other_upgrader(task: Json, upgrader: Mapping[str, str]) -> str:
    """The words for an upgrader that is not that of the worker. A field that one of them leaves out does not count."""
    named = (task["spec"].get("template") or {}).get("upgraderRef") or {}
    both = [name for name in ("apiVersion", "kind", "namespace", "name") if named.get(name) and upgrader.get(name)]
    if not named or (upgrader and all(named[name] == upgrader[name] for name in both)):
        return ""
    own = f"{_kind_and_name(upgrader)} is that of this worker" if upgrader else "this worker has none"
    return f"its template.upgraderRef names {_kind_and_name(named)}, and {own}"


def _kind_and_name(reference: Mapping[str, str]) -> str:
    return f"{reference.get('kind', '')} {reference.get('name', '')}".strip()


def _newer(task: Json, listed: Sequence[Json]) -> str:
    """The name of the newest open one of the same owner, if that is another one."""
    owner = owner_of(task)
    same = [each for each in listed if is_open(each) and owner is not None and owner_of(each) == owner]
    newest = max(same, key=age_of, default=task)
    return "" if newest["metadata"]["uid"] == task["metadata"]["uid"] else str(newest["metadata"]["name"])


def wanted_by(task: Json, cluster: str) -> Wanted:
    """An UpgradeTask of a person as what its runs work on, with its owner as a request of the service names it."""
    metadata, spec, owner = task["metadata"], task["spec"], owner_of(task)
    return Wanted(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        cluster=cluster,
        version=str(spec["newMachineSpec"].get("version") or ""),
        control_plane=CONTROL_PLANE_REF in spec,
        kubernetes_node="",
        digest=digest_of_task(task),
        owner=f"{OWNER_WORDS[owner[1]]}/{owner[2]}" if owner else "",
        upgrade_task=True,
    )


def in_turn(free: Iterable[Task], tasks: Iterable[Task], turns: Mapping[str, Turn], now: datetime) -> list[Task]:
    """The tasks of UpgradeTasks that a run may claim, of those that are `free`: one that was begun, then the oldest.

    In one cluster one that was begun is finished before another is chosen, also while it waits for its next attempt.
    `tasks` are all that are open, and `turns` has the UpgradeTasks of the worker by their UIDs.
    """
    own = [task for task in tasks if task.wanted.uid in turns]
    unfinished = {cluster_of(task) for task in own if _begun(task, turns) and not task.abort and now < task.deadline}
    found = [task for task in free if task.wanted.uid in turns]
    found = [task for task in found if _begun(task, turns) or cluster_of(task) not in unfinished]
    return sorted(found, key=lambda task: (not _begun(task, turns), turns[task.wanted.uid].age))


def _begun(task: Task, turns: Mapping[str, Turn]) -> bool:
    return task.attempts > 0 or turns[task.wanted.uid].begun
