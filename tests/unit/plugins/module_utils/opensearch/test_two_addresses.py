"""A cluster whose members answer at two addresses, with and without TLS, against real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.answering import (
    ENOUGH,
    NewAddressAnswers,
    judge_answers,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.addresses import (
    after_of,
    judge_connection,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import connect
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.proxy_server import proxying
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.tls_server import NAME, member

PATH = "/_cluster/settings"


def options(scheme: str, other: str, **more: Any) -> dict[str, Any]:
    """Both connections lead to the same member through the proxy."""
    return {"hosts": [f"{scheme}://{NAME}:9200"], "after": {"hosts": [f"{other}://{NAME}:9200"], **more}}


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize("first", ["http", "https"])
def test_a_member_is_asked_by_the_scheme_that_it_has(tmp_path: Path, tls: bool, first: str) -> None:
    other = "https" if first == "http" else "http"
    with member(tmp_path, tls=tls) as server:
        given = options(first, other)
        trusted = {"ca_cert": server.authority} if tls else {}
        (given if first == "https" else given["after"]).update(trusted)
        for connection in (given, given["after"]):
            connection["hosts"] = [connection["hosts"][0].replace(f"{NAME}:9200", f"127.0.0.1:{server.port}")]
            connection["validate_certs"] = False
        client = connect(given)
        assert [client.get(PATH)["path"] for _time in range(2)] == [PATH] * 2


def test_a_certificate_that_is_not_trusted_is_named_and_no_handshake_that_had_to_fail(tmp_path: Path) -> None:
    with member(tmp_path, tls=True) as server:
        at = f"127.0.0.1:{server.port}"
        with pytest.raises(Refusal) as caught:
            connect({"hosts": [f"http://{at}"], "after": {"hosts": [f"https://{at}"]}}).get(PATH)
    assert caught.value.verdict.reasons[0].code == "opensearch_certificate"
    with member(tmp_path, tls=False) as server:
        given = {"hosts": ["http://127.0.0.1:1"], "after": {"hosts": [f"https://127.0.0.1:{server.port}"]}}
        with pytest.raises(Unreachable):
            connect(given).get(PATH)


def test_the_proxy_serves_both(tmp_path: Path) -> None:
    with member(tmp_path, tls=True) as server, proxying(server.port) as proxy:
        given = {**options("https", "https", ca_cert=server.authority), "proxy": proxy.url}
        assert connect(given).get(PATH)["path"] == PATH
        assert proxy.asked[-1] == ("CONNECT", f"{NAME}:9200")


def test_a_password_is_never_sent_without_encryption_that_was_given_for_tls() -> None:
    known = {"username": "me", "password": "secret"}
    for first, other, user in (("https", "http", None), ("http", "https", "me")):
        after = after_of({**options(first, other), **known})
        assert after is not None
        assert after.get("username") == user
    own = after_of({**options("http", "https", username="you"), **known})
    assert own is not None
    assert (own["username"], own.get("password")) == ("you", None)
    assert after_of({"hosts": ["http://a:9200"], "after": None}) is None
    said = judge_connection(options("https", "http", username="me"))
    assert [reason.code for reason in said.reasons] == ["credentials_unencrypted"]


@pytest.mark.parametrize(
    ("hosts", "code"),
    [
        ([], "opensearch_hosts_missing"),
        (["a:9200"], "opensearch_scheme"),
        (["https://a:9200", "http://b:9200"], "opensearch_scheme"),
        (["https://me:secret@a:9200"], "credentials_in_url"),
    ],
)
def test_the_new_addresses_are_refused_by_their_own_name(hosts: list[str], code: str) -> None:
    with pytest.raises(Refusal) as caught:
        connect({"hosts": ["http://a:9200"], "after": {"hosts": hosts, "username": "x"}})
    reason = caught.value.verdict.reasons[0]
    assert reason.code == code
    assert "secret" not in str(caught.value)


def test_every_member_of_the_batch_has_to_answer() -> None:
    seen = NewAddressAnswers("https://a", frozenset({"a-0"}), 1)
    assert judge_answers(seen, ["a-0"]).reasons == ()
    (reason,) = judge_answers(NewAddressAnswers("https://a", silence="It is silent."), ["a-0"]).reasons
    assert (reason.code, "It is silent." in reason.message) == ("not_at_new_address", True)
    (reason,) = judge_answers(seen, ["a-0", "a-1"]).reasons
    assert (reason.code, "yet: a-1" in reason.message) == ("not_at_new_address", True)
    found = judge_answers(NewAddressAnswers("https://a", frozenset({"a-0"}), ENOUGH), ["a-1"])
    assert (found.passed, [each.code for each in found.reasons]) == (True, ["new_address_of_others"])
