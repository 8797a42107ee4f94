"""What a user reads if a certificate is wrong: the fix for that fault, and not for another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.tls_faults import certificate_fix, is_of_caller
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import connect
from ansible_collections.stateful.upgrade.tests.lab.certificates import Authority
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.proxy_server import proxying
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.tls_server import NAME, member


def said(options: dict[str, Any]) -> str:
    with pytest.raises(Refusal) as caught:
        connect(options).get("/_cluster/settings")
    return str(caught.value)


def test_a_certificate_that_has_ended_is_renewed(tmp_path: Path) -> None:
    with member(tmp_path, tls=True, expired=True) as server, proxying(server.port) as proxy:
        found = said({"hosts": [f"https://{NAME}:9200"], "ca_cert": server.authority, "proxy": proxy.url})
    assert found.endswith(
        "has expired. Renew it, or the certificate of its CA, and check the clock where Ansible runs."
    )


def test_an_address_that_the_certificate_does_not_have_is_corrected(tmp_path: Path) -> None:
    with member(tmp_path, tls=True) as server:
        at = f"https://127.0.0.1:{server.port}"
        found = said({"hosts": [at], "ca_cert": server.authority})
        assert "mismatch" in found
        assert "Give in opensearch.hosts a name or address that the certificate has" in found
        assert "Set opensearch.ca_cert to the CA that signed it" in said({"hosts": [at]})


def test_a_server_that_asks_for_a_certificate_is_given_one(tmp_path: Path) -> None:
    with member(tmp_path, tls=True, asks=True) as server, proxying(server.port) as proxy:
        found = said({"hosts": [f"https://{NAME}:9200"], "ca_cert": server.authority, "proxy": proxy.url})
    assert "If it asks for a client certificate, set opensearch.client_cert and opensearch.client_key" in found


def test_a_file_that_holds_something_else_is_named_before_any_request(tmp_path: Path) -> None:
    for name in ("one", "other"):
        made = Authority("authority").issue(name)
        (tmp_path / f"{name}.crt").write_bytes(made.certificate)
        (tmp_path / f"{name}.key").write_bytes(made.key)
    (tmp_path / "empty").touch()
    one, other, empty = (str(tmp_path / name) for name in ("one.crt", "other.key", "empty"))
    hosts = ["https://127.0.0.1:1"]
    assert f"The file {empty} (opensearch.ca_cert) has no certificate" in said({"hosts": hosts, "ca_cert": empty})
    fits = {"hosts": hosts, "client_cert": one, "client_key": one.replace(".crt", ".key")}
    assert "cannot be reached" in said(fits)
    assert f"or the file {other} (opensearch.client_key) no key that fits" in said({**fits, "client_key": other})
    assert "or that file, without opensearch.client_key, no key that fits" in said({**fits, "client_key": None})


@pytest.mark.parametrize(
    ("cause", "of_caller", "fix"),
    [
        ("certificate verify failed: certificate is not yet valid", False, "Renew it"),
        (
            "certificate verify failed: Hostname mismatch, certificate is not valid for 'a'",
            False,
            "Give in hosts a name",
        ),
        ("Hostname mismatch, certificate is not valid for 'expired.example.com'", False, "Give in hosts a name"),
        ("key values mismatch", False, ""),
        ("certificate verify failed: self-signed certificate", False, ""),
        ("tlsv13 alert certificate required", True, ""),
        ("sslv3 alert bad certificate", True, ""),
        ("tlsv1 alert unknown ca", True, ""),
        ("sslv3 alert handshake failure", True, ""),
        ("wrong version number", False, ""),
    ],
)
def test_the_words_of_openssl(cause: str, of_caller: bool, fix: str) -> None:
    assert is_of_caller(cause) is of_caller
    assert certificate_fix(cause, "hosts")[: len(fix) or None] == fix
