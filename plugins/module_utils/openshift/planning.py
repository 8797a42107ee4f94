"""The plan of an upgrade of OpenShift: its options, the order of its batches, and its words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..common.release import Release
from ..common.task import Outcome, Task
from ..common.verdict import State, Verdict, combine
from ..common.words import counted
from ..draining.judge.forced_drains import FORCED, rungs_in
from ..kubernetes.client import connect
from ..run.colouring import Turn, readable_most
from ..run.ordered import Whole, ordered
from ..run.output.plan_text import Words
from ..run.start.schedule import WindowEnd
from ..workloads.workload import WORKLOADS, conditions_of_workloads
from . import spare_workers
from .between_hops import judge_chain
from .judge.health import is_held_by_person, judge_nodes, judge_operators, judge_pools, judge_version, left_alone
from .judge.left_out import (
    ARO,
    DELAYED_CHECK,
    DEPENDENCIES,
    NOTICES,
    OPTIONAL,
    OSD,
    TYPES,
    left_out,
    remark_on,
    without_steps,
)
from .judge.legs import legs_of, legs_text
from .judge.order import (
    away_with_control_plane,
    digest,
    in_time,
    in_windows,
    lowered,
    measured,
    turns,
    versions,
    with_control_plane,
)
from .judge.stopping import stopping_text
from .observe.kinds import MASTER, WORKER
from .observe.look import Looking
from .observe.looking_at_target import LookingAtTarget, check_chain
from .observe.state import MULTI, OpenShift
from .observe.target import UpgradeTarget, stages

Hops = Sequence[UpgradeTarget]
"""The upgrades of a chain that are left, the last of which leads to the target."""
IDENTITY = "openshift"
"""The name of the cluster for its lock and its record: a Kubernetes API has one OpenShift."""
PLATFORM = 'namespace=~"openshift.*|kube-.*|default"'
"""The alerts of the platform itself (managed-upgrade-operator, `pkg/maintenance/alertmanager_maintenance.go`)."""
WORKER_SILENCES = [f'severity=~"warning|info",{PLATFORM}']
CONTROL_PLANE_SILENCES = [
    'alertname=~"ClusterOperatorDown|ClusterOperatorDegraded|KubeDeploymentReplicasMismatch|MachineWithNoRunningPhase'
    f'|etcdMembersDown",{PLATFORM}',
    *WORKER_SILENCES,
]
"""The critical alerts that an update of the control plane raises, by name (configuration of that operator)."""
_SERVER: dict[str, dict[str, Any]] = {
    "ca_cert": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "namespace": {"type": "str"},
    "accept_risks": {"type": "list", "elements": "str", "default": []},
    "channel": {"type": "str"},
    "release_image": {"type": "str"},
    "architecture": {"type": "str", "choices": [MULTI]},
    "through": {"type": "list", "elements": "str", "default": []},
    "update_service": {"type": "dict", "options": {"url": {"type": "str"}, **_SERVER}},
    "registry": {
        "type": "dict",
        "options": {"username": {"type": "str"}, "password": {"type": "str", "no_log": True}, **_SERVER},
    },
    "max_unavailable": {"type": "str"},
    "control_plane_late_after": {"type": "int", "default": 5400},
    "control_plane_timeout": {"type": "int", "default": 14400},
    "batch_late_after": {"type": "int", "default": 1800},
    "late_in": {"type": "int"},
    "late": {"type": "dict", "default": {}},
    "wait_limit": {"type": "int"},
    "allow_forced_drains": FORCED,
    "extra_workers": {"type": "bool", "default": False},
    "extra_worker_pools": {"type": "list", "elements": "str", "default": [WORKER]},
    "capacity_policy": {"type": "str", "choices": ["stop", "continue"], "default": "stop"},
    "control_plane_silences": {"type": "list", "elements": "str", "default": CONTROL_PLANE_SILENCES},
    "worker_silences": {"type": "list", "elements": "str", "default": WORKER_SILENCES},
    "upgrade_type": {"type": "str", "choices": list(TYPES), "default": OSD},
    "left_out": {"type": "list", "elements": "str", "choices": list(OPTIONAL), "default": []},
    "fedramp": {"type": "bool", "default": False},
    **WORKLOADS,
    "workload_gate": {"type": "path"},
    "aborted": {"type": "bool", "default": False},
}
"""The options of an upgrade of OpenShift."""


def order(task: Task) -> Outcome:
    """The control plane and the Kubernetes nodes in their order. A plan waits until all are fit."""
    client, without = connect(task.params["kubernetes"]), left_out(task.params)
    looking, at_target = Looking(client), LookingAtTarget(task.params)
    check_chain(task.params)
    readable_most(task.params["max_unavailable"])

    def look() -> tuple[OpenShift, Hops, Verdict]:
        seen = looking.look()
        hops = at_target.hops(seen)
        return seen, hops, judge_chain(client, seen, hops, at_target.through, without)

    def judged(looked: tuple[OpenShift, Hops, Verdict]) -> Verdict:
        seen, hops, allowed = looked
        fit = () if seen.version.is_commenced(str(hops[0])) else _fitness(seen)
        whole = combine((allowed, judge_pools(seen, hops[-1].release), Verdict(remark_on(without)), *fit))
        # A plan that is refused waits for nothing, and all that stands in its way is said at once.
        return whole.without_waiting() if whole.state is State.REFUSED else whole

    (seen, hops, _allowed), verdict = task.wait(look, judged)
    target, through = hops[-1], at_target.through
    spare = spare_workers.planned(task, seen, [*map(str, (*through, target))])
    batches = _batches(task, seen, target, spare.coming, through)
    return ordered(
        Whole(IDENTITY, seen.planned, versions(seen, target.release)),
        str(target),
        batches,
        combine((verdict, spare.verdict)),
        unit="nodes",
        image=[hop.update(stage.version).image for stage, hop in stages(seen, hops)][-1],
        adds=list(spare.adds),
        interruptions=spare.interruptions,
        digest=digest(seen, target, _conditions(task, without), spare.patterns, through),
        **_of_pools(task, seen, hops, spare.coming, begins=bool(batches)),
        deployed_version=seen.version.present,
        **_of_channels(seen, hops),
        details=[
            *_details(seen, target, through, batches),
            *filter(None, [stopping_text(seen, batches, hops[0].release)]),
        ],
        measured=measured(seen, batches),
        commenced=seen.version.is_commenced(str(hops[0])) and not seen.version.has_completed(str(hops[0])),
        once=["dependencies"],
        skips=["dependencies"] if DEPENDENCIES in without else [],
        notices_left_out=[state for name, state in NOTICES.items() if name in without],
        file_integrity=task.params["fedramp"],
    )


def _fitness(seen: OpenShift) -> tuple[Verdict, ...]:
    return judge_version(seen), judge_operators(seen), judge_nodes(seen)


def _conditions(task: Task, without: Collection[str]) -> list[str]:
    """The consents and choices that the digest of a plan covers."""
    rungs = rungs_in(task.params["allow_forced_drains"])
    return [*without, *map(str, rungs), *conditions_of_workloads(task.params)]


def _batches(
    task: Task, seen: OpenShift, target: UpgradeTarget, coming: Mapping[str, int], through: Sequence[Release]
) -> list[Turn]:
    own = task.params
    batches = turns(seen, target.release, own["max_unavailable"], coming, through)
    batches = in_time(
        batches, seen.masters, own["control_plane_late_after"], own["control_plane_timeout"], own["batch_late_after"]
    )
    if not task.params["alertmanager"]["url"]:
        return batches
    return in_windows(batches, seen.masters, task.params["control_plane_silences"], task.params["worker_silences"])


def _of_channels(seen: OpenShift, hops: Hops) -> dict[str, Any]:
    """The channel that the cluster has, and those that the run sets one after the other."""
    present, version = seen.version.channel, seen.version
    # Once an update is commenced, a channel that a person sets is not the run's.
    channels = [present, *(hop.channel for hop in hops if not version.is_commenced(str(hop)))]
    changes = [after for before, after in pairwise(channels) if before != after]
    return {"channel": channels[-1], "present_channel": present, "channels": changes}


def _details(seen: OpenShift, target: UpgradeTarget, through: Sequence[Release], batches: Sequence[Turn]) -> list[str]:
    """The lines of the plan about the offer of the update, about its chain, and about the operators."""
    workers = any(set(seen.masters).isdisjoint(each.members) for each in batches)
    said = legs_text(legs_of(seen, target.release, through), workers=workers) if through and batches else ""
    offer = _offer_text(seen, target) if batches and not through else ""
    return [*filter(None, [offer, said, _operators_text(seen) if batches else ""])]


def _offer_text(seen: OpenShift, target: UpgradeTarget) -> str:
    """The reason why the update is valid; empty where a remark of the plan says it, and once it is commenced."""
    version, listed = seen.version, target.listed(seen.version)
    if target.graph or target.changes_channel(version) or version.is_commenced(str(target)):
        return ""
    if listed is None or not listed.recommended.true:
        return ""
    return f"channel {version.channel} offers {target} from {version.present} without a known risk"


def _operators_text(seen: OpenShift) -> str:
    """The line of a plan about the operators: how many there are, and those that are not well by name."""
    unwell = [each.name for each in seen.operators if not each.well]
    of = f"; not available or degraded: {', '.join(sorted(unwell))}" if unwell else ", all available and not degraded"
    return f"{counted(len(seen.operators), 'cluster operator')}{of}"


def _of_pools(task: Task, seen: OpenShift, hops: Hops, coming: Mapping[str, int], *, begins: bool) -> dict[str, Any]:
    """The parts of the plan that are about pools and their Kubernetes nodes."""
    held = [pool for pool in seen.worker_pools if is_held_by_person(pool)]
    required = [pool.name for pool in seen.required_pools]
    most, free = task.params["max_unavailable"], [pool for pool in seen.worker_pools if pool not in held]
    return {
        "with_control_plane": required,
        "together_with_it": with_control_plane(seen),
        "away_with_it": away_with_control_plane(seen).as_result(),
        "not_drained": [name for name, each in seen.nodes.items() if each.restarts_in_place],
        "only_one": next(iter(seen.nodes)) if len(seen.nodes) == 1 else "",
        "left": [name for pool in held for name in seen.planned[pool.name]],
        "lowered": [pool.name for pool in free if lowered(seen, pool, most, coming.get(pool.name, 0))],
        "kubernetes_nodes": {name: name for name in left_alone(seen, hops[0].release)} if begins else {},
    }


def words(plan: Mapping[str, Any]) -> Words:
    """The words of a plan."""
    never_held = {MASTER, *plan["with_control_plane"]}
    held = [
        each for each in plan["pools"] if each["name"] not in never_held and not {*each["members"]} <= {*plan["left"]}
    ]
    changes = [f"pause of {counted(len(held), 'pool')}"] if held else []
    if plan["lowered"]:
        changes.append(f"maxUnavailable of {counted(len(plan['lowered']), 'pool')}")
    changes += plan["adds"]
    channel = f"channel {', then '.join(plan['channels'])}" if plan["channels"] else ""
    return Words("Kubernetes node", "OpenShift", changes=changes, stays=[channel, "desired update"])


def options_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of the run: a step that is left out is a check that it skips, and `aro` misses no window."""
    without, policy = left_out(params), params["window_policy"]
    opened = params["upgrade_type"] == ARO and policy == WindowEnd.START_ONLY.value
    own = {"skip_checks": without, "reports_delay": DELAYED_CHECK not in without, **without_steps(params, without)}
    return {**params, **own, "window_policy": WindowEnd.OPEN.value if opened else policy}
