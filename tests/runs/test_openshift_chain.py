"""Upgrades of OpenShift over several minor versions: one run makes each of them, with the gates between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.openshift import PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.sampled import one_in
from tests.runs.test_openshift import SETTLE, codes
from tests.runs.test_openshift_capacity import SETS
from tests.runs.test_openshift_target import FEW, SERVICE, Reached, goes
from tests.runs.test_upgrade_config import RequestedOpenShift
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.asking import FAR, LONG, history, pool
from tests.sandbox.openshift.description import ConditionalEdge, Described, Graph, Pool, Risk
from tests.sandbox.openshift.habits import KIND, Habits
from tests.sandbox.openshift.kinds import (
    ACKS,
    ACKS_NAMESPACE,
    DESIRED,
    VERSIONS,
    annotations_of,
    rendered,
)
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.web import Request
from tests.scenarios.playbook import Played

EVEN = replace(FEW, version="4.18.2", graph=FAR)
TO_EVEN: dict[str, Any] = {"target_version": "4.20.2", "upgrade_through": ["4.19.4"]}


class Chained(Reached):
    """An OpenShift that notes each configuration that a worker is to have."""

    def __init__(self, here: World, described: Described = EVEN, habits: Habits = KIND) -> None:
        super().__init__(here, described, habits)
        self.taken: list[tuple[str, str]] = []
        """The workers with their configurations, in the order in which they were taken."""
        self.openshift.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind != NODES or change.before is None:
            return
        name, desired = change.item["metadata"]["name"], annotations_of(change.item).get(DESIRED, "")
        if name.startswith("worker") and desired != annotations_of(change.before).get(DESIRED):
            self.taken.append((name, desired))

    def has_come(self, *versions: str) -> None:
        """Fails unless it has gone through these versions, the last of which is the present one, each wanted once."""
        found = [version for version, _state in history(self.openshift)][::-1]
        assert found == [self.described.version, *versions]
        assert history(self.openshift)[0] == (versions[-1], "Completed")
        assert self.openshift.observer.breaches == []
        assert self.openshift.observer.leftovers() == []
        assert len(self.openshift.observer.writes_of("spec.desiredUpdate")) == len(versions)
        assert self.paused() == []

    def when_at(self, version: str, then: Callable[[], None]) -> None:
        """Have something happen, once, as soon as the control plane has come to a version."""

        def is_there(item: Json) -> bool:
            history = item.get("status", {}).get("history") or [{}]
            return (history[0].get("version"), history[0].get("state")) == (version, "Completed")

        self.openshift.faults.when(VERSIONS, is_there, then)


def plan_text(planned: Played) -> str:
    """The plan as it is shown."""
    return str(json.loads(re.findall(r'"upgrade_plan_text": ("(?:[^"\\]|\\.)+")', planned.output)[0]))


@pytest.mark.parametrize("habits", [KIND, Habits()], ids=["kind", "worst"])
def test_workers_pass_over_the_odd_version_between_two_even_ones(here: World, habits: Habits) -> None:
    cluster = Chained(here, habits=habits)
    planned = goes(cluster.plan(**TO_EVEN))
    assert "control plane to 4.19.4, then to 4.20.2; workers once, to 4.20.2" in planned.output
    assert "stays: channel stable-4.19, then stable-4.20, desired update" in planned.output
    assert plan_text(planned) in (Path(__file__).parents[2] / "docs" / "openshift.md").read_text(encoding="utf-8")
    goes(cluster.upgrade(**TO_EVEN))
    cluster.has_come("4.19.4", "4.20.2")
    assert cluster.taken == [("worker-0", rendered("worker", "4.20.2")), ("worker-1", rendered("worker", "4.20.2"))]
    before = len(cluster.openshift.observer.writes)
    again = goes(cluster.upgrade(**TO_EVEN))
    assert "Nothing to do" in again.output
    assert len(cluster.openshift.observer.writes) == before


ODD = replace(FEW, version="4.19.4", channel="stable-4.19", graph=LONG)
NEXT_ONE = "stable-4.20"
TO_FAR: dict[str, Any] = {"target_version": "4.22.1", "upgrade_through": ["4.20.2", "4.21.0"]}


def test_other_workers_go_before_the_control_plane_goes_on(here: World) -> None:
    cluster = Chained(here, ODD)
    planned = goes(cluster.plan(**TO_FAR))
    said = "control plane to 4.20.2, then to 4.21.0, then to 4.22.1; workers to 4.20.2, then to 4.22.1"
    assert said in planned.output
    assert "next of worker in zone a, to 4.20.2" in planned.output
    goes(cluster.upgrade(**TO_FAR))
    cluster.has_come("4.20.2", "4.21.0", "4.22.1")
    stops = ("4.20.2", "4.22.1")
    assert cluster.taken == [(name, rendered("worker", each)) for each in stops for name in ("worker-0", "worker-1")]


@pytest.mark.parametrize("described", [EVEN, ODD], ids=["once", "twice"])
@pytest.mark.parametrize("number", one_in(8, range(3, 60, 3)))
def test_a_run_that_is_killed_goes_on_with_the_upgrade_under_way(
    here: World, number: int, described: Described
) -> None:
    cluster = Chained(here, described)
    more = TO_EVEN if described is EVEN else TO_FAR
    given = cluster.agreed(**more)
    ended = here.killed_behind(number, given, PLAYBOOK)
    if ended is None:
        cluster.openshift.clock.advance(120)
        ended = here.play(PLAYBOOK, given)
    goes(ended)
    cluster.has_come(*more["upgrade_through"], more["target_version"])
    stops = ["4.20.2"] if described is EVEN else ["4.20.2", "4.22.1"]
    assert cluster.taken == [(name, rendered("worker", each)) for each in stops for name in ("worker-0", "worker-1")]


def test_passes_go_on_with_the_chain(here: World) -> None:
    cluster = Chained(here, ODD)
    given = cluster.agreed(upgrade_wait=False, **TO_FAR)
    for _pass in range(80):
        ended = goes(here.play(PLAYBOOK, given))
        if '"upgrade_state": "done"' in ended.output:
            break
        cluster.openshift.clock.advance(300)
    cluster.has_come("4.20.2", "4.21.0", "4.22.1")


def without_edges(graph: Graph) -> Graph:
    """The graph, in which nothing leads to 4.20.2."""
    return replace(graph, edges=tuple(each for each in graph.edges if each[1] != "4.20.2"))


def test_an_update_that_is_offered_no_more_stops_the_chain_before_it(here: World) -> None:
    cluster = Chained(here)
    given = cluster.agreed(**TO_EVEN)

    def vanish() -> None:
        cluster.openshift.updates.graph = without_edges(FAR)

    cluster.when_at("4.19.4", vanish)
    ended = here.play(PLAYBOOK, given)
    assert codes(ended) == ["update_not_offered"], ended.output
    assert "offers no update from 4.19.4 to 4.20.2" in ended.output
    assert "MachineConfigPool worker stays paused, with 2 Kubernetes nodes left to update." in ended.output
    cluster.openshift.clock.advance(3600)
    assert (cluster.paused(), cluster.taken) == (["worker"], [])
    cluster.openshift.updates.graph = FAR
    goes(here.play(PLAYBOOK, given))
    cluster.has_come("4.19.4", "4.20.2")
    assert [name for name, _configuration in cluster.taken] == ["worker-0", "worker-1"]


def test_settle_in_the_middle_lets_the_workers_go_to_the_version_on_the_way(here: World) -> None:
    cluster = Chained(here)
    given = cluster.agreed(**TO_EVEN)
    cluster.when_at("4.19.4", lambda: cluster.openshift.faults.operator_stays_degraded("etcd"))
    assert here.play(PLAYBOOK, given).code != 0
    assert cluster.paused() == ["worker"]
    goes(here.play(SETTLE, {**cluster.variables(), **SYSTEM}))
    assert cluster.paused() == []
    cluster.openshift.faults.operator_mended("etcd")
    assert cluster.openshift.until(cluster.openshift.upgrade_done)
    assert {configuration for _name, configuration in cluster.taken} == {rendered("worker", "4.19.4")}
    goes(here.play(PLAYBOOK, given))
    cluster.has_come("4.19.4", "4.20.2")


GATE = "ack-4.19-kube-1.33-api-removals-in-4.20"


def test_an_acknowledgement_of_the_version_on_the_way_is_waited_for_between(here: World) -> None:
    """The release on the way brings it, and so no plan can ask for it."""
    cluster = Chained(here, replace(EVEN, gates={GATE: "APIs are removed, see https://example.com."}))
    given = cluster.agreed(**TO_EVEN)

    def acknowledge() -> None:
        write_data(cluster, ACKS_NAMESPACE, ACKS, {GATE: "true"})

    cluster.when_at("4.19.4", lambda: cluster.openshift.clock.later(900, acknowledge))
    ended = goes(here.play(PLAYBOOK, given))
    assert f"OpenShift asks for the acknowledgement {GATE}" in ended.output
    cluster.has_come("4.19.4", "4.20.2")


def write_data(cluster: Chained, namespace: str, name: str, data: dict[str, str]) -> None:
    """Write a ConfigMap, as OpenShift or a person does."""
    resources = cluster.openshift.resources
    resources.change(CONFIG_MAPS, namespace, name, lambda item: item.update(data=data), Writing(PERSON))


def test_a_version_on_the_way_that_is_not_upgradeable_is_waited_for(here: World) -> None:
    cluster = Chained(here)
    given = cluster.agreed(**TO_EVEN)
    faults, clock = cluster.openshift.faults, cluster.openshift.clock

    def refuse() -> None:
        faults.operator_not_upgradeable("etcd")
        clock.later(900, lambda: faults.operator_upgradeable("etcd"))

    cluster.when_at("4.19.4", refuse)
    ended = goes(here.play(PLAYBOOK, given))
    assert "OpenShift says that it cannot go to another minor version: " in ended.output
    cluster.has_come("4.19.4", "4.20.2")


@pytest.mark.parametrize(
    ("graph", "more", "code", "said"),
    [
        (FAR, {"upgrade_through": ["4.19.4", "4.19.0"]}, "chain_unordered", "4.19.4 comes before 4.19.0"),
        (FAR, {"upgrade_through": ["4.19.4", "4.20.2"]}, "chain_unordered", "4.20.2 comes before 4.20.2"),
        (FAR, {"upgrade_through": ["4.19.4", "next"]}, "version_unreadable", "next is not a version of OpenShift"),
        (FAR, {"upgrade_through": ["4.19.9"]}, "update_not_offered", "offers no update from 4.18.2 to 4.19.9"),
        (without_edges(FAR), {}, "update_not_offered", "offers no update from 4.19.4 to 4.20.2"),
        (FAR, {"upgrade_through": ["4.18.3"]}, "minor_skipped", "From 4.18.3 to 4.20.2 a minor version would be"),
    ],
)
def test_a_chain_that_leads_nowhere_is_refused_when_it_is_planned(
    here: World, graph: Graph, more: dict[str, Any], code: str, said: str
) -> None:
    cluster = Chained(here, replace(EVEN, graph=graph))
    refused = cluster.plan(**{**TO_EVEN, **more})
    assert refused.code != 0
    assert code in codes(refused), refused.output
    assert said in refused.output


def test_risks_of_a_later_upgrade_take_consent_at_once(here: World) -> None:
    graph = replace(without_edges(FAR), conditional=(ConditionalEdge("4.19.4", "4.20.2", (Risk("SlowPods"),)),))
    cluster = Chained(here, replace(EVEN, graph=graph))
    said = cluster.refused("update_risk", **TO_EVEN)
    assert "The update to 4.20.2 has the risk SlowPods, which may apply to this cluster" in said.output
    goes(cluster.upgrade(upgrade_accept_risks=["SlowPods"], **TO_EVEN))
    cluster.has_come("4.19.4", "4.20.2")


def test_check_mode_goes_through_all_batches_of_a_chain(here: World) -> None:
    cluster = Chained(here, ODD)
    goes(here.play(PLAYBOOK, cluster.agreed(**TO_FAR), "--check"))
    assert cluster.openshift.observer.writes == []


def test_the_digest_covers_the_chain(here: World) -> None:
    cluster = Chained(here)
    other = cluster.agreed(**{**TO_EVEN, "upgrade_through": ["4.19.0"]})
    assert cluster.agreed(**TO_EVEN)["upgrade_confirm"] != other["upgrade_confirm"]


def test_one_channel_that_leads_all_the_way_is_set_once(here: World) -> None:
    channel = "eus-4.20"
    graph = replace(FAR, releases=tuple(replace(each, channels=(*each.channels, channel)) for each in FAR.releases))
    cluster = Chained(here, replace(EVEN, graph=graph))
    assert "stays: channel eus-4.20, desired update" in cluster.plan(upgrade_channel=channel, **TO_EVEN).output
    goes(cluster.upgrade(upgrade_channel=channel, **TO_EVEN))
    cluster.has_come("4.19.4", "4.20.2")
    assert len(cluster.openshift.observer.writes_of("spec.channel")) == 1


def test_the_history_of_an_upgradeconfig_has_one_entry_for_the_whole_chain(here: World) -> None:
    cluster = RequestedOpenShift(here, described=ODD)
    here.calling.serve(cluster.openshift.updates, SERVICE, 443)
    cluster.request("4.21.0")
    first = list[tuple[str, str]]()

    def look(_request: Request) -> None:
        for entry in cluster.history()[:1]:
            newest = [(each["type"], each["status"]) for each in entry.get("conditions", ())[:1]]
            first.extend(newest if newest != first[-1:] else [])

    here.calling.after = look
    goes(cluster.play(upgrade_through=["4.20.2"]))
    here.calling.after = lambda _request: None
    (entry,) = cluster.history()
    assert (entry["version"], entry["phase"], entry["precedingVersion"]) == ("4.21.0", "Upgraded", "4.19.4")
    assert "AllWorkersUpgraded is completed: 2 of 2 Kubernetes nodes" in [
        each["message"] for each in entry["conditions"]
    ]
    assert {each["status"] for each in entry["conditions"]} == {"True"}
    assert first[-1] == ("SendCompletedNotification", "True")
    # The workers of the version on the way have started before the control plane has come to its last one.
    assert first.index(("ControlPlaneUpgraded", "False")) < first.index(("AllWorkersUpgraded", "False"))
    assert first.count(("AllWorkersUpgraded", "False")) == 1


def test_a_pool_that_a_person_has_paused_may_not_stay_too_far_behind(here: World) -> None:
    paused = pool("infra", 1, paused=True)
    cluster = Chained(here, replace(ODD, pools=(*ODD.pools, paused)))
    said = cluster.refused("pool_left_behind", **TO_FAR)
    assert "MachineConfigPool infra is paused by another user, and its kubelets would be too far behind 4.21.0." in (
        said.output
    )
    assert (
        cluster.plan(**{**TO_FAR, "target_version": "4.20.2", "upgrade_through": []}, upgrade_channel=NEXT_ONE).code
        == 0
    )


def test_a_lower_limit_of_a_pool_lasts_for_the_whole_chain(here: World) -> None:
    cluster = Chained(here, replace(ODD, pools=(pool("master"), pool("worker", 2, max_unavailable=2))))
    goes(cluster.upgrade(upgrade_max_unavailable=1, **TO_FAR))
    cluster.has_come("4.20.2", "4.21.0", "4.22.1")
    assert cluster.openshift.pool("worker")["spec"]["maxUnavailable"] == 2


def test_spare_workers_are_updated_on_the_way_too(here: World) -> None:
    """Their kubelets would keep OpenShift from another minor version."""
    cluster = Chained(here, replace(ODD, pools=(pool("master"), Pool("worker")), machine_sets=SETS))
    here.sandbox.apply(shipped_rights(spare_workers=True))
    goes(cluster.upgrade(upgrade_extra_workers=True, **TO_FAR))
    cluster.has_come("4.20.2", "4.21.0", "4.22.1")
    configurations = {configuration for name, configuration in cluster.taken if "-spare-" in name}
    assert rendered("worker", "4.20.2") in configurations


def test_an_api_that_the_next_version_has_no_more_is_told_between(here: World) -> None:
    api = {"flowschemas.v1beta3.flowcontrol.apiserver.k8s.io": ("1.33", 40)}
    cluster = Chained(here, replace(EVEN, removed_apis=api))
    said = "The API flowschemas.v1beta3.flowcontrol.apiserver.k8s.io is in use"
    assert said in goes(cluster.plan(**TO_EVEN)).output
    ended = goes(cluster.upgrade(**TO_EVEN))
    assert ended.output.count(said) == 2, ended.output
