"""Two releases of the official Helm chart: upgraded zone by zone under traffic, and Helm goes on with them.

Of their three managers the elected one hands over before its batch goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.helm_layout import DATA, MASTERS, two_releases
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import CROWDED
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.fault_proxy import Act
from tests.scenarios.interruptions import END, VOTING, UpgradeRuns
from tests.scenarios.playbook import PLAN, play
from tests.scenarios.readme import README, commands_in, file_in, section, shell

FROM, TO = "3.6.0", "3.8.0"
ZONES: dict[str, Any] = {"upgrade_batching": "zones", "upgrade_max_unavailable": 2}


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Cluster]:
    cluster = Cluster(lab, "helm", DATA.pool)
    cluster.rise(two_releases, FROM)
    yield cluster
    cluster.remove()


@pytest.mark.soak
def test_a_stranger_with_a_release_of_the_chart_comes_to_a_first_plan_by_the_commands_of_the_readme(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    before = cluster.fingerprint()
    first, _heading, by_helm = section("First plan").partition("### From a Helm chart")
    # The lab's servers have no TLS.
    places = {
        "-n search": f"-n {cluster.namespace}",
        "https://localhost": "http://localhost",
        "OPENSEARCH_CA_CERT=ca.pem": "",
    }
    environment = {**ansible_environment, "KUBECONFIG": str(cluster.platform.kubeconfig())}
    # The consent that the page describes.
    given = file_in(by_helm, "upgrade.yml").replace("# upgrade_allow_", "upgrade_allow_")
    given = given.replace("namespace: search", f"namespace: {cluster.namespace}")
    (tmp_path / "upgrade.yml").write_text(given, encoding="utf-8")
    # The last one before is the same plan with a route to the members.
    commands = [*commands_in(section("Install")), *commands_in(first)[:-1], *commands_in(by_helm)]
    with shell(tmp_path, environment, "not-asked-for") as stranger:
        stranger.type_all(commands, places)
        print(f"From releases of a Helm chart to a first plan: {stranger.figures()}")
        print(stranger.typed[-1].output)
    assert f"{len(commands)} commands" in by_helm, README
    assert "8 members" in stranger.typed[-1].output
    assert cluster.fingerprint() == before


@pytest.mark.soak
def test_releases_of_the_official_chart_go_zone_by_zone(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    before, elected = cluster.fingerprint(), cluster.elected()
    of_data = f"app.kubernetes.io/instance={DATA.name}"
    refused = play(PLAN, cluster.variables(TO, **ZONES, upgrade_label_selector=of_data), ansible_environment)
    assert refused.code != 0
    assert f"Helm governs the image and strategy of StatefulSet {DATA.pool}" in refused.message
    assert f"Helm governs the image and strategy of StatefulSet {MASTERS.pool}" not in refused.message

    seed(cluster.target, tmp_path, documents=1_000)
    consent: dict[str, Any] = {
        "upgrade_label_selector": "app.kubernetes.io/name=opensearch",
        "upgrade_allow_field_managers": ["helm"],
    }
    upgrade_runs = UpgradeRuns.begin(cluster, TO, ansible_environment, **ZONES, **consent)
    with Traffic.start(cluster.target, tmp_path) as traffic:
        with upgrade_runs.running(upgrade_skip_checks=[]) as (proxy, run):
            played = run.wait()
        report = traffic.stop()
    print(played.output, report.table(), sep="\n")

    assert played.code == 0, played.message
    cluster.is_upgraded(TO)
    report.keeps(CROWDED)
    after = cluster.fingerprint()
    assert after.settings == before.settings
    assert after.pods.keys() == before.pods.keys()
    # Three data members are in one zone, and two of a pool may be away: that zone goes in two batches.
    together = re.findall(r"^  \d   .*; (\d) members of zone", played.output, re.M)
    assert sorted(together) in (["3", "3"], ["2", "2", "3"]), "the elected manager is in the last batch of its zone"
    assert len(re.findall(r"^PLAY \[Roll\] \*+\n(?!skipping)", played.output, re.M)) == 4
    assert re.search(r"the elected manager (goes last, and )?hands over first", played.output)
    assert f"{elected} has handed over to " in played.output
    hands_over(proxy.acts, elected)
    assert cluster.excluded() == []
    until("all to vote", lambda: len(cluster.voting()["last_committed_config"]) == 3, END)

    # The manifest that `helm upgrade` with the new version in the values would apply.
    cluster.platform.apply(two_releases(cluster.namespace, TO, address=cluster.platform.pod_address))
    assert cluster.fingerprint() == after


def hands_over(acts: Sequence[Act], elected: str) -> None:
    """Fails unless the elected manager was excluded from voting, and taken back, before its pod was deleted."""
    done = [(act.method, act.path.partition("?")[0]) for act in acts]
    votes = [number for number, (_method, path) in enumerate(done) if path == VOTING]
    # The first removes none: it shows that what is excluded may be taken back.
    assert [done[number][0] for number in votes] == ["DELETE", "POST", "DELETE"]
    assert f"node_names={elected}" in acts[votes[1]].path
    gone = next(number for number, (method, path) in enumerate(done) if method == "DELETE" and path.endswith(elected))
    assert votes[-1] < gone
