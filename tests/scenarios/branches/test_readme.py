# SPDX-License-Identifier: GPL-3.0-or-later
"""README.md from the installation to the report, command by command, on servers in memory behind TLS and a password."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.front import in_front_of
from tests.scenarios.ground import Ground
from tests.scenarios.readme import commands_in, section, shell

HELM = "### From a Helm chart"


def test_a_stranger_comes_from_an_empty_home_to_the_report(
    ground: Ground, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    cluster = Cluster.start(ground, "search", three_combined, "2.19.6")
    before = cluster.fingerprint()
    doors = tmp_path / "doors"
    doors.mkdir()
    environment = {**ansible_environment, "KUBECONFIG": str(ground.kubeconfig())}
    with in_front_of(cluster.url, doors) as front, shell(tmp_path, environment, front.password) as stranger:
        places = {
            "https://search.example.com:9200": front.url,
            "ca.pem": str(front.ca_cert),
            "USERNAME=admin": f"USERNAME={front.username}",
        }
        stranger.type_all(commands_in(section("Install")), places)
        stranger.type_all(commands_in(section("First plan").partition(HELM)[0]), places)
        print(f"From a cluster to its first plan: {stranger.figures()}")
        assert cluster.fingerprint() == before
        stranger.type_all(commands_in(section("First upgrade")), places)
        stranger.type_all(commands_in(section("When it stops")), places)
        print(*(f"$ {each.command}\n{each.output}" for each in stranger.typed), sep="\n")

        cluster.is_upgraded("3.8.0")
        assert cluster.fingerprint().settings == before.settings
        assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")
        assert front.password not in "".join(each.output for each in stranger.typed)
    cluster.remove()
