"""A cluster whose REST ports change between http and https, and the variables of the run that changes them."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from tests.lab.certificates import Authority
from tests.lab.opensearch.layouts import three_combined
from tests.lab.opensearch.secured import CERTIFICATES, CONFIGURATION
from tests.scenarios.branches.test_new_configuration import contents
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.preconditions import POOL

TRIES = 12
"""Questions to a Service, behind which each member takes one scheme."""
HTTP = "plugins.security.ssl.http"
OWN = rf"^{re.escape(HTTP)}\.(?:enabled|pem(?:cert|key)_filepath):.*\n"
"""The lines that a change of the scheme writes."""
FILES = {"pemcert": "member.crt", "pemkey": "member.key"}


class SwitchingCluster(Cluster):
    """A cluster that the test itself asks by whichever scheme is taken."""

    def open(self, request: urllib.request.Request) -> Any:
        """See `Cluster`."""
        for _member in range(TRIES):
            with contextlib.suppress(urllib.error.URLError):
                return super().open(request)
            old, _colon, rest = request.full_url.partition(":")
            request.full_url = f"{'http' if old == 'https' else 'https'}:{rest}"
        return super().open(request)


def plain_cluster(platform: Platform, namespace: str, version: str = "2.19.6") -> SwitchingCluster:
    """A cluster without TLS whose members read their settings from a Secret; its probe knows no scheme."""
    cluster = SwitchingCluster(platform, namespace)
    identity = Authority("search authority").issue("member", ["127.0.0.1"])
    kept = {"member.crt": identity.certificate.decode(), "member.key": identity.key.decode()}
    metadata = {"name": CERTIFICATES, "namespace": namespace}
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    platform.apply([place, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": kept}])
    options: dict[str, Any] = {"secrets": {CERTIFICATES: f"{CONFIGURATION}/{CERTIFICATES}"}}
    cluster.rise(three_combined, version, configured=True, ready={"tcpSocket": {"port": 9200}}, **options)
    platform.apply(bound(RESTART_ROLE, namespace))
    return cluster


def by(cluster: Cluster, scheme: str) -> Cluster:
    """The same cluster, asked by this scheme alone."""
    return Cluster(cluster.platform, cluster.namespace, scheme=scheme)


def answering(cluster: Cluster, scheme: str) -> set[str]:
    """The members that answer by this scheme."""
    found = set()
    for _turn in range(TRIES):
        try:
            nodes = json.loads(by(cluster, scheme).ask("/_nodes/_local/_none"))["nodes"]
        except urllib.error.URLError:
            continue
        found |= {node["name"] for node in nodes.values()}
    return found


def with_tls(kept: Mapping[str, str], on: bool) -> dict[str, str]:
    """These contents with TLS switched on or off."""
    without = {name: re.sub(OWN, "", text, flags=re.M) for name, text in kept.items()}
    switch = f"{HTTP}.enabled: {str(on).lower()}\n"
    files = "".join(f"{HTTP}.{each}_filepath: {CERTIFICATES}/{name}\n" for each, name in FILES.items())
    return {name: f"{text}{switch}{files}" for name, text in without.items()}


def variables(cluster: Cluster, on: bool) -> dict[str, Any]:
    """The variables of a run that switches TLS on or off, with both addresses."""
    before, after = ("http", "https") if on else ("https", "http")
    given = {name: value for name, value in by(cluster, before).variables("").items() if name != "target_version"}
    return {
        **given,
        "upgrade_opensearch_after_hosts": by(cluster, after).url,
        "upgrade_configuration": [{"pool": POOL, "contents": with_tls(contents(cluster), on)}],
    }
