"""The plan of an upgrade of machines: its options, the order of its batches, its further checks, and its words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.arguments import OTHER_KUBERNETES
from ..common.errors import refusal
from ..common.release import Release, check_ascending, release_in
from ..common.side_by_side import ParallelWork
from ..common.task import Outcome, Task
from ..common.timestamps import utc_now
from ..common.verdict import State, Verdict, combine
from ..common.words import counted, unique
from ..draining.judge.forced_drains import FORCED, rungs_in
from ..draining.judge.undrainable import ALLOW_UNMANAGED
from ..draining.planned import PlannedDrains, judge_drains
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.rights import missing_rights, of_lock_and_record
from ..run.colouring import Placement, Turn, most_of, readable_most
from ..run.ordered import Whole, ordered
from ..run.output.plan_text import Words
from ..workloads.going_down import foreseen
from ..workloads.placed import placed
from ..workloads.workload import LONGHORN, PROOF, WORKLOADS, conditions_of_workloads, is_asked
from .agent_work import OPTIONS as OF_AGENTS
from .delegated import OPTIONS as OF_DELEGATED
from .judge.api_address import judge_api_address
from .judge.fitness import (
    judge_control_plane,
    judge_counted,
    judge_facts,
    judge_machines,
    judge_members,
    judge_quorum,
)
from .judge.marks import judge_unmarked
from .judge.order import NOTHING_ON_THEM, courses, digest, narrowed, turns, versions
from .judge.preflight import judge_only
from .judge.present import present_line, present_versions
from .judge.skew import judge_chain, judge_versions
from .machine_marks import MachineMarks
from .observe.facts import MachineFacts, facts_in
from .observe.look import look
from .observe.state import IDENTITY, KubeadmCluster, plain
from .requested import judge_request
from .rights import CLUSTER_ROLE
from .specified import OPTIONS as OF_SPECIFIED
from .work_left import work_left

OPTIONS: dict[str, dict[str, Any]] = {
    "namespace": {"type": "str"},
    "groups": {"type": "dict"},
    "machines": {"type": "dict", "default": {}},
    "failed_members": {"type": "dict", "default": {}},
    "only": {"type": "list", "elements": "str", "default": []},
    "through": {"type": "list", "elements": "str", "default": []},
    "max_unavailable": {"type": "str"},
    "allow_quorum_loss": {"type": "bool", "default": False},
    "allow_forced_drains": FORCED,
    "allow_unmanaged_pods": ALLOW_UNMANAGED,
    **WORKLOADS,
    **PROOF,
    "workload_gate": {"type": "path"},
    "management": OTHER_KUBERNETES,
    "stopped": {"type": "str", "default": ""},
    "aborted": {"type": "bool", "default": False},
    **OF_DELEGATED,
    **OF_SPECIFIED,
    **OF_AGENTS,
}
"""The options of an upgrade of machines."""


def target_of(task: Task) -> Release:
    """The version of the option `target_version`, with or without its v.

    Raises:
        Refusal: it is none.
    """
    return _release_of(str(task.params["target_version"] or ""))


def _release_of(given: str) -> Release:
    found = release_in(plain(given))
    if found is None:
        raise refusal(
            "version_unreadable", f"{given or 'Nothing'} is not a version of Kubernetes.", "Give one such as 1.36.1."
        )
    return found


def through_of(task: Task) -> tuple[Release, ...]:
    """The versions on the way to the target of the run that a user has named. Raises Refusal: one of them is none."""
    return tuple(map(_release_of, task.params["through"]))


def version_before(task: Task) -> Release | None:
    """The last version on the way before `target_version`, which may be on the way itself; None if there is none.

    Raises:
        Refusal: one of them is no version.
    """
    target = target_of(task)
    return max((each for each in through_of(task) if each < target), default=None)


def _hops_of(task: Task) -> tuple[Release, ...]:
    through, target = through_of(task), target_of(task)
    check_ascending(through, target)
    return (*through, target)


def order(task: Task) -> Outcome:
    """The machines in their order, for each version on the way and the target. A plan waits until all are fit."""
    client, hops, target = connect(task.params["kubernetes"]), _hops_of(task), target_of(task)
    groups, facts = _groups_of(task), facts_in(task.params["machines"])
    most, placement = task.params["max_unavailable"], _placement(task, groups)

    def batches_of(seen: KubeadmCluster) -> list[Turn]:
        return turns(seen, groups, hops, facts, most, placement)

    def judged(seen: KubeadmCluster) -> Verdict:
        whole = _judged(task, seen, hops, facts, _first_of(batches_of(seen)))
        # A plan that is refused waits for nothing, and all that stands in its way is said at once.
        return whole.without_waiting() if whole.state is State.REFUSED else whole

    seen, verdict = task.wait(lambda: _looked(client, task.params["namespace"]), judged)
    batches, components = batches_of(seen), present_versions(seen, facts)
    return ordered(
        Whole(IDENTITY, groups, versions(seen, groups)),
        str(target),
        batches,
        verdict,
        unit="machines",
        digest=digest(hops, groups, most, _conditions(task)),
        components=components,
        details=_details(hops, batches, components),
        deployed_version=seen.configured,
        kubeadm=courses(seen, [*versions(seen, groups)], str(target)),
        # One that a person has cordoned stays so.
        kubernetes_nodes={name: name for name in versions(seen, groups) if batches and not seen.machines[name].is_kept},
    )


def _groups_of(task: Task) -> dict[str, list[str]]:
    return narrowed(task.params["groups"] or {}, task.params["only"])


def _judged(
    task: Task,
    seen: KubeadmCluster,
    hops: Sequence[Release],
    facts: Mapping[str, MachineFacts],
    first: Sequence[str],
) -> Verdict:
    """Whether the cluster may be upgraded; `first` are the machines of the first batch."""
    given, only, target = task.params["groups"] or {}, task.params["only"], str(hops[-1])
    names = [name for each in _groups_of(task).values() for name in each if name in seen.machines]
    left = [name for name in names if not seen.is_done(name, target)]
    accepted = task.params["allow_quorum_loss"]
    return combine(
        (
            judge_versions(seen, hops, left),
            judge_chain(seen, hops),
            judge_only(seen, [name for each in given.values() for name in each], only, target),
            judge_members(seen, given, target),
            judge_facts(seen, facts, left, utc_now()),
            judge_machines(seen, names),
            judge_control_plane(seen, first, etcd_too=True),
            judge_api_address(seen, left),
            judge_unmarked(seen, left, connected=bool(task.params["management"])),
            judge_counted(seen, facts, left, accepted=accepted),
            *(judge_quorum(seen, [name], accepted=accepted) for name in left),
        )
    )


def _placement(task: Task, groups: Mapping[str, Sequence[str]]) -> Placement:
    """The copies and votes on the machines, if several of these may go together.

    Raises:
        Refusal: the number of machines that may go together cannot be read, or a database does not answer.
    """
    most = task.params["max_unavailable"]
    readable_most(most)
    several = any((most_of(most or "1", len(names)) or 1) > 1 for names in groups.values())
    return placed(task) if several else NOTHING_ON_THEM


def _looked(client: KubernetesClient, namespace: str) -> KubeadmCluster:
    # Without the right to list NodeUpdates the order does without them: the plan needs no further right.
    work, _unseen = work_left(client, namespace)
    return replace(look(client), at_work=frozenset(work))


def _conditions(task: Task) -> list[str]:
    """The consents and choices that the digest of a plan covers."""
    params = task.params
    found = [*map(str, rungs_in(params["allow_forced_drains"])), *params["allow_unmanaged_pods"]]
    found += ["no quorum"] if params["allow_quorum_loss"] else []
    return found + conditions_of_workloads(params)


def _first_of(batches: Sequence[Turn]) -> Sequence[str]:
    return batches[0].members if batches else ()


def _details(hops: Sequence[Release], batches: Sequence[Turn], components: Mapping[str, list[str]]) -> list[str]:
    """Lines of the plan: the present versions, and in a chain the packages of each version that is left."""
    found, number = [present_line(components)] if batches else list[str](), 0
    for hop in hops if len(hops) > 1 else ():
        own = [each for each in batches if (each.target or str(hops[-1])) == str(hop)]
        if own:
            machines = counted(sum(len(each.members) for each in own), "machine")
            batch = f"batches {number + 1} to {number + len(own)}" if len(own) > 1 else f"batch {number + 1}"
            found.append(f"kubeadm, kubelet and kubectl {hop}: {machines} in {batch}")
        number += len(own)
    return found


def _once(batches: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The machines of each batch by name. In a chain later batches have the same machines."""
    found = dict[tuple[str, ...], str]()
    for each in batches:
        found.setdefault(tuple(each["members"]), each["name"])
    return {name: [*members] for members, name in found.items()}


def preflight(task: Task, planned: Outcome) -> Iterator[ParallelWork]:
    """The rights, what lives on the machines, and whether their Machines at Cluster API may be marked."""

    def rights(given: Task) -> Outcome:
        given.may_look()
        client, params = connect(given.params["kubernetes"]), given.params
        records = params["record_kept_in"] in {None, "kubernetes"}
        return Outcome(
            combine(
                (
                    missing_rights(client, params["namespace"], of_lock_and_record(records=records)),
                    missing_rights(client, "", CLUSTER_ROLE),
                )
            )
        )

    batches = _once(planned.more["batches"])

    def drains(given: Task) -> Outcome:
        given.may_look()
        client, rungs = connect(given.params["kubernetes"]), rungs_in(given.params["allow_forced_drains"])
        unmanaged = given.params["allow_unmanaged_pods"]
        asked = partial(is_asked, given.params)
        return Outcome(judge_drains(client, PlannedDrains.at_once(batches), rungs, unmanaged, is_asked=asked))

    def workloads(given: Task) -> Outcome:
        given.may_look()
        return foreseen(given, batches)

    def marks(given: Task) -> Outcome:
        given.may_look()
        found = MachineMarks.of(given, look(connect(given.params["kubernetes"])))
        missing = found.missing() if found is not None else Verdict()
        if found is None or not missing.passed:
            return Outcome(missing)
        return Outcome(found.judge(unique(name for each in batches.values() for name in each)))

    def requested(given: Task) -> Outcome:
        given.may_look()
        return Outcome(judge_request(given))

    further = [*([workloads] if batches else []), *([marks] if task.params["management"] else [])]
    for run in (rights, drains, *further, *([requested] if task.params["task_source"] else [])):
        yield ParallelWork(run, dict(task.params))


def words(params: Mapping[str, Any], plan: Mapping[str, Any]) -> Words:
    """The words of a plan."""
    changes = ["the cordon of each machine"] if plan["batches"] else []
    if changes and any(each["system"] != LONGHORN for each in params["workloads"]):
        changes.append("allocation in the databases on them")
    return Words("machine", "Kubernetes", changes=changes)
