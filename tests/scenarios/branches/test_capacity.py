"""A pool has one member more while it is upgraded: it goes at the end, with an abort, and if it never comes up."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.sandbox.kubernetes.kinds import DEFINITIONS, NAMESPACES
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.machines.controllers import Controllers, Pace
from tests.sandbox.machines.definitions import served_as
from tests.sandbox.machines.kinds import Version
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.webhook import webhook
from tests.scenarios.branches.conftest import REAL
from tests.scenarios.branches.test_killed_at_steps import FROM, TO, four_members, sized
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import MACHINES_ROLE, OPTIONAL_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAN, PLAYBOOK, STATUS, Playing, confirmed, play

pytestmark = pytest.mark.real_servers

POOL, EXTRA = "opensearch-data", "opensearch-data-1"


@pytest.fixture
def cluster(platform: Platform, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster whose user has the documented rights, those of the variable among them."""
    started = Cluster.start(platform, f"capacity-{len(request.node.name)}", four_members, FROM)
    platform.apply(bound(OPTIONAL_ROLE, started.namespace))
    yield started
    started.remove()


def nothing_left(cluster: Cluster) -> bool:
    """Whether no trace of the member is left."""
    now = cluster.fingerprint()
    return (sized(now, POOL), EXTRA in now.pods, [each for each in cluster.claims() if each.endswith(EXTRA)]) == (
        (1, []),
        False,
        [],
    )


@pytest.mark.soak
def test_a_member_that_is_added_is_kept_by_a_run_that_goes_on_and_removed_with_an_abort_and_at_the_end(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    where = cluster.variables(TO)
    given = confirmed({**where, "upgrade_extra_member": POOL}, ansible_environment)
    run = Playing(PLAYBOOK, given, ansible_environment)
    until("the member to be there", lambda: EXTRA in cluster.versions() or run.ended, 180)
    run.signal(signal.SIGKILL, group=True)
    print(run.wait().output)
    assert cluster.versions()[EXTRA] == TO
    aborted = play("stateful.upgrade.abort", where, ansible_environment)
    print(aborted.output)
    assert aborted.code == 0, aborted.message
    until("the member and its volume to be gone", lambda: nothing_left(cluster), 30)
    assert play("stateful.upgrade.resume", where, ansible_environment).code == 0
    done = play(PLAYBOOK, given, ansible_environment)
    print(done.output)
    assert done.code == 0, done.message
    assert f"one member of pool {POOL} added" in done.output
    assert set(cluster.versions().values()) == {TO}
    until("the member and its volume to be gone", lambda: nothing_left(cluster), 30)
    status = play(STATUS, where, ansible_environment).output
    assert [f"step {name}: completed" in status for name in ("capacity", "capacity_after")] == [True, True]


@pytest.mark.soak
def test_an_upgrade_goes_on_without_a_member_that_does_not_come_up_if_it_may(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster.platform.faults.crash_loop(cluster.namespace, EXTRA)
    with webhook() as hook:
        given: dict[str, Any] = {
            **cluster.variables(TO),
            "upgrade_extra_member": POOL,
            "upgrade_webhook": f"{hook.url}/200",
            "upgrade_steps": [{"name": "capacity", "timeout": 20}],
        }
        given = confirmed(given, environment)
        stopped = play(PLAYBOOK, given, environment)
        print(stopped.output)
        assert stopped.code != 0
        assert EXTRA in stopped.message
        until("the member and its volume to be gone", lambda: nothing_left(cluster), 30)
        assert set(cluster.versions().values()) == {FROM}
        without = {**given, "upgrade_capacity_policy": "continue"}
        reasons: list[list[str]] = []
        while len(reasons) < 20 and "scale_skipped" not in hook.states:
            played = play(PLAYBOOK, {**without, "upgrade_wait": False}, environment)
            print(played.output)
            assert played.code == 0, played.message
            reasons.append(list(statistics(played)["upgrade_reasons"]))
        # The controller may not have observed yet what the run before has put back.
        assert {*reasons[0]} in ({"step_not_done"}, {"step_not_done", "revision_not_observed"})
        done = play(PLAYBOOK, without, environment)
        print(done.output)
        assert done.code == 0, done.message
        assert hook.states.count("scale_skipped") == 1, "it is not tried again"
        assert hook.states[-1] == "completed"
        shown = play(STATUS, cluster.variables(TO), environment).output
        assert "step capacity: skipped" in shown, shown
    assert set(cluster.versions().values()) == {TO}
    assert nothing_left(cluster)


def test_a_pool_that_may_not_have_one_more_is_refused_with_the_plan(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    before = cluster.fingerprint()
    for pool, said in (
        ("opensearch-managers", "can be elected"),
        ("opensearch-dat", "There is no pool opensearch-dat"),
    ):
        given = {**cluster.variables(TO), "upgrade_extra_member": pool}
        refused = play("stateful.upgrade.plan", given, ansible_environment)
        print(refused.output)
        assert said in refused.message
    assert cluster.fingerprint() == before


class Workers:
    """A MachineDeployment of Cluster API next to the members, with stand-ins for its controllers."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, version = sandbox, Version("v1beta2")
        self._kinds, self.resources = version, sandbox.api.resources
        with sandbox.listening.lock:
            self.resources.create(NAMESPACES, "", {"metadata": {"name": "management"}})
            for each in served_as("v1beta2"):
                self.resources.create(DEFINITIONS, "", each)
            self.controllers = Controllers(self.resources, version, Pace(control=0.1, boot=1.0, leave=1.0))
            self.resources.create(
                version.deployments, "management", version.deployment("search", "workers", 1), Writing(strict="Strict")
            )
        sandbox.apply(bound(MACHINES_ROLE, "management"))

    def there(self) -> tuple[int, int, list[str]]:
        """The wanted machines, those that there are, and the annotations of runs."""
        with self._sandbox.listening.lock:
            found = self.resources.get(self._kinds.deployments, "management", "workers")
            machines = self.controllers.machines_of(("management", "workers"))
        marks = [key for key in found["metadata"].get("annotations", {}) if key.startswith("upgrade.stateful")]
        return found["spec"]["replicas"], len(machines), marks


@pytest.mark.skipif(REAL, reason="Cluster API is played in memory")
def test_machines_are_added_before_the_first_batch_and_taken_away_at_the_end(
    platform: Sandbox, ansible_environment: Mapping[str, str]
) -> None:
    workers, cluster = Workers(platform), Cluster.start(platform, "machines", three_combined, FROM)
    try:
        until("the first machine", lambda: workers.there() == (1, 1, []), 30)
        machines = {"upgrade_extra_machines": [{"name": "workers", "namespace": "management", "extra": 2}]}
        where = {**cluster.variables(TO), **machines}
        where["upgrade_management"] = where["upgrade_kubernetes"]
        unknown = {"upgrade_extra_machines": [{"name": "wrokers", "namespace": "management"}]}
        refused = play(PLAN, {**where, **unknown}, ansible_environment)
        assert "There is no MachineDeployment wrokers in namespace management" in refused.message, refused.output
        given = confirmed(where, ansible_environment)
        run = Playing(PLAYBOOK, given, ansible_environment)
        until("the machines to be added", lambda: workers.there()[0] == 3 or run.ended, 120)
        run.signal(signal.SIGKILL, group=True)
        print(run.wait().output)
        aborted = play("stateful.upgrade.abort", where, ansible_environment)
        print(aborted.output)
        assert aborted.code == 0, aborted.message
        until("the machines to be gone", lambda: workers.there() == (1, 1, []), 30)
        assert play("stateful.upgrade.resume", cluster.variables(TO), ansible_environment).code == 0
        done = play(PLAYBOOK, given, ansible_environment)
        print(done.output)
        assert done.code == 0, done.message
        assert "machines of workers added" in done.output
        assert set(cluster.versions().values()) == {TO}
        until("the machines to be gone", lambda: workers.there() == (1, 1, []), 30)
    finally:
        cluster.remove()
