"""Work on a machine that something else carries out: a NodeUpdate asks for it, and the run follows it to its end.

The definition of NodeUpdate is `roles/machines/files/node_update.yml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from ..common.attempts import until_unchanged
from ..common.errors import Refusal, refusal
from ..common.task import Outcome, Task
from ..common.timestamps import utc_now
from ..common.verdict import Reason, Verdict, refused, waiting
from ..common.waiting import Patience
from ..kubernetes.answers import is_not_found, reading_object
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.kubernetes_nodes import PATH as NODES
from ..kubernetes.paths import in_namespace
from ..run.start.approvals import digest_text
from .act.node_updates import NodeUpdateChanges
from .judge.node_updates import NodeDecision, NodeStep, WantedWork, fields_to_change, labels_of, next_step
from .machine_marks import MachineMarks
from .observe.look import look
from .observe.node_updates import NODE_UPDATE, NODE_UPDATES, FailureKind
from .observe.owned_machines import OwnedMachine
from .observe.reading import machine
from .observe.reading_tasks import node_update
from .observe.requested_look import present_of
from .observe.state import KubeadmCluster, plain
from .observe.upgrade_tasks import API, OBJECTS, SPECIFIED_VERSION, UpgradeTaskState
from .requested import is_object, request_of

STEPS = {"before_drain": "BeforeDrain", "after_drain": "AfterDrain"}
"""The steps of a machine by the names of its task files."""
PREPARE = "prepare"
"""The step before the first machine goes down: the API has to know NodeUpdates."""
RETRIES = {FailureKind.TRANSIENT: 3, FailureKind.UNREACHABLE: 5}
"""The retries of each kind of failure, if none are given."""
OPTIONS: dict[str, dict[str, Any]] = {
    "step": {"type": "str", "choices": [PREPARE, *STEPS]},
    "course": {"type": "str", "choices": ["apply", "node"]},
    "task_source": {"type": "str", "default": ""},
    "retries": {
        "type": "dict",
        "default": {},
        "options": {each.value.lower(): {"type": "int", "default": count} for each, count in RETRIES.items()},
    },
}
"""The options of the state `delegated`."""


def delegated(task: Task) -> Outcome:
    """Have a step of the machines of the batch carried out by something else, and wait until it has ended.

    Work under way is never abandoned: it is aborted once its time (`wait_timeout`) is over or the upgrade is aborted,
    and has the same time again to end.

    Raises:
        Refusal: an object cannot be had, or not be written.
    """
    if task.params["step"] is None:
        raise refusal("step_missing", "The step to delegate is missing.", f"Give one of {', '.join(STEPS)}.")
    if task.check_mode or task.params["step"] == PREPARE:
        return Outcome(task.ask(lambda: _served(connect(task.params["kubernetes"]), task.params["namespace"])))
    seconds = float(task.params["wait_timeout"])
    client, until = connect(task.params["kubernetes"]), utc_now() + timedelta(seconds=seconds)
    works = [_Work(task, client, name, until) for name in task.params["batch"]]

    def again() -> Verdict:
        return Verdict(tuple(reason for each in works for reason in until_unchanged(each.again, 3)))

    patience = Patience(2 * seconds, float(task.params["wait_sleep"]))
    _found, verdict = task.wait_apart(again, lambda found: found, patience)
    return Outcome(verdict, bool(task.journal.as_result()))


def _served(client: KubernetesClient, namespace: str) -> Verdict:
    """Whether the API knows NodeUpdates, and lets this user see them."""
    try:
        client.get(in_namespace(API, namespace, NODE_UPDATES, "any"))
    except Refusal as error:
        if not is_not_found(error):
            raise
        said = (
            f"The Kubernetes API at {client.host} does not know {NODE_UPDATE}, by which work on machines is delegated."
        )
        return Verdict(
            (refused("node_update_undefined", said, "Run kubectl apply -f roles/machines/files/node_update.yml."),)
        )
    return Verdict()


@dataclass(frozen=True)
class _Work:
    """The work on one machine."""

    task: Task
    client: KubernetesClient
    machine: str
    until: datetime

    def again(self) -> tuple[Reason, ...]:
        """Look, act, and say how far it has come.

        Raises:
            Refusal: an object cannot be had, or not be written.
        """
        requested = request_of(self.task)
        wanted = self._spec(requested)
        found = self.client.get(self._changes.path(self._name))
        seen = node_update(found) if found is not None else None
        plan = self._plan(requested, wanted) if seen is None else {}
        differs = seen is not None or bool(plan["fields"])
        withdrawn = requested.ends if requested is not None else is_object(self.task)
        work = WantedWork(wanted["digest"], differs, self._budgets(), withdrawn, self._system())
        decision = next_step(seen, work, utc_now())
        if decision.step is NodeStep.CREATE:
            whole = {**wanted, "updatePlan": plan}
            labels = labels_of(self.task.params["task_source"]) if requested else {}
            self._changes.create(self._name, whole, self.until, labels, work.system)
        elif seen is not None and decision.step is NodeStep.RETRY:
            self._changes.retry(seen, self.until)
        elif seen is not None and decision.step is NodeStep.ABORT:
            self._changes.abort(seen)
        elif seen is not None and decision.step is NodeStep.REPLACE:
            self._changes.remove(seen)
        return self._reasons(decision, aborting=seen is not None and seen.aborting)

    @property
    def _changes(self) -> NodeUpdateChanges:
        return NodeUpdateChanges(self.task, self.client, self.task.params["namespace"])

    @property
    def _name(self) -> str:
        return f"{self.machine}-{self.task.params['step'].replace('_', '-')}"

    def _spec(self, requested: UpgradeTaskState | None) -> dict[str, Any]:
        target = plain(str(self.task.params["target_version"] or ""))
        # The objects that are wanted in the end are not those of a version on the way.
        wanted = requested.wanted if requested and target not in map(plain, self.task.params["through"]) else {}
        version, objects = (
            {SPECIFIED_VERSION: f"v{target}"},
            {name: wanted[name] for name in OBJECTS if wanted.get(name)},
        )
        course = self.task.params["course"]
        own = {
            "nodeName": self.machine,
            "step": STEPS[self.task.params["step"]],
            "newMachineSpec": {**objects, **version},
            **({"kubeadm": course} if course else {}),
            **({"upgraderRef": dict(requested.upgrader)} if requested and requested.upgrader else {}),
        }
        # The subcommand of kubeadm changes once the first machine has written the version, and asks for no other work.
        return {**own, "digest": digest_text([own["nodeName"], own["step"], own["newMachineSpec"]])}

    def _plan(self, requested: UpgradeTaskState | None, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The plan of the machine, from what the cluster and its Machine show. It is made once, and stored."""
        seen, specification = look(self.client), wanted["newMachineSpec"]
        target, there = plain(specification[SPECIFIED_VERSION]), seen.machines.get(self.machine)
        marks = MachineMarks.of(self.task, seen)
        machine = marks.owned.get(self.machine) if marks is not None else None
        if marks is not None and machine is not None:
            present: Mapping[str, Any] | None = present_of(marks.api.client, machine, specification)[0]
        else:
            of_task = requested.machines if requested else ()
            present = next((each.spec for each in of_task if each.kubernetes_node == self.machine), None)
        done = there is not None and _is_done(seen, self.machine, target, wanted["step"])
        return {
            "fields": fields_to_change(present, specification, done=done),
            **({"kubelet": f"v{there.kubelet}"} if there else {}),
            **(_references(machine) if machine else {}),
        }

    def _system(self) -> str:
        """The id of the machine that has the name now; empty if it is not known."""
        found = self.client.get(f"{NODES}/{quote(self.machine, safe='')}")
        if found is None:
            return ""
        with reading_object("Node", found):
            return machine(self.machine, found).system

    def _budgets(self) -> dict[FailureKind, int]:
        given = self.task.params["retries"] or {}
        return {each: int(given.get(each.value.lower(), count)) for each, count in RETRIES.items()}

    def _reasons(self, decision: NodeDecision, *, aborting: bool) -> tuple[Reason, ...]:
        step, cause, named = decision.step, decision.cause, f"{NODE_UPDATE} {self._name}"
        if step is NodeStep.READY:
            return ()
        if step is NodeStep.FAILED:
            remedy = f"Fix the cause, delete {named} in namespace {self.task.params['namespace']}, and run again."
            return (refused("node_update_failed", f"The work on machine {self.machine} has failed: {cause}.", remedy),)
        if step is NodeStep.ABORTED:
            said = f"The upgrade was aborted, and no work on machine {self.machine} is in progress."
            return (refused("stopped_by_request", said, "Request the upgrade again, or leave it as it is."),)
        said = f"The upgrader of machine {self.machine} is at work ({named}{f'; {cause}' if cause else ''})."
        remedy = "See its status, and the log of its upgrader."
        if aborting:
            # An upgrader of an earlier contract says nothing of work that it has never begun.
            remedy += f" If it has none, or that has never begun it, delete {named}, and run again."
        return (waiting("node_update_under_way", said, remedy, self.machine),)


def _references(machine: OwnedMachine) -> dict[str, Any]:
    """The Machine and its objects, as a plan names them."""
    own = {"namespace": machine.namespace, "name": machine.name, "uid": machine.uid}
    objects = {
        f"{name}Ref": {"apiGroup": each.group, "kind": each.kind, "namespace": each.namespace, "name": each.name}
        for name, each in machine.references.items()
    }
    return {"machineRef": {**own, **({"version": machine.version} if machine.version else {})}, **objects}


def _is_done(seen: KubeadmCluster, name: str, target: str, step: str) -> bool:
    """Whether a step is done: before the drain of a control plane machine, that is its part of the control plane."""
    if step == STEPS["before_drain"] and seen.machines[name].control_plane:
        return seen.is_controlled_by(name, target)
    return seen.is_done(name, target)
