"""Each change that the switch of a node's engine makes, with its undo in the same patch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...common.errors import Conflict, Refusal
from ...common.task import Task
from ...common.timestamps import now_text
from ...common.verdict import Reason, waiting
from ...kubernetes.client import Json, KubernetesClient
from ...run.lock.lock_watch import Writers
from ...run.undo.temporary_changes import change, judge_undo, put_back
from ...run.undo.undo import Change, Path
from ..judge.interruptions import attached_now, run_of
from ..judge.stages import Act
from ..observe.kinds import (
    ATTACHED_MARK,
    CRON_JOBS,
    DEFAULT_IMAGE,
    EMPTIED,
    HOME_MARK,
    INSTANCE_MANAGERS,
    NODE_MARK,
    NODES,
    REPLENISHMENT,
    RUN,
    SETTINGS,
    SNAPSHOTS,
    TARGET,
    VOLUMES,
    label_of,
    path_of,
)
from ..observe.state import Longhorn

SCHEDULING: Path = ("spec", "allowScheduling")
ENGINE: Path = ("spec", "engineNodeID")
REPLICAS: Path = ("spec", "numberOfReplicas")
VALUE: Path = ("value",)
SUSPEND: Path = ("spec", "suspend")
MARK: Path = ("metadata", "annotations", NODE_MARK)
HOME: Path = ("metadata", "annotations", HOME_MARK)

OF_RUN = frozenset({REPLICAS})
"""Changes that last for the whole run. The others last for one node."""
OF_ENGINE = frozenset({ENGINE, HOME})
"""Changes with which an engine is away."""
LONG = 86_400
"""Seconds for which Longhorn waits for a failed replica during a run, before it makes another elsewhere."""
LOOK_AGE = 10.0
"""The most seconds since the start of a look for which an instance manager is replaced by it. A look is several
requests, and each may be repeated for as long as a request may take."""
TOO_OLD = "look_too_old"
"""The code of the wait for a newer look."""
GONE = "kubernetes_not_found"
"""The code of the refusal to change an object that is not there."""
NOT_ADMITTED = "kubernetes_refused"
"""The code of the refusal of a change by the API server or a webhook, such as Longhorn's own."""
TURNED_DOWN = "act_refused"
"""The code of the wait after such a refusal."""
LAST = frozenset({"unmark_node"})
"""The acts after which a node is done, without a further look. They have to be made."""


def is_known(made: Change) -> bool:
    """Whether a run of this collection makes such a change of an object of Longhorn."""
    was, set_to = made.was, made.set_to
    if made.path == SCHEDULING:
        return isinstance(was, bool) and isinstance(set_to, bool)
    if made.path == REPLICAS:
        return (was, set_to) == (1, 2)
    if made.path == VALUE:
        return isinstance(was, str) and was.isdecimal() and set_to == str(LONG)
    if made.path == SUSPEND:
        return was in {None, False} and set_to is True
    named = {ENGINE, MARK, HOME}
    return made.path in named and isinstance(set_to, str) and (was is None or isinstance(was, str))


@dataclass(frozen=True)
class At:
    """The things that the acts after one look need."""

    task: Task
    client: KubernetesClient
    seen: Longhorn
    image: str
    """The image that the node is to run; empty if its engines are only moved away."""
    writers: Writers
    looked: float | None = None
    """The time at which the look started; None if nothing is replaced by it."""

    def change(self, kind: str, name: str, wanted: Mapping[Path, Any]) -> None:
        """Change an object, with its undo."""
        path = path_of(self.seen.namespace, kind, name)
        change(self.task, self.client, path, wanted, is_known, self.writers.judge)

    def put_back(self, kind: str, name: str) -> None:
        """Put back what the undo of an object names. A value that another has changed since is left, and named."""
        path, judge = path_of(self.seen.namespace, kind, name), self.writers.judge

        def of_node(made: Change) -> bool:
            return made.path not in OF_RUN

        for each in put_back(self.task, self.client, path, is_known, judge, of_node)[1]:
            self.task.progress(each.message)

    def still_wanted(self) -> None:
        """Called before an act that is no change with an undo."""
        if not self.task.check_mode:
            self.task.still_wanted()

    def still_fresh(self, node: str) -> None:
        """Called immediately before the instance manager of the node is replaced.

        Raises:
            Refusal: the look is too old, and has to be made again.
        """
        age = 0.0 if self.looked is None else self.task.clock.now() - self.looked
        if age > LOOK_AGE:
            said = f"The last look at the volumes of node {node} began {age:.0f} s ago, so it is made again."
            raise Refusal(waiting(TOO_OLD, said, "See why the API server is slow.", about=node))


def judge_runs(client: KubernetesClient, seen: Longhorn, nodes: Collection[str], writers: Writers) -> None:
    """Check that no run is alive whose changes for these nodes are still to be put back.

    The switch of such a node continues, so another run takes over its undo.

    Raises:
        Refusal: one of these runs lives, or what it has left cannot be read.
    """
    begun = [(NODES, name) for name, each in seen.nodes.items() if each.carries_undo and name in nodes]
    begun += [(VOLUMES, each.name) for each in seen.v2_volumes if each.carries_undo and each.home_mark in nodes]
    for kind, name in begun:
        judge_undo(client, path_of(seen.namespace, kind, name), is_known, writers.judge)


def turned_down(cause: Reason, about: str) -> Reason:
    """The wait after Longhorn, or the API server, has refused a change for now."""
    return waiting(TURNED_DOWN, f"A change was refused, and is tried again. {cause.message}", cause.remedy, about=about)


Performed = Callable[[At, Act], None]


def perform(at: At, acts: Iterable[Act], known: Mapping[str, Performed] | None = None) -> list[Reason]:
    """Make the acts that are due. The result has a waiting reason for each that Longhorn has refused for now.

    An object that is gone needs no act, and one that was changed since the look gets it after the next look, which
    shows what is left. `known` has the acts by their kind, if there are more than those of this file.

    Raises:
        Refusal: the run may not act any more, a right is missing, or the API does not answer.
    """
    refusals = []
    for act in acts:
        try:
            (known or ACTS)[act.kind](at, act)
        except Conflict as error:
            if act.kind in LAST:
                refusals.append(turned_down(error.verdict.reasons[0], act.target))
        except Refusal as error:
            cause = error.verdict.reasons[0]
            if cause.code == NOT_ADMITTED:
                refusals.append(turned_down(cause, act.target))
            elif cause.code == TOO_OLD:
                refusals.append(cause)
            elif cause.code != GONE:
                raise
    return refusals


def name_of_run(at: At) -> str:
    """The name of the run on the things that it makes and marks; outside a run it is made of the time."""
    return at.task.run or f"outside-{''.join(each for each in now_text() if each.isdigit())}"


def _keep_replicas(at: At, _act: Act) -> None:
    """Have Longhorn wait for the replicas of the node instead of making others elsewhere."""
    present = at.seen.settings.get(REPLENISHMENT, "")
    if present.isdecimal() and int(present) < LONG:
        at.change(SETTINGS, REPLENISHMENT, {VALUE: str(LONG)})


def _mark_node(at: At, act: Act) -> None:
    node = at.seen.nodes[act.target]
    mark = node.mark or name_of_run(at)
    if not (at.image or at.task.run):
        mark = f"{run_of(node) or mark}{EMPTIED}"
    at.change(NODES, act.target, {SCHEDULING: False, MARK: mark})


def _snapshot(at: At, act: Act) -> None:
    run = run_of(at.seen.nodes[act.node])
    name = f"upgrade-{hashlib.sha256(f'{run} {act.node} {act.target}'.encode()).hexdigest()[:20]}"
    labels = {RUN: run, TARGET: label_of(at.image)}
    annotations = {ATTACHED_MARK: attached_now(at.seen, at.seen.volumes[act.target]).text()}
    made: Json = {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "Snapshot",
        "metadata": {"name": name, "namespace": at.seen.namespace, "labels": labels, "annotations": annotations},
        "spec": {"volume": act.target, "createSnapshot": True, "labels": {RUN: run}},
    }
    at.still_wanted()
    with at.task.journal.doing(("snapshot", act.target, {"snapshot": name})):
        at.client.post(path_of(at.seen.namespace, SNAPSHOTS), made, dry_run=at.task.check_mode)


def _move_engine(at: At, act: Act) -> None:
    volume = at.seen.volumes[act.target]
    at.change(VOLUMES, act.target, {ENGINE: act.node, HOME: volume.home_mark or volume.home})


def _delete_manager(at: At, act: Act) -> None:
    at.still_wanted()
    present = at.client.get(path_of(at.seen.namespace, SETTINGS, DEFAULT_IMAGE))
    if present is None or present.get("value") != at.image:
        # The next look refuses.
        return
    at.still_fresh(act.node)
    with at.task.journal.doing(("delete_instance_manager", act.target, {"node": act.node})):
        path = path_of(at.seen.namespace, INSTANCE_MANAGERS, act.target)
        # A volume that was attached since the look has instances there, which change the object.
        at.client.delete(path, act.uid, dry_run=at.task.check_mode, resource_version=act.version or None)


ACTS: Mapping[str, Performed] = {
    "keep_replicas": _keep_replicas,
    "mark_node": _mark_node,
    "snapshot": _snapshot,
    "add_replica": lambda at, act: at.change(VOLUMES, act.target, {REPLICAS: 2}),
    "move_engine": _move_engine,
    "delete_manager": _delete_manager,
    "open_node": lambda at, act: at.change(NODES, act.target, {SCHEDULING: True}),
    "return_engine": lambda at, act: at.put_back(VOLUMES, act.target),
    "unmark_node": lambda at, act: at.put_back(NODES, act.target),
    "hold_job": lambda at, act: at.change(CRON_JOBS, act.target, {SUSPEND: True}),
    "release_job": lambda at, act: at.put_back(CRON_JOBS, act.target),
}
