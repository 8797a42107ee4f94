"""The work of the module `fleet_plan`: the waves of a fleet whose clusters are planned, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..common.errors import refusal
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Reason, Verdict, combine, refused, waiting
from ..run.begin_and_end import judge_same
from .cluster_upgrade import PLAYBOOKS
from .fleet_record import BAD, DONE, FleetPlan, digest_of, end_lines, failed_in, plan_lines
from .folder import Folder
from .waves import waves_of

CONTRACT = Contract(
    argument_spec={
        "state": {"type": "str", "choices": ["arranged", "planned", "agreed", "ended"], "default": "planned"},
        "path": {"type": "path", "required": True},
        "clusters": {"type": "list", "elements": "str", "required": True},
        "groups": {"type": "dict", "default": {}},
        "canary": {"type": "list", "elements": "str", "default": []},
        "waves": {"type": "list", "elements": "str", "default": []},
        "failures": {"type": "int", "default": 1},
        "playbook": {"type": "str", "choices": [*PLAYBOOKS], "default": "opensearch"},
        "confirmed": {"type": "str"},
    },
    guarded=False,
)


def run(task: Task) -> Outcome:
    """Arrange the waves, show them with the plans of their clusters, or show the end of the fleet's run."""
    folder, names = Folder(Path(task.params["path"])), task.params["clusters"]
    if task.params["state"] == "ended":
        return _ended(task, folder.read(), names)
    if not names:
        raise refusal(
            "fleet_without_clusters", "The fleet has no cluster.", "Give an inventory whose hosts are clusters."
        )
    waves = waves_of(names, task.params["groups"], task.params["canary"], task.params["waves"])
    fleet = FleetPlan(tuple(waves), task.params["failures"], clusters=folder.plans(names))
    if task.params["state"] == "arranged":
        if not task.check_mode:
            folder.arrange()
        return _outcome(fleet, [])
    missing = [name for name in names if name not in fleet.clusters]
    if missing:
        raise refusal("fleet_unplanned", f"There is no plan for {missing[0]}.", "Plan each cluster first.")
    fleet = replace(fleet, digest=digest_of(waves, fleet.clusters))
    verdict = Verdict(tuple(_refusals(fleet)))
    if task.params["state"] == "agreed":
        # Another look at the fleet may have replaced the plans in the folder since they were shown.
        verdict = combine((verdict, judge_same(fleet.digest, task.params["confirmed"] or fleet.digest)))
        if not verdict.reasons and not task.check_mode:
            _begin(folder, fleet)
        return _outcome(fleet, [], verdict)
    lines = plan_lines(fleet, task.params["playbook"])
    for line in lines:
        task.voice.show(line)
    return _outcome(fleet, lines, verdict)


def _begin(folder: Folder, fleet: FleetPlan) -> None:
    """Take the plans that a person has agreed to into the record of the fleet. Launches stay there, so that each job of
    a run that was killed is found again, and so does the time since which a canary has not proven itself."""
    before = folder.clusters([*fleet.clusters])
    folder.resume()
    for cluster in fleet.clusters.values():
        known = before.get(cluster.name, cluster)
        folder.put(replace(cluster, wave=fleet.wave_of(cluster.name), launch=known.launch, since=known.since))
    folder.write(fleet)


def _refusals(fleet: FleetPlan) -> Iterator[Reason]:
    """A reason for each cluster without a plan, once there are enough of them to end the fleet."""
    failed = failed_in(fleet.clusters)
    if fleet.failures and len(failed) >= fleet.failures:
        for each in failed:
            yield refused(
                "fleet_cluster_refused",
                f"Cluster {each.name} has no plan: {each.cause}",
                "Fix it, leave the cluster out with --limit, or raise upgrade_fleet_failures.",
            )


def _ended(task: Task, fleet: FleetPlan, names: list[str]) -> Outcome:
    """The end of the run. The playbook reports each failure, as one of the cluster's host."""
    names = [name for wave in fleet.waves for name in wave.clusters if name in names]
    lines = end_lines(fleet, names)
    for line in lines:
        task.voice.show(line)
    found = [fleet.clusters[name] for name in names if name in fleet.clusters]
    failed = {each.name: each.cause for each in found if each.state in BAD}
    late = [each for each in found if each.state not in (DONE, *BAD)]
    waits = [waiting("fleet_waits", f"Cluster {each.name} is {each.state}: {each.cause}") for each in late]
    return _outcome(fleet, lines, Verdict(tuple(() if failed else waits)), failed_clusters=failed)


def _outcome(fleet: FleetPlan, lines: list[str], verdict: Verdict | None = None, **more: object) -> Outcome:
    waves = [{"name": wave.name, "clusters": list(wave.clusters)} for wave in fleet.waves]
    clusters = {name: each.as_data() for name, each in fleet.clusters.items()}
    shown = {"waves": waves, "digest": fleet.digest, "clusters": clusters, "lines": lines, **more}
    return Outcome(verdict or Verdict(), more=shown)
