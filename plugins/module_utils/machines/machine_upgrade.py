"""The work of the module `machine_upgrade`: the batches of an upgrade of machines, drains, and putting back.

The work on a machine itself is that of a role, which runs there between the states of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.attempts import refusals_of
from ..common.errors import Refusal, Unreachable
from ..common.task import Outcome, Task, attempt
from ..common.verdict import Reason, Verdict, combine, remark
from ..common.words import unique
from ..draining.act.draining import Draining
from ..draining.drain import DrainRules, drain
from ..draining.judge.forced_drains import rungs_in
from ..kubernetes.client import KubernetesClient, connect
from ..run.begin_and_end import System
from ..run.runs import contract_of, work_of
from ..workloads import going_down
from ..workloads.workload import consents_of_workloads
from .agent_work import Operations, noted, operations_left, stays_for_agent, uncordoned_at_work
from .delegated import delegated
from .judge.fitness import judge_control_plane, judge_machines, judge_quorum
from .judge.order import courses, narrowed, snapshots
from .judge.preflight import judge_available, judge_owners
from .judge.progress import UPDATING, judge_failed, judge_past, judge_returned, judge_whole, left_of
from .machine_marks import MODULE, MachineMarks
from .machine_specs import write_specs
from .observe.facts import facts_in
from .observe.look import look
from .observe.owners import owners_of
from .observe.state import IDENTITY, KubeadmCluster
from .planning import OPTIONS, order, preflight, target_of, through_of, version_before, words
from .pods_of_batch import await_pods, is_noted, note_pods, notes_put_back
from .specified import specified
from .work_left import end_work, still_at_work, work_left

SECONDS_A_BATCH = 300
"""Seconds that a batch is expected to last as long as none was measured."""


def _waited(
    task: Task,
    judge: Callable[[KubeadmCluster], Verdict],
    *,
    stoppable: bool = False,
    going: Collection[str] = (),
) -> tuple[KubeadmCluster, Verdict]:
    """The last look, and its verdict, once the judge waits no more or the time is over. It has the owners at Cluster
    API of the machines that are `going`."""
    client, names, target = connect(task.params["kubernetes"]), task.params["batch"], str(target_of(task))

    def left(seen: KubeadmCluster) -> dict[str, tuple[float, ...]]:
        return {UPDATING: left_of(seen, names, target)}

    return task.wait(lambda: _with_owners(task, look(client), going), judge, stoppable=stoppable, remaining=left)


def _with_owners(task: Task, seen: KubeadmCluster, going: Collection[str]) -> KubeadmCluster:
    marks = MachineMarks.of(task, seen) if going else None
    return seen if marks is None else replace(seen, owners=owners_of(marks.api, marks.owned, going))


def _to_its_end(task: Task) -> Task:
    """The same task, which waits even in one pass.

    A pass that ended halfway would leave a machine cordoned. If the machine were uncordoned, its pods would come back,
    and no drain that takes longer than a pass would ever end.
    """
    return replace(task, params={**task.params, "wait": True})


def _fit(task: Task) -> Outcome:
    """Wait until the cluster is fit for the batch, and say how kubeadm upgrades each machine."""
    names, accepted = task.params["batch"], task.params["allow_quorum_loss"]
    # In check mode no machine goes anywhere.
    before, machines = None if task.check_mode else version_before(task), _machines_of(task)

    def judged(seen: KubeadmCluster) -> Verdict:
        going = [name for name in names if name in seen.machines]
        # In check mode the first batch, whose components the plan does not wait for, has not been upgraded.
        exempt = seen.control_plane if task.check_mode else going
        return combine(
            (
                judge_machines(seen, going, going),
                judge_control_plane(seen, exempt),
                judge_quorum(seen, going, accepted=accepted),
                judge_available(seen, task.params["groups"] or {}, going, task.params["max_unavailable"]),
                judge_owners(seen, going, task.params["max_unavailable"]),
                *([] if before is None else [judge_past(seen, machines, before)]),
            )
        )

    seen, verdict = _waited(task, judged, stoppable=True, going=names)
    noted_before = is_noted(seen, names)
    if verdict.passed and not task.check_mode and noted_before:
        # A killed run, or one that did not wait longer, has left them.
        verdict = await_pods(task, connect(task.params["kubernetes"]), seen, noted_before)
        if verdict.passed:
            seen, verdict = _waited(task, judged, stoppable=True, going=names)
    if verdict.passed and not task.check_mode:
        verdict = combine((verdict, _marked(task, seen, lambda marks: marks.hold(names))))
    target = str(target_of(task))
    more = {"kubeadm": courses(seen, names, target), "snapshots": snapshots(seen, names, target)}
    return Outcome(verdict, bool(task.journal.as_result()), more={**more, "guards_etcd": not accepted})


def _marked(task: Task, seen: KubeadmCluster, act: Callable[[MachineMarks], Verdict]) -> Verdict:
    """The verdict of an act on the Machines of the management cluster, where there is one."""

    def attempt() -> Verdict:
        marks = MachineMarks.of(task, seen)
        return act(marks) if marks is not None else Verdict()

    return task.ask(attempt)


def _first(task: Task, plan: Outcome) -> Outcome:
    """Mark the Machines of all batches. In check mode nothing is marked."""
    names = unique(name for batch in plan.more["batches"] for name in batch["members"])
    if task.check_mode or not names or not task.params["management"]:
        return Outcome(Verdict())
    seen = task.ask(lambda: look(connect(task.params["kubernetes"])))
    return Outcome(_marked(task, seen, lambda marks: marks.await_turn(names)), bool(task.journal.as_result()))


def _drained(task: Task) -> Outcome:
    """Cordon the machines of the batch, and evict their pods, unless one is to be replaced by now."""
    client, names = connect(task.params["kubernetes"]), task.params["batch"]
    if task.params["management"]:
        verdict = _marked(task, task.ask(lambda: look(client)), lambda marks: marks.judge(names))
        if not verdict.passed:
            return Outcome(verdict)
    note_pods(task, client, names)
    rules = DrainRules(rungs_in(task.params["allow_forced_drains"]), tuple(task.params["allow_unmanaged_pods"]))
    return drain(_to_its_end(task), client, names, MODULE, rules)


def _returned(task: Task) -> Outcome:
    """Wait until the machines are back on the target, and uncordon those that the run has cordoned.

    A machine on whose host a step has failed is looked at once: nothing there brings it to the target any more.
    """
    names, target, failed = task.params["batch"], str(target_of(task)), task.params["failed_members"]
    to_end = _to_its_end(task)
    well = [name for name in names if name not in failed]
    seen, verdict = _waited(to_end, lambda seen: judge_returned(seen, well, target))
    verdict = combine((judge_failed(seen, failed, target), verdict))
    if verdict.passed:
        verdict = combine((verdict, Verdict(_uncordoned(task, connect(task.params["kubernetes"]), names))))
        if target_of(task) not in through_of(task):
            verdict = combine((verdict, to_end.ask(lambda: write_specs(task, seen, names, target))))
    return Outcome(verdict, bool(task.journal.as_result()))


def _ready_again(task: Task) -> Outcome:
    """Wait until the pods that the machines of the batch had are Ready again, and let go of the machines.

    Databases on them are whole by then. Until both are, a machine is held, since it may have the only copy of data. One
    at a version on the way goes down again, and keeps its marks until it is on the target.
    """
    to_end, client = _to_its_end(task), connect(task.params["kubernetes"])
    names, target = task.params["batch"], str(target_of(task))
    seen = to_end.ask(lambda: look(client))
    verdict = await_pods(to_end, client, seen, names)
    if verdict.passed and target_of(task) not in through_of(task):
        verdict = combine((verdict, _marked(to_end, seen, lambda marks: Verdict(tuple(marks.done(names, target))))))
    return Outcome(verdict, bool(task.journal.as_result()))


def _uncordoned(task: Task, client: KubernetesClient, names: Sequence[str]) -> tuple[Reason, ...]:
    """The remarks on cordons, and the reasons for which some stay. One that stays holds no other one up."""
    draining, remarks = Draining(task, client, MODULE), list[Reason]()

    def uncordon(name: str) -> None:
        remarks.extend(draining.uncordon(name))

    refusals = refusals_of([partial(uncordon, name) for name in names])
    return (*remarks, *refusals)


def _proven(task: Task) -> Outcome:
    """Wait until all machines of the run are on the target, and well."""
    target, names = str(target_of(task)), _machines_of(task)

    def judged(seen: KubeadmCluster) -> Verdict:
        there = [name for name in names if name in seen.machines]
        fit = (judge_machines(seen, there), judge_control_plane(seen))
        return combine((judge_whole(seen, there, target), *fit))

    seen, verdict = _waited(task, judged, stoppable=True)
    if verdict.passed and not task.check_mode:
        verdict = combine((verdict, await_pods(task, connect(task.params["kubernetes"]), seen, is_noted(seen))))
    if verdict.passed:
        # A run that was killed may have left some.
        verdict = combine((verdict, task.ask(lambda: write_specs(task, seen, names, target))))
    return Outcome(
        verdict,
        bool(task.journal.as_result()),
        before={"status": "well" if verdict.passed else "unwell", "version": seen.configured},
    )


def _machines_of(task: Task) -> list[str]:
    """The machines of the run."""
    groups = narrowed(task.params["groups"] or {}, task.params["only"])
    return [name for group in groups.values() for name in group]


def _restored(task: Task) -> Outcome:
    """Uncordon the machines that runs have cordoned, take their marks off the Machines of Cluster API, and put the
    workloads back.

    One that is not Ready stays cordoned, and one on which something is at work: it may be half upgraded, or go down.
    Work of NodeUpdates is aborted only if the upgrade is. The marks are removed before the cordons, which show whether
    work had started.
    """
    client, facts = connect(task.params["kubernetes"]), facts_in(task.params["machines"])
    on_machines = {name for name, each in facts.items() if each.under_way}

    def again() -> Verdict:
        seen = look(client)
        work, unseen = work_left(client, task.params["namespace"])
        operations = operations_left(task, client, seen, facts)
        busy = {*on_machines, *work, *operations}
        unmarked = _unmarked(task, seen, busy)
        marked = [name for name, each in seen.machines.items() if each.carries_undo]
        unsure = [name for name in marked if not seen.machines[name].ready or name in busy]
        reasons = _uncordoned(task, client, [name for name in marked if name not in unsure])
        # Those with a NodeUpdate are named with it.
        stay = [_stays(name, on_machines, operations) for name in unsure if name not in work]
        left = (*still_at_work(work, unsure), *uncordoned_at_work(operations, unsure))
        remarks = (*stay, *left, *(unseen if marked else ()))
        return Verdict((*reasons, *remarks, *unmarked, *notes_put_back(task, client, seen)))

    ends = task.params["aborted"] and not task.check_mode
    ended = attempt(lambda given: Outcome(end_work(given, client)), task) if ends else Outcome(Verdict())
    cordons = attempt(lambda given: Outcome(given.wait(again, lambda _found: Verdict())[0]), task)
    verdict = combine((ended.verdict, cordons.verdict, going_down.put_back(task).verdict))
    return Outcome(verdict, bool(task.journal.as_result()), next="nothing")


def _unmarked(task: Task, seen: KubeadmCluster, busy: Collection[str]) -> tuple[Reason, ...]:
    """The remarks on Machines of Cluster API, or the reasons for which their marks stay; the cordons go anyway."""
    try:
        marks = MachineMarks.of(task, seen)
        return marks.put_back(busy) if marks is not None else ()
    except Unreachable:
        raise
    except Refusal as error:
        return error.verdict.reasons


def _stays(name: str, on_machines: Collection[str], operations: Operations) -> Reason:
    if name in on_machines or name in operations:
        return stays_for_agent(name, "" if name in on_machines else operations[name])
    return remark(
        "machine_stays_cordoned",
        f"Machine {name} stays cordoned, since it is not Ready and may be half upgraded.",
        "Run the playbook again once it is Ready, or see journalctl -u kubelet there.",
    )


def _options_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options, with the connection to UpgradeTasks, which are next to their Machines."""
    return {**params, "request_kubernetes": params["management"]}


SYSTEM = System(
    name="machines",
    options=OPTIONS,
    uuid=lambda _task: IDENTITY,
    order=order,
    preflight=preflight,
    put_back=_restored,
    first=_first,
    states={
        "fit": _fit,
        "asked": going_down.asked,
        "ready": going_down.ready,
        "drained": _drained,
        "delegated": lambda task: delegated(_to_its_end(task)),
        "specified": specified,
        "noted": noted,
        "returned": _returned,
        "rejoined": going_down.rejoined,
        "whole": going_down.whole,
        "ready_again": _ready_again,
        "proven": _proven,
        "restored": _restored,
    },
    guess=SECONDS_A_BATCH,
    words=words,
    consents=consents_of_workloads,
    options_of=_options_of,
)
CONTRACT, run = contract_of(SYSTEM), work_of(SYSTEM)
