"""The health of the cluster between batches: it is no worse than before the first one, or the upgrade stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import Pool
from tests.runs.firing import FiringAlerts
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, cluster_on_hosts
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.opensearch.known import DELAY
from tests.sandbox.opensearch.model import Member
from tests.sandbox.plain_hosts.jobs import PATH
from tests.sandbox.web import Request
from tests.scenarios.branches.test_restart import RESTART
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAYBOOK, digest_in
from tests.scenarios.schemes import plain_cluster, variables

FROM, TO = "2.19.6", "3.8.0"
REPORT, STATUS = "stateful.upgrade.report", "stateful.upgrade.status"
SOAK = {"upgrade_soak_batches": "every", "upgrade_approvals": [{"name": "first", "after": 1}]}
APPROVE = "stateful.upgrade.approve"
ACCEPTED = {"figure": "refused_searches", "reason": "the batch job is known", "owner": "search", "until": "2099-12-31"}


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


@pytest.fixture
def cluster(here: World) -> CalledCluster:
    """A cluster with one index."""
    made = here.cluster(FROM)
    made.ask("/orders", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 1}})
    made.until_green()
    return made


def members(here: World, cluster: Cluster) -> list[Member]:
    """The processes of the cluster now."""
    return list(here.sandbox.members.clusters_in(cluster.namespace)[0].members.values())


def loaded(here: World, cluster: Cluster, *, refused: int = 0, millis: int = 5) -> None:
    """Each process serves 1,000 searches, and refuses so many more."""
    for member in members(here, cluster):
        member.counters.searches += 1000
        member.counters.search_millis += 1000 * millis
        member.counters.completed["search"] += 1000
        member.counters.rejected["search"] += refused


def given(here: World, cluster: CalledCluster, **more: Any) -> dict[str, Any]:
    """The variables with consent."""
    return here.confirmed({**cluster.variables(TO), **SOAK, **more})


def upgraded(cluster: CalledCluster) -> int:
    """The members that run the new version."""
    return sum(version == TO for version in cluster.versions().values())


def one_batch(here: World, cluster: CalledCluster) -> dict[str, Any]:
    """The variables of an upgrade whose first batch is done, and which may go on."""
    consent = given(here, cluster)
    paused = here.play(PLAYBOOK, consent)
    assert paused.code == 0, paused.output
    assert "first" in paused.output, paused.output
    approved = here.play(APPROVE, {**cluster.variables(TO), "upgrade_approval": "first"})
    assert approved.code == 0, approved.output
    assert upgraded(cluster) == 1
    return consent


def test_refused_searches_after_a_batch_stop_the_upgrade_until_they_are_accepted(
    here: World, cluster: CalledCluster, tmp_path: Path
) -> None:
    loaded(here, cluster)
    consent = one_batch(here, cluster)
    loaded(here, cluster, refused=250)
    stopped = here.play(PLAYBOOK, consent)
    assert stopped.code != 0
    assert "the cluster is worse than before: refused searches: 20 % now, and 0 % before" in stopped.message
    assert "accept refused_searches with a reason, an owner and a last day (upgrade_accept_worse)" in stopped.message
    assert upgraded(cluster) == 1

    here.later(70)
    loaded(here, cluster, refused=250)
    again = here.play(PLAYBOOK, consent)
    assert again.code != 0, "it is asked again from the last look on"
    here.later(70)
    loaded(here, cluster, refused=250)
    done = here.play(PLAYBOOK, {**consent, "upgrade_accept_worse": [ACCEPTED]})
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    known = {name: consent[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    said = "refused_searches until 2099-12-31: the batch job is known (search)"
    shown = here.play(STATUS, known).output
    assert f"risk accepted with upgrade_accept_worse: {said}" in shown, shown
    file = tmp_path / "report.md"
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    report = file.read_text(encoding="utf-8")
    assert f"risk accepted with accept_worse: {said}" in report
    assert "refused_searches 20 %, before 0 %, accepted" in report
    assert "refused_searches 20 %, before 0 %, worse" in report


def test_slower_searches_stop_the_upgrade_and_counters_that_began_anew_are_no_fault(
    here: World, cluster: CalledCluster
) -> None:
    loaded(here, cluster)
    consent = one_batch(here, cluster)
    # The restarted member counts from 0 now: less than it had counted before.
    loaded(here, cluster, millis=6)
    stays = here.play(PLAYBOOK, {**consent, "upgrade_approvals": []})
    assert "Consent" in stays.output or stays.code != 0, "points to approve are part of the plan"
    here.later(70)
    loaded(here, cluster, millis=40)
    stopped = here.play(PLAYBOOK, consent)
    assert stopped.code != 0
    assert "time of a search on a shard: 23 ms now, and 5 ms before the first batch." in stopped.message
    here.later(70)
    loaded(here, cluster)
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)


def test_an_idle_cluster_is_measured_and_not_judged(here: World, cluster: CalledCluster, tmp_path: Path) -> None:
    consent = given(here, cluster, upgrade_approvals=[])
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    known = {name: consent[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    file = tmp_path / "report.md"
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    report = file.read_text(encoding="utf-8")
    assert "unassigned 0, before 0, no worse" in report
    assert "search_time not measured, before not measured, not judged" in report


def test_single_passes_measure_without_waiting(here: World, cluster: CalledCluster) -> None:
    loaded(here, cluster)
    consent = {**given(here, cluster, upgrade_approvals=[]), "upgrade_wait": False}
    first = here.play(PLAYBOOK, consent)
    assert (first.code, upgraded(cluster)) == (0, 0), first.output
    assert "The figures of the cluster are measured for 60 s" in first.output
    for _pass in range(30):
        here.later(30)
        done = here.play(PLAYBOOK, consent)
        assert done.code == 0, done.output
        if upgraded(cluster) == 3 and "Upgraded to" in done.output:
            break
    cluster.is_upgraded(TO)


def test_a_run_killed_at_any_act_goes_on_with_the_figures_from_before(here: World, cluster: CalledCluster) -> None:
    loaded(here, cluster)
    consent = given(here, cluster, upgrade_approvals=[])
    kills = 0
    for number in range(1, 60):
        if here.killed_behind(number, consent) is not None:
            break
        kills += 1
    assert kills > 5
    cluster.is_upgraded(TO)


def test_restarts_in_pods_are_compared_too(here: World, tmp_path: Path) -> None:
    cluster = plain_cluster(here.sandbox, "restarts")
    loaded(here, cluster)
    own = {**variables(cluster, True), "upgrade_soak_batches": "every", "upgrade_system": RESTART}
    consent = here.confirmed(own)
    del consent["upgrade_system"]
    done = here.play(RESTART, consent)
    assert done.code == 0, done.output
    file = tmp_path / "report.md"
    known = {name: consent[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    assert here.play(REPORT, {**known, "upgrade_report_path": str(file)}).code == 0
    assert "unassigned 0, before 0, no worse" in file.read_text(encoding="utf-8")


def test_members_on_hosts_are_compared_and_the_next_run_counts_from_the_last_look(here: World) -> None:
    with cluster_on_hosts(here, FROM, (Pool("members", 3, ("cluster_manager", "data", "ingest")),)) as cluster:
        given = {**cluster.variables(TO), "upgrade_soak_batches": "every"}
        planned = here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments, CHECK)
        consent = {**given, "upgrade_confirm": digest_in(planned)}
        slow: list[str] = []

        def serve(request: Request) -> None:
            """Each process is slow once a second one has been started."""
            before(request)
            if request.path.startswith(PATH) and request.path.endswith("/systemd"):
                slow.append(request.path)
            for member in cluster.servers.members.values():
                member.counters.searches += 100
                member.counters.search_millis += 100 * (100 if len(slow) > 3 else 5)

        before, here.calling.after = here.calling.after, serve
        stopped = here.play(PLAYBOOK_OF_HOSTS, consent, *cluster.arguments)
        here.calling.after = before
        assert stopped.code != 0
        assert "time of a search on a shard: " in stopped.message, stopped.output
        assert sum(version == TO for version in cluster.versions().values()) == 2
        for member in cluster.servers.members.values():
            member.counters.searches += 100_000
            member.counters.search_millis += 500_000
        here.later(70)
        done = here.play(PLAYBOOK_OF_HOSTS, consent, *cluster.arguments)
        assert done.code == 0, done.output
        cluster.is_upgraded(TO)


def test_copies_wait_for_a_member_as_long_as_members_take_to_come_back(here: World) -> None:
    cluster = plain_cluster(here.sandbox, "boots", "3.8.0")
    servers = here.sandbox.members.clusters_in(cluster.namespace)[0]
    servers.state.durations = replace(servers.state.durations, boot=50.0)
    consent = here.confirmed({**variables(cluster, True), "upgrade_system": RESTART})
    del consent["upgrade_system"]
    seen: list[str] = []

    def look(request: Request) -> None:
        before(request)
        found = str(servers.state.setting(DELAY))
        if seen[-1:] != [found]:
            seen.append(found)

    before, here.calling.after = here.calling.after, look
    done = here.play(RESTART, consent)
    here.calling.after = before
    assert done.code == 0, done.output
    assert seen == ["-1", "120s", "-1"]


def test_ignored_alerts_are_risks_in_the_record(here: World, cluster: CalledCluster) -> None:
    url = here.calling.serve(FiringAlerts()).url
    ignored = {"alerts": 'severity="critical"', "reason": "the disk grows", "owner": "storage", "until": "2099-12-31"}
    alerts = {"upgrade_prometheus_url": url, "upgrade_alerts_ignored": [ignored]}
    consent = here.confirmed({**cluster.variables(TO), **alerts})
    done = here.play(PLAYBOOK, consent)
    assert done.code == 0, done.output
    known = {name: consent[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    said = 'alerts_ignored: severity="critical" until 2099-12-31: the disk grows (storage)'
    assert said in here.play(STATUS, known).output
