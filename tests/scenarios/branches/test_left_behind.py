"""Runs that were killed or aborted: `settle` puts back what is theirs, and the next run continues."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.cluster import BOOT, Cluster
from tests.scenarios.interruptions import (
    EXCLUDE,
    KILLS,
    UpgradeRuns,
    until_deleting,
    upgraded_once,
)
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import play
from tests.scenarios.preconditions import lose

pytestmark = pytest.mark.real_servers

ENABLE = "cluster.routing.allocation.enable"
UNDO = "cluster.metadata.stateful_upgrade.undo"
GROUP = KILLS["SIGKILL to its process group"]


def test_what_a_killed_run_left_is_settled_without_it(upgrade_runs: UpgradeRuns) -> None:
    assert upgrade_runs.killed_at("restrict", after=True, kill=GROUP)
    assert json.loads(upgrade_runs.cluster.ask("/_cluster/settings"))["persistent"]["cluster"]["routing"]

    status = upgrade_runs.beside("stateful.upgrade.status")
    assert status.code == 0
    assert "was interrupted" in status.output

    # The worker of a killed controller may have made its next act before it has noticed that.
    left = upgrade_runs.cluster.fingerprint()
    settled = upgrade_runs.beside("stateful.upgrade.settle")
    print(settled.output)
    assert settled.code == 0, settled.message
    after = upgrade_runs.cluster.fingerprint()
    assert after.settings == upgrade_runs.before.settings
    assert after.pods == left.pods
    assert "stays OnDelete" in settled.output
    again = upgrade_runs.beside("stateful.upgrade.settle")
    assert again.changed == {"localhost": 0}


@pytest.mark.soak
def test_what_a_run_killed_while_it_drained_left_is_settled_without_it(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(platform, "killed-draining", three_combined, "2.19.6", ephemeral=True)
    try:
        cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 6}})
        cluster.until_green()
        upgrade_runs = UpgradeRuns.begin(cluster, "3.8.0", ansible_environment)
        for after in (False, True):
            assert upgrade_runs.killed_at("drain", after=after, kill=GROUP)
        assert EXCLUDE in cluster.ask("/_cluster/settings?flat_settings=true")

        settled = upgrade_runs.beside("stateful.upgrade.settle")
        print(settled.output)
        assert settled.code == 0, settled.message
        assert cluster.fingerprint() == upgrade_runs.before

        assert upgrade_runs.killed_at("drain", after=True, kill=GROUP)
        assert upgrade_runs.completed().code == 0
        upgraded_once(upgrade_runs)
    finally:
        cluster.remove()


def test_what_a_person_has_changed_meanwhile_stays(upgrade_runs: UpgradeRuns) -> None:
    assert upgrade_runs.killed_at("restrict", after=True, kill=GROUP)
    upgrade_runs.cluster.ask("/_cluster/settings", "PUT", {"persistent": {ENABLE: "new_primaries"}})

    settled = upgrade_runs.beside("stateful.upgrade.settle")

    print(settled.output)
    assert settled.code == 0, settled.message
    assert "something else has changed it to 'new_primaries' since; it is left as it is" in settled.output
    settings = json.loads(upgrade_runs.cluster.ask("/_cluster/settings?flat_settings=true"))
    assert settings["persistent"] == {ENABLE: "new_primaries"}


def test_an_aborted_run_finishes_its_member_and_goes_on_later(upgrade_runs: UpgradeRuns) -> None:
    cluster = upgrade_runs.cluster
    with upgrade_runs.slow_first() as first, upgrade_runs.running() as (proxy, run):
        member = until_deleting(proxy, run)
        aborted = upgrade_runs.beside("stateful.upgrade.abort")
        stopped = run.wait()
    assert member == first

    print(stopped.output, aborted.output, sep="\n")
    assert aborted.code == 0, aborted.message
    assert stopped.code != 0
    assert "The upgrade was aborted on request." in stopped.message
    assert "The run was asked to stop" in stopped.output
    assert "Aborted. No run continues it until the playbook resume has run." in stopped.output
    assert "stays OnDelete" in stopped.output
    now = cluster.fingerprint()
    assert now.settings == upgrade_runs.before.settings
    assert {name for name in now.pods if now.pods[name] != upgrade_runs.before.pods[name]} == {member}
    assert cluster.versions()[member] == "3.8.0"
    assert "Aborted" in upgrade_runs.beside("stateful.upgrade.status").output

    other = next(name for name in sorted(now.pods) if name != member)
    lose(cluster, other)
    until("the lost member's return", lambda: cluster.versions().get(other), BOOT)
    assert cluster.versions()[other] == "3.8.0"
    later = cluster.fingerprint()
    assert {name for name in later.pods if later.pods[name] != now.pods[name]} == {other}

    held = upgrade_runs.completed()
    print(held.output)
    assert held.code == 0, held.message
    assert "was aborted at" in held.output
    assert cluster.fingerprint().pods == later.pods
    assert upgrade_runs.beside("stateful.upgrade.resume").code == 0

    assert upgrade_runs.completed().code == 0
    assert cluster.fingerprint().pods[member] == now.pods[member]
    assert set(cluster.versions().values()) == {"3.8.0"}
    assert upgrade_runs.left_behind() == {}


def test_a_run_puts_back_what_it_has_changed_although_somebody_removes_its_undo(upgrade_runs: UpgradeRuns) -> None:
    cluster = upgrade_runs.cluster
    with upgrade_runs.slow_first(), upgrade_runs.running() as (proxy, run):
        until_deleting(proxy, run)
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {UNDO: None}})
        done = run.wait()
    print(done.output)
    assert done.code == 0, done.message
    assert f"{ENABLE} was still 'primaries' at the end of the run, and no undo in the cluster named it" in done.output
    upgraded_once(upgrade_runs)


def test_settings_that_nobody_knows_of_are_named_until_a_person_lets_them_be_reset(
    upgrade_runs: UpgradeRuns, ansible_environment: Mapping[str, str]
) -> None:
    cluster = upgrade_runs.cluster
    assert upgrade_runs.killed_at("restrict", after=True, kill=GROUP)
    cluster.ask("/_cluster/settings", "PUT", {"persistent": {UNDO: "{"}})
    failed = upgrade_runs.beside("stateful.upgrade.settle")
    assert failed.code != 0
    for name in (ENABLE, "cluster.routing.rebalance.enable", "cluster.routing.allocation.node_concurrent_recoveries"):
        assert f"The persistent setting {name} stays" in failed.message
    assert f'{{"persistent": {{"{ENABLE}": null, "{UNDO}": null}}}}' in failed.message

    cluster.ask("/_cluster/settings", "PUT", {"persistent": {UNDO: None}})
    named = upgrade_runs.beside("stateful.upgrade.settle")
    assert named.code == 0, named.message
    assert f"settle with upgrade_reset={ENABLE}" in named.output
    assert "Nothing to put back" not in named.output

    consent = f"{ENABLE},cluster.routing.rebalance.enable,cluster.routing.allocation.node_concurrent_recoveries"
    settled = play(
        "stateful.upgrade.settle", {**cluster.variables("3.8.0"), "upgrade_reset": consent}, ansible_environment
    )
    print(settled.output)
    assert settled.code == 0, settled.message
    assert cluster.fingerprint().settings == upgrade_runs.before.settings
