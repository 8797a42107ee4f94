"""The certificates of members: read from a real handshake, and judged by the time that is left."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.certificates import (
    DAY,
    judge_certificates,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.certificates import (
    Certificate,
    end_of,
    shown,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import connect
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.tls_server import member
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding


def encoded(end: datetime) -> bytes:
    """A certificate with that end."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    begin = datetime(1950, 1, 1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), begin, end)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize("year", [1969, 1999, 2026, 2049, 2050, 2099])
def test_the_end_is_read_in_both_forms_of_time(year: int) -> None:
    end = datetime(year, 12, 5, 23, 59, 58)
    assert end_of(encoded(end)) == end.replace(tzinfo=timezone.utc)


@pytest.mark.parametrize("wrong", [b"", b"0", b"0\x03\x02\x01\x05", b"\x30\x82\xff\xff" * 8, bytes(64)])
def test_anything_else_is_no_certificate(wrong: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        end_of(wrong)
    assert shown({"a:9200": [wrong]}, 0) == ()


def test_of_several_at_one_address_the_first_end_counts() -> None:
    ends = [datetime(2030, 1, day) for day in (3, 2)]
    (found,) = shown({"a:9200": set(map(encoded, ends))}, datetime(2030, 1, 1, tzinfo=timezone.utc).timestamp())
    assert (found.where, found.ends.day, found.left) == ("a:9200", 2, DAY)


def test_a_real_handshake_shows_it_though_it_is_not_verified(tmp_path: Path) -> None:
    with member(tmp_path, tls=True) as server:
        client = connect({"hosts": [f"https://127.0.0.1:{server.port}"], "validate_certs": False})
        assert client.certificates == {}
        client.get("/")
        (certificate,) = client.certificates[f"127.0.0.1:{server.port}"]
        assert ssl.DER_cert_to_PEM_cert(certificate) in Path(server.authority).read_text()
        (found,) = shown(client.certificates, datetime.now(timezone.utc).timestamp())
        assert 0 < found.left <= DAY


def test_the_certificates_of_all_hosts_are_seen(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with member(tmp_path / "one", tls=True) as one, member(tmp_path / "other", tls=True, expired=True) as other:
        hosts = [f"127.0.0.1:{each.port}" for each in (one, other)]
        client = connect({"hosts": [f"https://{each}" for each in hosts], "validate_certs": False})
        for _request in range(3):
            client.get("/")
        found = shown(client.certificates, datetime.now(timezone.utc).timestamp())
        assert {each.where: each.left > 0 for each in found} == dict(zip(hosts, (True, False), strict=True))


def test_without_tls_nothing_is_shown(tmp_path: Path) -> None:
    with member(tmp_path, tls=False) as server:
        client = connect({"hosts": [f"http://127.0.0.1:{server.port}"]})
        client.get("/")
        assert client.certificates == {}


@pytest.mark.parametrize(
    ("left", "state", "words"),
    [
        (-1, State.PASSED, "ended at"),
        (0, State.PASSED, "ended at"),
        (3600, State.REFUSED, "may lose the cluster"),
        (DAY - 1, State.REFUSED, "may lose the cluster"),
        (DAY, State.PASSED, "ends in 1 day,"),
        (30 * DAY - 1, State.PASSED, "ends in 30 days"),
        (30 * DAY, None, ""),
    ],
)
def test_the_time_that_is_left_decides(left: float, state: State | None, words: str) -> None:
    ends = datetime(2026, 11, 23, tzinfo=timezone.utc) + timedelta(seconds=left)
    found = judge_certificates([Certificate("a:9200", ends, left)]).reasons
    assert [reason.state for reason in found] == ([state] if state else [])
    assert all(words in reason.message and "a:9200" in reason.message for reason in found)
