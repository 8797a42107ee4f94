"""The files for TLS at the REST port: mounted, there, valid now, and for the names of the new addresses."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.http_certificates import (
    FileContents,
    files_of,
    judge_files,
    judge_given,
    judge_probes_ask,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.pod_spec import (
    mounts_of,
    schemes_of_probes,
)

from tests.lab.certificates import LIFETIME, Authority

FOLDER = "/usr/share/opensearch/config"
PLUGIN = "plugins.security.ssl.http."
SETTINGS = {f"{PLUGIN}pemcert_filepath": "tls/member.crt", f"{PLUGIN}pemkey_filepath": "tls/member.key"}
IDENTITY = Authority("authority").issue("member", ["10.0.0.1"], ["search.example.com", "*.search.svc"])
SECRET = {"member.crt": IDENTITY.certificate, "member.key": IDENTITY.key}
NOW = datetime.now(timezone.utc)


def spec(volume: dict[str, Any] | None = None, **mount: Any) -> dict[str, Any]:
    """A pod that mounts a volume at the folder of the certificates."""
    shown = volume if volume is not None else {"secret": {"secretName": "search-tls"}}
    mounts = [{"name": "tls", "mountPath": f"{FOLDER}/tls", **mount}] if shown else []
    return {"containers": [{"name": "server", "volumeMounts": mounts}], "volumes": [{"name": "tls", **shown}]}


def codes(
    secret: dict[str, bytes] | None = SECRET,
    *,
    now: datetime = NOW,
    hosts: tuple[str, ...] = ("https://search.example.com:9200",),
    pod: dict[str, Any] | None = None,
    settings: dict[str, str] | None = None,
    denied: bool = False,
    checks: bool = True,
) -> list[str]:
    files = files_of("search", settings or SETTINGS, mounts_of(pod or spec(), "server"), FOLDER)
    found = FileContents({} if denied else {"search-tls": secret}, frozenset({"search-tls"} if denied else ()))
    verdict = judge_files(files, found, hosts, now, checks_names=checks)
    assert "PRIVATE" not in str(verdict)
    refused = [reason.code for reason in verdict.reasons if reason.state is State.REFUSED]
    return refused or [reason.code for reason in verdict.reasons]


@pytest.mark.parametrize("host", ["search.example.com", "SEARCH.example.com", "a.search.svc", "10.0.0.1"])
def test_a_certificate_that_is_there_and_valid_and_has_the_name_passes(host: str) -> None:
    assert codes(hosts=(f"https://{host}:9200",)) == []


@pytest.mark.parametrize("host", ["other.example.com", "search.svc", "a.b.search.svc", "10.0.0.2", "[::1]"])
def test_a_certificate_for_other_names_is_refused_unless_nobody_looks_at_them(host: str) -> None:
    assert codes(hosts=(f"https://{host}:9200",)) == ["http_certificate_of_other_name"]
    assert codes(hosts=(f"https://{host}:9200",), checks=False) == []


def test_one_that_has_ended_or_begins_later_is_refused() -> None:
    assert codes(now=NOW + 2 * LIFETIME) == ["http_certificate_not_valid"]
    assert codes(now=NOW - timedelta(days=400)) == ["http_certificate_not_valid"]


def test_a_secret_or_a_key_that_is_missing_is_refused_by_name() -> None:
    assert codes(None) == ["http_certificate_missing"] * 2
    assert codes({"member.crt": IDENTITY.certificate}) == ["http_certificate_missing"]


@pytest.mark.parametrize("content", [b"", b"no PEM", IDENTITY.key, b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_that_is_no_certificate_is_refused(content: bytes) -> None:
    assert codes({**SECRET, "member.crt": content}) == ["http_certificate_unreadable"]
    assert codes({**SECRET, "member.key": IDENTITY.certificate}) == ["http_certificate_unreadable"]


@pytest.mark.parametrize(
    "options",
    [
        {"pod": spec({})},
        {"pod": spec({"configMap": {"name": "tls"}})},
        {"pod": spec({"secret": {"secretName": "search-tls", "items": [{"key": "a", "path": "member.crt"}]}})},
        {"settings": {f"{PLUGIN}pemcert_filepath": "tls/${HOSTNAME}.crt"}},
        {"settings": {f"{PLUGIN}keystore_filepath": "tls/member.crt"}},
        {"denied": True},
    ],
)
def test_a_file_that_nobody_can_look_at_is_named_as_such(options: dict[str, Any]) -> None:
    assert codes(**options, hosts=("https://other.example.com:9200",)) == ["http_certificates_unseen"]


def test_a_single_file_that_is_mounted_by_sub_path_is_looked_into() -> None:
    both = spec()
    mounts = [
        {"name": "tls", "mountPath": f"{FOLDER}/tls/{name}", "subPath": name} for name in ("member.crt", "member.key")
    ]
    both["containers"][0]["volumeMounts"] = mounts
    assert codes(pod=both) == []
    assert codes(None, pod=both) == ["http_certificate_missing"] * 2


def test_x_pack_names_its_files_by_other_settings() -> None:
    own = {"xpack.security.http.ssl.certificate": "tls/member.crt", "xpack.security.http.ssl.key": "tls/member.key"}
    assert codes(settings=own) == []
    assert codes(None, settings=own) == ["http_certificate_missing"] * 2


def test_tls_without_any_certificate_is_refused() -> None:
    for given in (SETTINGS, {f"{PLUGIN}keystore_filepath": "a"}, {"xpack.security.http.ssl.keystore.path": "a"}):
        assert judge_given("search", given).passed
    for given, named in (({}, PLUGIN), ({"xpack.security.http.ssl.enabled": "true"}, "xpack.security.http.ssl.cert")):
        (reason,) = judge_given("search", given).reasons
        assert (reason.code, named in reason.remedy) == ("http_certificate_not_given", True)


def test_probes_of_the_other_scheme_at_the_rest_port_are_refused() -> None:
    ports = [{"name": "http", "containerPort": 9200}, {"name": "metrics", "containerPort": 9114}]

    def found(probe: dict[str, Any], scheme: str = "https", **settings: str) -> list[str]:
        pod = {"containers": [{"name": "server", "ports": ports, "readinessProbe": probe}]}
        verdict = judge_probes_ask("search", scheme, settings, schemes_of_probes(pod, "server"))
        return [each.code for each in verdict.deciding()]

    refused = ["probe_of_other_scheme"]
    for port in (9200, "http"):
        assert found({"httpGet": {"path": "/", "port": port}}) == refused
        assert found({"httpGet": {"path": "/", "port": port}}, "http") == []
        assert found({"httpGet": {"path": "/", "port": port, "scheme": "HTTPS"}}, "http") == refused
    assert found({"httpGet": {"port": "metrics"}}) == []
    assert found({"httpGet": {"port": 9114}}, **{"http.port": "9114"}) == refused
    assert found({"tcpSocket": {"port": 9200}}) == []
    assert found({"exec": {"command": ["curl", "http://localhost:9200"]}}) == refused
    assert found({"exec": {"command": ["sh", "-c", "curl http://a || curl https://a"]}}) == []
