"""MachineHealthChecks while OpenShift is upgraded: paused for the time of it, and then as they were."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runs.openshift import PLAYBOOK, SYSTEM
from tests.runs.test_openshift import SETTLE, CalledOpenShift
from tests.runs.test_openshift_plan import planned, without_right
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import CLUSTER_ROLES, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.asking import history
from tests.sandbox.openshift.kinds import (
    HEALTH_CHECKS,
    MACHINE_API,
    POOLS,
    STATE,
    VERSION,
    VERSIONS,
    WORKING,
    annotations_of,
)
from tests.sandbox.web import Request

PAUSED = "cluster.x-k8s.io/paused"
WHEN_AWAY = {"type": "Ready", "status": "Unknown", "timeout": "300s"}
SPOT = {"type": "Terminating", "status": "True", "timeout": "0s"}


class Checked(CalledOpenShift):
    """An OpenShift with a MachineHealthCheck that acts, one that a person has paused, and one of spot instances."""

    def __init__(self, here: World) -> None:
        super().__init__(here)
        for name, condition, notes in (
            ("workers", WHEN_AWAY, {"team": "search"}),
            ("infra", WHEN_AWAY, {PAUSED: "by ada"}),
            ("spot", SPOT, {}),
        ):
            spec = {"selector": {}, "unhealthyConditions": [condition]}
            body = {"metadata": {"name": name, "annotations": notes}, "spec": spec}
            self.openshift.resources.create(HEALTH_CHECKS, MACHINE_API, body)
        self.before = self.checks()

    def checks(self) -> dict[str, Json]:
        """The annotations of each."""
        found = self.openshift.resources.store.each(HEALTH_CHECKS, MACHINE_API)
        return {each["metadata"]["name"]: annotations_of(each) for each in found}

    def held(self) -> bool:
        """Whether the run has paused the one that acts, and no other."""
        now = self.checks()
        others = all(now[name] == self.before[name] for name in ("infra", "spot"))
        return now["workers"].get(PAUSED) == "" and now["workers"]["team"] == "search" and others

    def unpause(self) -> None:
        """Another takes the pause away."""

        def change(item: Json) -> None:
            del item["metadata"]["annotations"][PAUSED]

        self.openshift.resources.change(HEALTH_CHECKS, MACHINE_API, "workers", change, Writing("argocd"))

    def allow(self, verb: str, *, allowed: bool) -> None:
        """Give a right to MachineHealthChecks, or take it away."""

        def change(item: Json) -> None:
            for rule in item["rules"]:
                if "machinehealthchecks" in rule["resources"]:
                    rule["verbs"] = [each for each in rule["verbs"] if each != verb] + ([verb] if allowed else [])

        self.openshift.resources.change(CLUSTER_ROLES, "", "stateful-upgrade-openshift", change, Writing("admin"))


def at_work(name: str) -> Callable[[Json], bool]:
    """Whether the machine config operator is at work on this Kubernetes node."""
    return lambda item: item["metadata"]["name"] == name and annotations_of(item)[STATE] == WORKING


def test_the_plan_names_those_that_the_run_pauses(here: World) -> None:
    cluster = Checked(here)
    said = planned(cluster).output
    assert "MachineHealthCheck workers replaces a machine whose Kubernetes node is not Ready for 300s" in said
    assert "so the run pauses it until the upgrade is done." in said
    assert "MachineHealthCheck infra" not in said
    assert "MachineHealthCheck spot" not in said
    assert cluster.checks() == cluster.before
    without_right(cluster, "machinehealthchecks")
    assert "Not computed: the MachineHealthChecks that may replace machines." in planned(cluster).output


def test_they_are_paused_from_before_the_update_until_the_end_and_then_as_they_were(here: World) -> None:
    cluster, held = Checked(here), list[bool]()

    def look(request: Request) -> None:
        if request.method == "PATCH" and request.path == VERSIONS.path("", VERSION):
            held.append(cluster.held())

    here.calling.after = look
    ended = cluster.upgrade()
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    assert held == [True]
    assert cluster.checks() == cluster.before
    cluster.is_upgraded()


def test_one_whose_pause_something_else_ends_is_paused_again_before_the_next_batch(here: World) -> None:
    cluster, held = Checked(here), list[bool]()
    faults = cluster.openshift.faults

    def is_back(item: Json) -> bool:
        return bool(item["status"].get("history")) and history(cluster.openshift)[0] == ("4.18.2", "Completed")

    faults.when(VERSIONS, is_back, cluster.unpause)

    def look(request: Request) -> None:
        if cluster.on_target() >= {"worker-0"}:
            held.append(cluster.held())

    here.calling.after = look
    ended = cluster.upgrade()
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    assert held[0]
    assert cluster.checks() == cluster.before


@pytest.mark.parametrize("value", ["by ada", None], ids=["paused by a person", "deleted"])
def test_one_that_is_another_once_it_is_to_be_paused_stays_as_it_is(here: World, value: str | None) -> None:
    cluster = Checked(here)
    resources, given, seen = cluster.openshift.resources, cluster.agreed(), list[str]()

    def change(item: Json) -> None:
        item["metadata"]["annotations"][PAUSED] = value

    def meet(request: Request) -> None:
        # The look at all of them comes before the act on each.
        if request.method == "GET" and request.path == HEALTH_CHECKS.path(MACHINE_API):
            seen.append(request.path)
        if len(seen) == 2 and value is None:
            seen.append("deleted")
            resources.delete(HEALTH_CHECKS, MACHINE_API, "workers")
        elif len(seen) == 2:
            seen.append("paused")
            resources.change(HEALTH_CHECKS, MACHINE_API, "workers", change, Writing("kubectl"))

    here.calling.after = meet
    ended = here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    assert len(seen) > 2
    kept = cluster.before["workers"] | {PAUSED: value}
    assert cluster.checks().get("workers", {}) == (kept if value else {})


def test_they_stay_paused_between_passes(here: World) -> None:
    cluster = Checked(here)
    given = cluster.agreed(upgrade_wait=False)
    for _between in here.passes(PLAYBOOK, given, 60):
        begun = "desiredUpdate" in cluster.openshift.version()["spec"]
        assert cluster.held() or not begun
    assert cluster.checks() == cluster.before
    cluster.is_upgraded()


def test_one_whose_pause_something_else_ends_during_a_batch_is_paused_again_and_named(here: World) -> None:
    """Otherwise it would replace the machine of the Kubernetes node that restarts then."""
    cluster, times = Checked(here), list[float]()
    faults, clock = cluster.openshift.faults, cluster.openshift.clock

    def sync() -> None:
        times.append(clock.now())
        cluster.unpause()

    def is_held(_item: Json) -> bool:
        if len(times) == 1 and cluster.held():
            times.append(clock.now())
        return False

    faults.when(NODES, at_work("worker-0"), lambda: clock.later(30.0, sync))
    faults.when(HEALTH_CHECKS, is_held, lambda: None)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    ended_at, held_at = times
    assert held_at - ended_at <= 10
    assert "MachineHealthCheck workers was not paused for a part of the upgrade" in ended.output
    assert "such as GitOps, have that leave the annotation cluster.x-k8s.io/paused alone for now" in ended.output
    assert cluster.checks() == cluster.before
    cluster.is_upgraded()


def test_a_right_that_an_api_server_denies_once_is_asked_for_again(here: World) -> None:
    """One that has just started denies what it allows later, and those of the control plane restart."""
    cluster, times, asked = Checked(here), list[float](), list[str]()
    faults, clock = cluster.openshift.faults, cluster.openshift.clock

    def sync() -> None:
        times.append(clock.now())
        cluster.unpause()
        cluster.allow("patch", allowed=False)

    def allow(request: Request) -> None:
        if len(times) == 1 and request.path.endswith("/selfsubjectaccessreviews"):
            asked.append(request.path)
        # The first of the two rights is there.
        if len(times) == 1 and len(asked) == 2:
            times.append(clock.now())
            cluster.allow("patch", allowed=True)

    def is_held(_item: Json) -> bool:
        if len(times) == 2 and cluster.held():
            times.append(clock.now())
        return False

    faults.when(NODES, at_work("master-0"), lambda: clock.later(30.0, sync))
    faults.when(HEALTH_CHECKS, is_held, lambda: None)
    here.calling.after = allow
    ended = cluster.upgrade()
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    _ended_at, denied_at, held_at = times
    assert held_at - denied_at <= 20
    cluster.is_upgraded()


def test_one_that_changes_all_the_time_keeps_no_pool_open(here: World) -> None:
    """Something else ends both pauses while a batch is updated, and each pause of the MachineHealthCheck conflicts."""
    cluster, times = Checked(here), list[float]()
    resources, faults, clock = cluster.openshift.resources, cluster.openshift.faults, cluster.openshift.clock

    def sync() -> None:
        times.append(clock.now())
        cluster.unpause()
        faults.person_unpauses("worker")

    def is_held(item: Json) -> bool:
        if len(times) == 1 and item["metadata"]["name"] == "worker" and item["spec"].get("paused"):
            times.append(clock.now())
        return False

    def touch(item: Json) -> None:
        notes = item["metadata"]["annotations"]
        notes["touched"] = f"{notes.get('touched', '')}."

    def meet(request: Request) -> None:
        if len(times) == 1 and request.method == "GET" and request.path == HEALTH_CHECKS.path(MACHINE_API, "workers"):
            resources.change(HEALTH_CHECKS, MACHINE_API, "workers", touch, Writing("argocd"))

    faults.when(NODES, at_work("worker-0"), lambda: clock.later(30.0, sync))
    faults.when(POOLS, is_held, lambda: None)
    here.calling.after = meet
    ended = cluster.upgrade()
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    ended_at, held_at = times
    assert held_at - ended_at <= 10
    assert "MachineConfigPool worker was open, so that the machine config operator takes further" in ended.output
    assert "MachineHealthCheck workers was not paused for a part of the upgrade" in ended.output
    cluster.is_upgraded()


def test_settle_ends_the_pauses_only_once_no_kubernetes_node_is_still_to_restart(here: World) -> None:
    cluster = Checked(here)
    given = cluster.agreed()
    assert here.killed_behind(16, given, PLAYBOOK) is None
    assert cluster.held()
    # The lock of a killed run lapses.
    cluster.openshift.clock.advance(120)
    settled = here.play(SETTLE, {**cluster.variables(), **SYSTEM})
    assert settled.code == 0, settled.output
    # The machine config operator goes on without gates.
    assert cluster.paused() == []
    assert cluster.on_target() < {"master-0", "master-1", "master-2", "worker-0", "worker-1", "worker-2"}
    assert cluster.held()
    assert "MachineHealthCheck workers stays paused, since Kubernetes nodes are still to be updated" in settled.output
    assert "annotate machinehealthcheck workers cluster.x-k8s.io/paused-" in settled.output
    assert "Everything is put back." not in settled.output
    cluster.openshift.clock.advance(7200)
    again = here.play(SETTLE, {**cluster.variables(), **SYSTEM})
    assert again.code == 0, again.output
    assert cluster.checks() == cluster.before
    cluster.is_upgraded()


def test_a_user_who_may_not_see_those_of_another_settles_and_is_not_said_to_have_put_all_back(here: World) -> None:
    cluster = Checked(here)
    given = cluster.agreed()
    assert here.killed_behind(16, given, PLAYBOOK) is None
    without_right(cluster, "machinehealthchecks")
    cluster.openshift.clock.advance(120)
    settled = here.play(SETTLE, {**cluster.variables(), **SYSTEM})
    assert settled.code == 0, settled.output
    assert cluster.held()
    assert "Not computed: the MachineHealthChecks that runs have paused." in settled.output
    assert "Everything is put back." not in settled.output
    # The plan of a run names that right, and its end does not again.
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert "that runs have paused" not in ended.output


def test_a_run_that_fails_names_those_that_stay_paused(here: World) -> None:
    cluster = Checked(here)
    cluster.openshift.faults.node_never_returns("worker-0")
    failed = cluster.upgrade(upgrade_member_timeout=600)
    assert failed.code != 0
    stays = "MachineHealthCheck workers stays paused, since the upgrade is not done."
    assert stays in failed.output
    assert cluster.held()
    own = {name: value for name, value in cluster.variables().items() if name != "target_version"} | SYSTEM
    cluster.unpause()
    aborted = here.play("stateful.upgrade.abort", own)
    assert aborted.code == 0, aborted.output
    assert stays not in aborted.output
    assert here.play("stateful.upgrade.resume", own).code == 0
    cluster.openshift.faults.node_returns("worker-0")
    again = cluster.upgrade()
    assert again.code == 0, again.output
    assert cluster.checks() == cluster.before


@pytest.mark.parametrize("verb", ["get", "patch"])
def test_a_user_without_the_right_upgrades_and_the_plan_says_what_to_do(here: World, verb: str) -> None:
    cluster = Checked(here)
    cluster.allow(verb, allowed=False)
    said = planned(cluster).output
    assert "and this user has no right to pause it." in said
    assert "annotate machinehealthcheck workers cluster.x-k8s.io/paused=" in said
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert cluster.checks() == cluster.before


def test_check_mode_pauses_none(here: World) -> None:
    cluster = Checked(here)
    before = len(cluster.openshift.observer.writes)
    ended = here.play(PLAYBOOK, cluster.agreed(), "--check")
    assert ended.code == 0, ended.output
    assert cluster.checks() == cluster.before
    assert len(cluster.openshift.observer.writes) == before
