"""The work of the module `machine_upgrade`: the batches of an upgrade of machines, drains, and putting back.

The work on a machine itself is that of a role, which runs there between the states of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..common.task import Outcome, Task, attempt
from ..common.verdict import Reason, Verdict, combine, remark
from ..draining.act.draining import Draining
from ..draining.drain import DrainRules, drain
from ..draining.judge.forced_drains import rungs_in
from ..kubernetes.client import KubernetesClient, connect
from ..run.begin_and_end import System
from ..run.runs import contract_of, work_of
from ..workloads import going_down
from .delegated import delegated
from .judge.fitness import judge_control_plane, judge_machines, judge_quorum
from .judge.order import courses, narrowed
from .judge.preflight import judge_available
from .judge.progress import UPDATING, judge_returned, judge_whole, left_of
from .observe.facts import facts_in
from .observe.look import look
from .observe.state import KubeadmCluster
from .planning import IDENTITY, OPTIONS, order, preflight, target_of, words

MODULE = "machine_upgrade"
SECONDS_A_BATCH = 300
"""Seconds that a batch is taken to last as long as none was measured."""


def _waited(
    task: Task, judge: Callable[[KubeadmCluster], Verdict], *, stoppable: bool = False
) -> tuple[KubeadmCluster, Verdict]:
    """The last look, and its verdict, once the judge waits no more or the time is over."""
    client, names, target = connect(task.params["kubernetes"]), task.params["batch"], str(target_of(task))

    def left(seen: KubeadmCluster) -> dict[str, tuple[float, ...]]:
        return {UPDATING: left_of(seen, names, target)}

    return task.wait(lambda: look(client), judge, stoppable=stoppable, remaining=left)


def _to_its_end(task: Task) -> Task:
    """The same task, which waits even in one pass.

    A pass that left a machine in the middle would leave it cordoned. Uncordoned it would have its pods back, so that no
    drain that takes longer than a pass would ever end.
    """
    return replace(task, params={**task.params, "wait": True})


def _fit(task: Task) -> Outcome:
    """Wait until the cluster is fit for the batch, and say how kubeadm upgrades each machine."""
    names, accepted = task.params["batch"], task.params["allow_quorum_loss"]

    def judged(seen: KubeadmCluster) -> Verdict:
        going = [name for name in names if name in seen.machines]
        return combine(
            (
                judge_machines(seen, going, going),
                judge_control_plane(seen, going),
                judge_quorum(seen, going, accepted=accepted),
                judge_available(seen, task.params["groups"] or {}, going, task.params["max_unavailable"]),
            )
        )

    seen, verdict = _waited(task, judged, stoppable=True)
    return Outcome(verdict, more={"kubeadm": courses(seen, names, str(target_of(task)))})


def _drained(task: Task) -> Outcome:
    """Cordon the machines of the batch, and evict their pods."""
    rules = DrainRules(rungs_in(task.params["allow_forced_drains"]), tuple(task.params["allow_unmanaged_pods"]))
    return drain(_to_its_end(task), connect(task.params["kubernetes"]), task.params["batch"], MODULE, rules)


def _returned(task: Task) -> Outcome:
    """Wait until the machines are back on the target, and uncordon those that the run has cordoned."""
    names, target = task.params["batch"], str(target_of(task))
    _seen, verdict = _waited(_to_its_end(task), lambda seen: judge_returned(seen, names, target))
    if verdict.passed:
        verdict = combine((verdict, Verdict(_uncordoned(task, connect(task.params["kubernetes"]), names))))
    return Outcome(verdict, bool(task.journal.as_result()))


def _uncordoned(task: Task, client: KubernetesClient, names: list[str]) -> tuple[Reason, ...]:
    draining = Draining(task, client, MODULE)
    return tuple(reason for name in names for reason in draining.uncordon(name))


def _proven(task: Task) -> Outcome:
    """Wait until all machines of the run are on the target, and well."""
    target = str(target_of(task))
    groups = narrowed(task.params["groups"] or {}, task.params["only"])
    names = [name for group in groups.values() for name in group]

    def judged(seen: KubeadmCluster) -> Verdict:
        there = [name for name in names if name in seen.machines]
        fit = (judge_machines(seen, there), judge_control_plane(seen))
        return combine((judge_whole(seen, there, target), *fit))

    seen, verdict = _waited(task, judged, stoppable=True)
    return Outcome(verdict, before={"status": "well" if verdict.passed else "unwell", "version": seen.configured})


def _restored(task: Task) -> Outcome:
    """Uncordon the machines that runs have cordoned, and put back what they have changed in the workloads.

    One that is not Ready stays cordoned, and one on which something is at work: it may be half upgraded, or go down.
    """
    client, facts = connect(task.params["kubernetes"]), facts_in(task.params["machines"])
    busy = {name for name, each in facts.items() if each.under_way}

    def again() -> Verdict:
        seen = look(client)
        marked = [name for name, each in seen.machines.items() if each.carries_undo]
        unsure = [name for name in marked if not seen.machines[name].ready or name in busy]
        reasons = _uncordoned(task, client, [name for name in marked if name not in unsure])
        return Verdict((*reasons, *(_stays(name, at_work=name in busy) for name in unsure)))

    cordons = attempt(lambda given: Outcome(given.wait(again, lambda _found: Verdict())[0]), task)
    verdict = combine((cordons.verdict, going_down.put_back(task).verdict))
    return Outcome(verdict, bool(task.journal.as_result()), next="nothing")


def _stays(name: str, *, at_work: bool) -> Reason:
    if at_work:
        said = f"Machine {name} stays cordoned, since an operation of its agent is under way, which may restart it."
        return remark(
            "machine_stays_cordoned", said, "Run the playbook again: it reads the result of the operation, and goes on."
        )
    return remark(
        "machine_stays_cordoned",
        f"Machine {name} stays cordoned, since it is not Ready and may be half upgraded.",
        "Run the playbook again once it is Ready, or see journalctl -u kubelet there.",
    )


SYSTEM = System(
    name="machines",
    options=OPTIONS,
    uuid=lambda _task: IDENTITY,
    order=order,
    preflight=preflight,
    put_back=_restored,
    states={
        "fit": _fit,
        "asked": going_down.asked,
        "ready": going_down.ready,
        "drained": _drained,
        "delegated": lambda task: delegated(_to_its_end(task)),
        "returned": _returned,
        "rejoined": going_down.rejoined,
        "whole": going_down.whole,
        "proven": _proven,
        "restored": _restored,
    },
    guess=SECONDS_A_BATCH,
    words=words,
)
CONTRACT, run = contract_of(SYSTEM), work_of(SYSTEM)
