"""README.md from the installation to the report, command by command, on servers in memory behind TLS and a password."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.readme import commands_in, section, shell
from tests.scenarios.tls_proxy import tls_proxy_of

pytestmark = pytest.mark.own_process

HELM = "### From a Helm chart"


def test_a_stranger_comes_from_an_empty_home_to_the_report(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    cluster = Cluster.start(platform, "search", three_combined, "2.19.6")
    before = cluster.fingerprint()
    doors = tmp_path / "doors"
    doors.mkdir()
    environment = {**ansible_environment, "KUBECONFIG": str(platform.kubeconfig())}
    with tls_proxy_of(cluster.url, doors) as tls_proxy, shell(tmp_path, environment, tls_proxy.password) as stranger:
        places = {
            "https://search.example.com:9200": tls_proxy.url,
            "ca.pem": str(tls_proxy.ca_cert),
            "USERNAME=admin": f"USERNAME={tls_proxy.username}",
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
        assert tls_proxy.password not in "".join(each.output for each in stranger.typed)
    cluster.remove()
