"""The steps that a run takes outside its batches, in order. A user inserts, replaces and skips them by name. Pure.

Each pass takes every step again, so a killed run recovers. A step that only makes sense before the upgrade is left out
once a batch has started: an alert may be due to a member that is down. If a step fails or waits, no batch becomes a
host, so the run continues with its end, which puts back, records and reports. A list of steps is code of the user, so
no request may hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any


class StepPoint(str, Enum):
    """When a run takes a step."""

    BEFORE = "before"
    """Under the lock, before the first batch."""
    AFTER = "after"
    """When all batches are done, the whole is proven, and everything is put back."""


@dataclass(frozen=True)
class Step:
    """One step. Its tasks may run again at any time, and change nothing that is already as it should be."""

    name: str
    moment: StepPoint
    title: str = ""
    """The words for a step of the collection, as the title of its task."""
    part: str = ""
    """The function of a step of the collection, one of `entry.parts`."""
    tasks: str = "part.yml"
    """The file of its tasks; for a step of the collection its name in the role of the steps."""
    needs: str = ""
    """The variable without which a step of the collection has nothing to do."""
    own: bool = False
    """Whether the tasks are the user's."""
    once: bool = False
    """Whether it only makes sense before the first batch of the upgrade has begun."""
    timeout: int = 1800
    """Seconds for which a run that waits takes it again."""
    late_after: int = 0
    """Seconds after which a step that is not done is late, over all runs; 0 if it never is."""
    retries: int = 0
    retries_unreachable: int = 0
    """How often it may fail and be tried again, by the class of the error."""
    undone_by: str = ""
    """The file with the tasks that undo the changes of a failed step."""
    policy: str = ""
    """The variable that says whether the upgrade continues without the step; empty if it never does."""
    without: str = ""
    """What the upgrade then continues without."""

    @property
    def results(self) -> str:
        """How the names start under which a step of the collection registers results."""
        return "steps_part" if self.part else self.tasks.removesuffix(".yml")

    def as_result(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "title": self.title,
            "part": self.part,
            "tasks": self.tasks,
            "own": self.own,
            "once": self.once,
            "timeout": self.timeout,
            "late_after": self.late_after,
            "retries": self.retries,
            "retries_unreachable": self.retries_unreachable,
            "undone_by": self.undone_by,
        }


ADDS, NODES, INTEGRITY, SAVED_IN, RAISES = "adds", "kubernetes_nodes", "file_integrity", "saved_in", "raises"
GROWS, STARTS = "grows", "start_until"
SOAKS = "soaks"
"""In place of a variable: any of those with which batches must prove themselves."""
OF_PLAN = (ADDS, NODES, INTEGRITY, SAVED_IN, RAISES, GROWS, STARTS)
"""In place of a variable, a part of the plan: the capacity that it adds, the Kubernetes nodes of its pods, whether the
baseline of file integrity is made again, the repository of a snapshot, the copies that are added during the run, the
volumes that it makes larger, and the time from which it no longer starts."""
ASKED_FOR = {"snapshot": "snapshot", "replicas": "raise_replicas", "volumes": "volumes", "volumes_after": "volumes"}
"""The option that only asks for this step: without the step, a run would not do what its plan says."""
ASKED_EARLY = ("dependencies", "alerts", "nodes")
"""The steps whose questions are asked before the start, too."""
LIMITS = ("timeout", "late_after", "retries", "retries_unreachable")
"""The keys with which a user limits a step, including one of the collection."""
SNAPSHOT = "Take a snapshot, the way back from the upgrade"
VOLUMES = "Make the volume claims larger, and follow them until their file systems have grown"
VOLUMES_AFTER = "Prove that the file system of each larger volume claim has grown"
REPLICAS = "Give each single copy a second one for the time of the run"
HEALTH = "Measure the health of the cluster before the first batch"
HEALTH_AFTER = "Compare the health of the cluster with that from before the first batch"
ALERTS = "Prove that none of the selected alerts fires"
FIT = "Prove that the Kubernetes nodes are fit"
BASELINE = "Have the baseline of file integrity made again"
WINDOW = "Prove that the window for the start has not ended"
WINDOWS = ("window", "window_again")
"""The steps that prove it, before all others and after them."""
KNOWN = (
    # After the window no later step may be reached, and none may have taken it past its end.
    Step(WINDOWS[0], StepPoint.BEFORE, WINDOW, "start_window", needs=STARTS, once=True),
    Step(
        "dependencies",
        StepPoint.BEFORE,
        "Prove that all is available that the upgrade depends on",
        "external_dependencies",
        needs="upgrade_dependencies",
    ),
    Step("alerts", StepPoint.BEFORE, ALERTS, "prometheus_alerts", needs="upgrade_prometheus", once=True),
    Step("nodes", StepPoint.BEFORE, FIT, "kubernetes_nodes", needs=NODES, once=True),
    Step("health", StepPoint.BEFORE, HEALTH, "health_figures", needs=SOAKS, once=True),
    Step("snapshot", StepPoint.BEFORE, SNAPSHOT, "cluster_snapshot", needs=SAVED_IN, once=True),
    Step("volumes", StepPoint.BEFORE, VOLUMES, "grown_volumes", needs=GROWS),
    # A single copy that had moved to an added member, which has the new version, gets no second one on an older member
    # (server source, NodeVersionAllocationDecider).
    Step("replicas", StepPoint.BEFORE, REPLICAS, "raised_replicas", needs=RAISES),
    Step(
        "capacity",
        StepPoint.BEFORE,
        tasks="add_capacity.yml",
        needs=ADDS,
        once=True,
        undone_by="remove_capacity.yml",
        policy="upgrade_capacity_policy",
        without="additional capacity",
    ),
    Step("silences", StepPoint.BEFORE, "Hold the silences of the upgrade", "alert_silence", needs="upgrade_silences"),
    Step(WINDOWS[1], StepPoint.BEFORE, WINDOW, "start_window", needs=STARTS, once=True),
    Step("capacity_after", StepPoint.AFTER, tasks="remove_capacity.yml", needs=ADDS),
    Step("volumes_after", StepPoint.AFTER, VOLUMES_AFTER, "grown_volumes", needs=GROWS),
    Step("alerts_after", StepPoint.AFTER, ALERTS, "prometheus_alerts", needs="upgrade_prometheus"),
    Step("nodes_after", StepPoint.AFTER, FIT, "kubernetes_nodes", needs=NODES),
    Step("health_after", StepPoint.AFTER, HEALTH_AFTER, "health_figures", needs=SOAKS),
    Step("file_integrity", StepPoint.AFTER, BASELINE, "file_integrity", needs=INTEGRITY),
)
"""The steps of the collection, in their order."""


def in_order(given: Sequence[Mapping[str, Any]], known: Sequence[Step] = KNOWN) -> list[Step]:
    """The steps of a run in their order; `given` is what the user gives, already checked with `faults_of_steps`."""
    steps = list(known)
    for each in given:
        places = {step.name: place for place, step in enumerate(steps)}
        name = each["name"]
        if name in places:
            steps[places[name] : places[name] + 1] = (
                [] if means_yes(each.get("skip")) else [_own(steps[places[name]], each)]
            )
        elif not means_yes(each.get("skip")):
            neighbour = each.get("before_step") or each.get("after_step")
            place = places[neighbour] if neighbour in places else len(steps)
            moment = (
                steps[place].moment if neighbour in places else StepPoint(each.get("moment") or StepPoint.BEFORE.value)
            )
            steps.insert(place + bool(neighbour and each.get("after_step")), _own(Step(name, moment), each))
    return steps


def taken(
    given: Sequence[Mapping[str, Any]],
    moment: StepPoint,
    has: Callable[[str], bool],
    *,
    commenced: bool,
    once: Collection[str] = (),
) -> list[Step]:
    """The steps that a run takes at this point; `has` says whether what a step needs is there.

    Once a batch of the upgrade has begun (`commenced`), those that only make sense before are left out. `once`
    names further ones, for a system that continues by itself.
    """
    return [
        step
        for step in in_order(given)
        if step.moment is moment
        and (step.own or has(step.needs))
        and not (commenced and (step.once or (step.name in once and not step.own)))
    ]


def faults_of_steps(given: Sequence[Mapping[str, Any]], known: Sequence[Step] = KNOWN) -> Iterator[str]:
    """One sentence for each fault in the user's list of steps."""
    there = {step.name for step in known}
    seen: set[str] = set()
    for number, each in enumerate(given):
        name, where = str(each.get("name") or ""), f"upgrade_steps[{number}]"
        neighbours = [str(each[key]) for key in ("before_step", "after_step") if each.get(key)]
        if name in seen:
            yield f"{where} names the step {name} again: name each step once."
        adjusts = name in there and any(each.get(key) is not None for key in LIMITS)
        if not means_yes(each.get("skip")) and not each.get("tasks") and not adjusts:
            yield f"{where} has no tasks: give the file of the tasks of the step {name}, or skip it."
        if means_yes(each.get("skip")) and name not in there:
            yield f"{where} skips {name}, and there is no such step: there are {', '.join(sorted(there))}."
        if len(neighbours) > 1 or (neighbours and (name in there or each.get("moment"))):
            yield f"{where} has more than one place: give before_step, after_step or moment, and only to a new step."
        for other in neighbours:
            if other not in there | seen:
                yield f"{where} names the step {other} as its neighbour, and no such step comes before it in the list."
        seen.add(name)


def faults_of_steps_asked_for(given: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> Iterator[str]:
    """One sentence for each step that a variable asks for, but the user's list skips or replaces."""
    for each in given:
        option = ASKED_FOR.get(str(each.get("name")), "")
        wanted = f"upgrade_{option}"
        if option and variables.get(wanted) and (means_yes(each.get("skip")) or each.get("tasks")):
            deed = "skips" if means_yes(each.get("skip")) else "replaces"
            yield f"{wanted} asks for the step {each['name']}, and upgrade_steps {deed} it: give only one of the two."


def means_yes(value: object) -> bool:
    """Whether a value means yes, as Ansible reads it in YAML and on a line of a shell (`BOOLEANS_TRUE`)."""
    return str(value).lower() in ("true", "yes", "on", "1", "1.0", "y", "t")


def run_waits(wait: object) -> bool:
    """Whether a run waits, given `upgrade_wait`, instead of ending its pass at the first thing to wait for."""
    return wait in (None, "") or means_yes(wait)


def _own(step: Step, given: Mapping[str, Any]) -> Step:
    """The step as a user gives it. Without tasks it is the step of the collection with the user's limits."""
    limits: dict[str, Any] = {key: int(given[key]) for key in LIMITS if given.get(key) is not None}
    limited = replace(step, **limits)
    if not given.get("tasks"):
        return limited
    whole = replace(limited, undone_by="", policy="", without="")
    return replace(whole, tasks=str(given["tasks"]), own=True, once=means_yes(given.get("once")))
