"""The work of the module `openshift_upgrade`: the order of an upgrade of OpenShift, its batches, and putting back.

The cluster version operator and the machine config operator do the work. A run starts it, lets the machine config
operator take one batch of Kubernetes nodes after the other, and holds the pools in between: a pool that is paused takes
no further Kubernetes node, and those under way are updated to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..common.errors import Conflict, Refusal, refusal
from ..common.task import Outcome, Task, attempt, passed_or_raise
from ..common.verdict import Reason, State, Verdict, combine, remark, waiting
from ..kubernetes.client import connect
from ..run.begin_and_end import System
from ..run.colouring import readable_most
from ..run.ordered import Whole, ordered
from ..run.output.plan_text import Words, counted
from ..run.record.going_down import note_down
from ..run.runs import contract_of, work_of
from ..run.start.schedule import WindowEnd
from .act.changes import Acts
from .judge.health import is_held_by_person, judge_nodes, judge_operators, judge_pools, judge_whole, left_alone
from .judge.left_out import ARO, DELAYED_CHECK, OPTIONAL, OSD, PROCEDURES, TYPES, left_out, remark_on
from .judge.order import digest, in_windows, lowered, turns, versions
from .judge.progress import (
    CONTROL_PLANE,
    UPDATING,
    is_drained,
    is_taken,
    judge_control_plane,
    judge_taken,
    judge_updated,
    left_of_control_plane,
    left_of_nodes,
)
from .judge.validation import judge_target, target_in
from .observe.drains import kept_pods
from .observe.kinds import MASTER
from .observe.look import Looking
from .observe.release import Release
from .observe.state import KeptPod, MachineConfigPool, OpenShift, Update
from .preflight import judge_update, preflight

IDENTITY = "openshift"
"""The name of the cluster for its lock and its record: a Kubernetes API has one OpenShift."""
BETWEEN_LOOKS = 10.0
"""Seconds between two looks: a Kubernetes node takes minutes, and its daemon looks every few seconds itself."""
SECONDS_A_BATCH = 600
"""Seconds that a batch is taken to last as long as none was measured."""

PLATFORM = 'namespace=~"openshift.*|kube-.*|default"'
"""The alerts of the platform itself (managed-upgrade-operator, `pkg/maintenance/alertmanager_maintenance.go`)."""
WORKER_SILENCES = [f'severity=~"warning|info",{PLATFORM}']
CONTROL_PLANE_SILENCES = [
    'alertname=~"ClusterOperatorDown|ClusterOperatorDegraded|KubeDeploymentReplicasMismatch|MachineWithNoRunningPhase'
    f'|etcdMembersDown",{PLATFORM}',
    *WORKER_SILENCES,
]
"""The critical alerts that an update of the control plane raises, by name (configuration of that operator)."""


def _target(task: Task) -> Release:
    target = target_in(str(task.params["target_version"]))
    if target is None:
        said = f"{task.params['target_version']} is not a version of OpenShift."
        raise refusal("version_unreadable", said, "Give one such as 4.18.9.")
    return target


def _order(task: Task) -> Outcome:
    """The control plane and the Kubernetes nodes in their order. A plan waits until all are fit."""
    client, target = connect(task.params["kubernetes"]), _target(task)
    looking, accepted, without = Looking(client), task.params["accept_risks"], left_out(task.params)

    def look() -> tuple[OpenShift, Verdict]:
        seen = looking.look()
        return seen, judge_update(client, seen.version, str(target), accepted, without)

    def judged(looked: tuple[OpenShift, Verdict]) -> Verdict:
        seen, allowed = looked
        fit = () if seen.version.is_commenced(str(target)) else (judge_operators(seen), judge_nodes(seen))
        whole = combine((allowed, judge_pools(seen), Verdict(remark_on(without)), *fit))
        # A plan that is refused waits for nothing, and all that stands in its way is said at once.
        return whole.without_waiting() if whole.state is State.REFUSED else whole

    (seen, _allowed), verdict = task.wait(look, judged)
    update, most = _update(seen, target), task.params["max_unavailable"]
    readable_most(most)
    free = [pool for pool in seen.worker_pools if not is_held_by_person(pool)]
    left = [name for pool in seen.worker_pools if is_held_by_person(pool) for name in seen.members[pool.name]]
    batches = in_windows(turns(seen, target, most), seen.masters, *_silences(task))
    return ordered(
        Whole(IDENTITY, seen.members, versions(seen, target)),
        str(target),
        batches,
        verdict,
        unit="nodes",
        image=update.image,
        left=left,
        deployed_version=seen.version.present,
        channel=seen.version.channel,
        lowered=[pool.name for pool in free if lowered(seen, pool, most) is not None],
        kubernetes_nodes={name: name for name in left_alone(seen, target)} if batches else {},
        digest=digest(seen, target, [*accepted, *without]),
        file_integrity=task.params["fedramp"] and PROCEDURES not in without,
    )


def _silences(task: Task) -> tuple[list[str], list[str]]:
    """The silences of the control plane and of the workers; none without an Alertmanager."""
    if not task.params["alertmanager"]["url"]:
        return [], []
    return task.params["control_plane_silences"], task.params["worker_silences"]


def _update(seen: OpenShift, target: Release) -> Update:
    return seen.version.updates.get(str(target)) or Update(str(target), "")


def _look_and_act(
    task: Task,
    step: Callable[[OpenShift, Acts], object],
    judge: Callable[[OpenShift], Verdict],
    left: Callable[[OpenShift], dict[str, tuple[float, ...]]] | None = None,
    *,
    stoppable: bool = False,
) -> tuple[OpenShift, Verdict]:
    """Look, act, and judge, until the judge waits no more. An act that meets a change is made after the next look."""
    client = connect(task.params["kubernetes"])
    looking, acts = Looking(client), Acts(task, client)

    def again() -> OpenShift:
        seen = looking.look()
        with suppress(Conflict):
            step(seen, acts)
        return seen

    slowly = {**task.params, "wait_sleep": max(BETWEEN_LOOKS, float(task.params["wait_sleep"]))}
    return replace(task, params=slowly).wait(again, judge, stoppable=stoppable, remaining=left)


def _take(task: Task) -> Outcome:
    """Have the batch taken: the update is commenced for the control plane, a pool let go for its Kubernetes nodes."""
    target, commenced = _target(task), list[str]()
    # It waits even in one pass, at the end of which no pool may be left open. In check mode nothing becomes of a wait.
    task = replace(task, params={**task.params, "wait": not task.check_mode})

    def step(seen: OpenShift, acts: Acts) -> None:
        if _is_control_plane(seen, task):
            _commence(task, seen, acts, target)
            commenced.append(str(target))
        else:
            for pool, own in _pools_of(seen, task):
                _let_take(seen, acts, pool, own, target, task.params["max_unavailable"])

    def judged(seen: OpenShift) -> Verdict:
        if not _is_control_plane(seen, task):
            return judge_taken(seen, task.params["batch"], target)
        said = f"The update to {target} is not commenced, since the ClusterVersion has changed."
        return Verdict() if commenced else Verdict((waiting("update_not_begun", said),))

    try:
        seen, verdict = _look_and_act(task, step, judged)
    except Refusal:
        _hold_again(task)
        raise
    if not verdict.passed and not task.check_mode:
        _hold_again(task)
    if verdict.passed and _is_control_plane(seen, task):
        verdict = combine((verdict, note_down(task, task.params["batch"])))
    return Outcome(Verdict() if task.check_mode else verdict, bool(task.journal.as_result()))


def _is_control_plane(seen: OpenShift, task: Task) -> bool:
    """Whether the batch is that of the control plane; without one it is, too."""
    names = task.params["batch"]
    return not names or not set(names).isdisjoint(seen.masters)


def _pools_of(seen: OpenShift, task: Task) -> Iterator[tuple[MachineConfigPool, list[str]]]:
    """The pools with Kubernetes nodes of the batch, and these. One that a person has paused stays as it is."""
    for pool in seen.worker_pools:
        own = [name for name in task.params["batch"] if name in seen.members[pool.name]]
        if own and not is_held_by_person(pool):
            yield pool, own


def _hold_again(task: Task) -> None:
    """Hold the pools of a batch that was not taken in time, as far as that can be done."""

    def hold(given: Task) -> Outcome:
        client = connect(given.params["kubernetes"])
        seen, acts = Looking(client).look(), Acts(given, client)
        for pool, _own in () if _is_control_plane(seen, given) else _pools_of(seen, given):
            acts.hold(pool.name)
        return Outcome(Verdict())

    attempt(hold, task)


def _commence(task: Task, seen: OpenShift, acts: Acts, target: Release) -> None:
    """Hold the pools, then set the desired update, unless the ClusterVersion says that this was done."""
    for pool in seen.worker_pools:
        if not pool.paused:
            acts.hold(pool.name, lowered(seen, pool, task.params["max_unavailable"]))
    if not seen.version.is_commenced(str(target)):
        without = left_out(task.params)
        passed_or_raise(judge_target(seen.version, str(target), task.params["accept_risks"], (), without))
        acts.commence(seen.version, _update(seen, target))


def _let_take(
    seen: OpenShift, acts: Acts, pool: MachineConfigPool, names: list[str], target: Release, most: str | None
) -> None:
    """Let a pool go until its Kubernetes nodes of the batch are taken, then hold it again."""
    if all(is_taken(seen, name, target) for name in names):
        if any(not is_taken(seen, name, target) for name in seen.members[pool.name]):
            acts.hold(pool.name)
    elif (fewer := lowered(seen, pool, most)) is not None:
        # An earlier run has held it with its own maxUnavailable.
        acts.hold(pool.name, fewer)
    elif pool.carries_undo:
        acts.let_go(pool.name)


def _follow(task: Task) -> Outcome:
    """Wait until the batch is on the target, and back."""
    names, target, began = task.params["batch"], _target(task), task.clock.now()
    client, kept = connect(task.params["kubernetes"]), list[KeptPod]()

    def look_at_drains(seen: OpenShift, _acts: Acts) -> None:
        drained = [each.name for each in seen.nodes.values() if is_drained(each)]
        kept[:] = kept_pods(client, drained) if drained else ()

    def judged(seen: OpenShift) -> Verdict:
        if set(names) & set(seen.masters):
            return judge_control_plane(seen, target)
        return judge_updated(seen, names, target, kept)

    def left(seen: OpenShift) -> dict[str, tuple[float, ...]]:
        return {CONTROL_PLANE: left_of_control_plane(seen, target), UPDATING: left_of_nodes(seen, names, target)}

    _seen, verdict = _look_and_act(task, look_at_drains, judged, left)
    took = round(task.clock.now() - began, 1)
    done = verdict.passed
    members: list[dict[str, Any]] = [
        {"name": name, "action": "updated" if done else "followed", "total_seconds": took if done else None}
        for name in names
    ]
    return Outcome(verdict, more={"members": members})


def _prove(task: Task) -> Outcome:
    """Wait until every operator is well, and all that was to be upgraded is on the target."""
    target = _target(task)

    def judged(seen: OpenShift) -> Verdict:
        return combine((judge_whole(seen, target), judge_operators(seen), judge_nodes(seen)))

    seen, verdict = _look_and_act(task, lambda _seen, _acts: None, judged, stoppable=True)
    well = all(each.well for each in seen.operators)
    return Outcome(verdict, before={"status": "well" if well else "unwell", "version": seen.version.present})


def _restore(task: Task) -> Outcome:
    """Let the pools go that runs have held.

    In a run that has not come to its end (`batch` has its Kubernetes nodes) a pool with some left stays paused, since
    the machine config operator would take them without any gate.
    """
    client = connect(task.params["kubernetes"])
    acts, going = Acts(task, client), set(task.params["batch"])

    def again() -> tuple[bool, Verdict]:
        seen = Looking(client).look()
        reasons = []
        for pool in (each for each in seen.worker_pools if each.carries_undo):
            left = [name for name in seen.members[pool.name] if going and not seen.is_done(name, _target(task))]
            if left and seen.version.is_commenced(str(_target(task))):
                reasons.append(_stays(pool.name, len(left)))
            else:
                reasons += acts.put_back(pool.name)
        return bool(task.journal.as_result()), Verdict(tuple(reasons))

    (changed, verdict), _state = task.wait(again, lambda _found: Verdict())
    return Outcome(verdict, changed, next="nothing")


def _stays(pool: str, left: int) -> Reason:
    return remark(
        "pool_stays_paused",
        f"MachineConfigPool {pool} stays paused, with {left} Kubernetes nodes left to update.",
        "Run the playbook again to go on. The playbook settle lets the machine config operator go on without gates.",
    )


def _gate(task: Task) -> Outcome:
    """Wait until OpenShift is fit for the next batch: its operators are well, and its Kubernetes nodes are Ready."""
    target = _target(task)

    def judged(seen: OpenShift) -> Verdict:
        if not seen.version.has_completed(str(target)) and seen.version.is_commenced(str(target)):
            return Verdict()
        return combine((judge_operators(seen), judge_nodes(seen)))

    _seen, verdict = _look_and_act(task, lambda _seen, _acts: None, judged, stoppable=True)
    return Outcome(verdict)


def _words(plan: Mapping[str, Any]) -> Words:
    held = [
        each["name"] for each in plan["pools"] if each["name"] != MASTER and not {*each["members"]} <= {*plan["left"]}
    ]
    changes = [f"pause of {counted(len(held), 'pool')}"] if held else []
    if plan["lowered"]:
        changes.append(f"maxUnavailable of {counted(len(plan['lowered']), 'pool')}")
    return Words("Kubernetes node", "OpenShift", changes=changes, stays=["desired update"])


def _options_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of the run: a step that is left out is a check that it skips, and `aro` misses no window."""
    without, policy = left_out(params), params["window_policy"]
    opened = params["upgrade_type"] == ARO and policy == WindowEnd.START_ONLY.value
    own = {"skip_checks": without, "tells_delay": DELAYED_CHECK not in without}
    return {**params, **own, "window_policy": WindowEnd.OPEN.value if opened else policy}


SYSTEM = System(
    name="openshift",
    options={
        "namespace": {"type": "str"},
        "accept_risks": {"type": "list", "elements": "str", "default": []},
        "max_unavailable": {"type": "str"},
        "control_plane_silences": {"type": "list", "elements": "str", "default": CONTROL_PLANE_SILENCES},
        "worker_silences": {"type": "list", "elements": "str", "default": WORKER_SILENCES},
        "upgrade_type": {"type": "str", "choices": list(TYPES), "default": OSD},
        "left_out": {"type": "list", "elements": "str", "choices": list(OPTIONAL), "default": []},
        "fedramp": {"type": "bool", "default": False},
    },
    uuid=lambda _task: IDENTITY,
    order=_order,
    preflight=preflight,
    put_back=lambda _task: Outcome(Verdict()),
    states={"fit": _gate, "taken": _take, "updated": _follow, "proven": _prove, "restored": _restore},
    guess=SECONDS_A_BATCH,
    options_of=_options_of,
    words=lambda _params, plan: _words(plan),
)
CONTRACT, run = contract_of(SYSTEM), work_of(SYSTEM)
