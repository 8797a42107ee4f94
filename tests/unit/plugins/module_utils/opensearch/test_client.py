"""The client against a small HTTP server: what it sends, and what it refuses to send."""

from __future__ import annotations

import json
import socket
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    NoConnection,
    NotTheServer,
    Refusal,
    Unreachable,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.addresses import judge_connection
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import (
    connect,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import Api, answering

PATH = "/_cluster/settings"


@pytest.fixture
def api() -> Iterator[Api]:
    with answering() as api:
        yield api


@pytest.mark.parametrize("password", ["plain", "p\u00e4ss:w\u00f6rt", "\u0142\u00f3d\u017a"])
def test_credentials_are_sent_in_utf_8(api: Api, password: str) -> None:
    api.say(200, {"a": 1})
    connect({"hosts": [api.url], "username": "m\u00e9", "password": password}).get(PATH)
    sent = api.asked[0][2]["Authorization"]
    assert b64decode(sent.removeprefix("Basic ")).decode("utf-8") == f"m\u00e9:{password}"


def test_without_a_user_nobody_is_named(api: Api) -> None:
    api.say(200, {"a": 1})
    connect({"hosts": [api.url], "password": "alone"}).get(PATH)
    assert "authorization" not in {name.lower() for name in api.asked[0][2]}


@pytest.mark.parametrize("password", [None, ""])
def test_a_user_without_a_password_is_refused_before_anything_is_asked(api: Api, password: str | None) -> None:
    given: dict[str, Any] = {"hosts": [api.url], "username": "me", "password": password}
    fix = r"Set opensearch\.password \(or .*OPENSEARCH_PASSWORD\), or leave out .* \(also OPENSEARCH_USERNAME\)"
    with pytest.raises(Refusal, match=rf"user me .* has no password\. {fix}"):
        connect(given)
    with pytest.raises(Refusal, match=r"Set opensearch\.after\.password\."):
        connect({"hosts": [api.url], "after": given})
    assert api.asked == []


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json", "text/plain"])
def test_a_web_page_is_no_answer_of_a_server_that_restarts(api: Api, kind: str) -> None:
    api.answers[:] = [(200, "\n<!doctype html><title>Welcome</title>", {"Content-Type": kind})]
    with pytest.raises(NotTheServer, match=f"the server at {api.url} sends a web page.* opensearch.hosts names"):
        connect({"hosts": [api.url]}).get(PATH)
    api.answers[:] = [(302, "", {"Location": "https://login.example.com/"})]
    with pytest.raises(NotTheServer, match=r"redirects the request \(302\)"):
        connect({"hosts": [api.url]}).get(PATH)


@pytest.mark.parametrize(("status", "waits"), [(502, True), (503, True), (504, True), (401, False), (403, False)])
def test_a_page_of_a_proxy_is_judged_by_its_status(api: Api, status: int, waits: bool) -> None:
    api.answers[:] = [(status, "<html><body>nginx</body></html>", {"Content-Type": "text/html"})] * 9
    with pytest.raises(Refusal) as caught:
        connect({"hosts": [api.url]}).get(PATH)
    assert isinstance(caught.value, Unreachable) is waits
    assert not isinstance(caught.value, NoConnection)


@pytest.mark.parametrize(("says", "listens"), [(b"This is not an HTTP port", False), (b"", True)])
def test_a_port_of_the_transport_is_no_outage(says: bytes, listens: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection = server.accept()[0]
                    connection.recv(1000)
                    connection.sendall(says)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(Unreachable) as caught:
            connect({"hosts": [f"http://127.0.0.1:{server.getsockname()[1]}"]}).get(PATH)
        assert says.decode() in str(caught.value)
        assert isinstance(caught.value, NoConnection) is not listens


def test_a_password_in_a_url_is_refused_without_it(api: Api) -> None:
    with pytest.raises(Refusal) as caught:
        connect({"hosts": [api.url, api.url.replace("//", "//me:very-secret@")]})
    assert caught.value.verdict.reasons[0].code == "credentials_in_url"
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "code"),
    [
        ("", "opensearch_scheme"),
        *((each, "address_not_url") for each in ("//", "ftp://", "https:", "search.example.com:9200,http://")),
    ],
)
def test_an_address_says_whether_there_is_tls(scheme: str, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        connect({"hosts": ["https://search.example.com:9200", f"{scheme}search.example.com:9200"]})
    (reason,) = caught.value.verdict.reasons
    assert reason.code == code
    assert f"{scheme}search.example.com:9200" in reason.message


def test_with_and_without_tls_are_not_mixed(api: Api) -> None:
    with pytest.raises(Refusal) as caught:
        connect({"hosts": ["https://search.example.com:9200", api.url], "username": "me", "password": "p"})
    assert caught.value.verdict.reasons[0].code == "opensearch_scheme"
    assert api.asked == []


def test_the_scheme_may_be_in_capitals(api: Api) -> None:
    api.say(200, {"a": 1})
    assert connect({"hosts": [api.url.replace("http", "HTTP")]}).get(PATH) == {"a": 1}


def test_an_answer_that_passes_is_asked_for_again(api: Api) -> None:
    for status in (429, 503):
        api.say(status, {"error": "busy"})
        api.say(200, {"a": status})
        assert connect({"hosts": [api.url]}).get(PATH) == {"a": status}
        api.answers.clear()


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"username": "me"}, ["credentials_unencrypted"] * 2),
        ({}, []),
        ({"username": "me", "port_forward": {"namespace": "search"}}, []),
    ],
)
def test_a_password_without_encryption_is_a_remark(options: dict[str, Any], codes: list[str]) -> None:
    hosts = ["http://a.example.com:9200", "http://b.example.com:9200"]
    assert [reason.code for reason in judge_connection({"hosts": hosts, **options}).reasons] == codes
    secure = {"hosts": ["https://a.example.com:9200"], **options}
    assert judge_connection(secure).reasons == ()
    unverified = judge_connection({**secure, "validate_certs": False})
    assert [reason.code for reason in unverified.reasons] == ["credentials_unverified"] * bool(codes)


def test_a_host_that_hangs_is_named_and_not_asked_again_in_its_turn(api: Api) -> None:
    for _answer in range(5):
        api.say(200, {"a": 1})
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        silent = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        client = connect({"hosts": [silent, api.url], "request_timeout": 2})
        failed = []
        for _request in range(6):
            try:
                client.get(PATH)
            except Unreachable as error:
                failed.append(str(error))
    assert len(failed) == 1
    assert f"The search cluster at {silent} did not answer within 2 s." in failed[0]
    assert "opensearch.request_timeout" in failed[0]


@pytest.mark.parametrize(
    ("headers", "member", "name"),
    [
        ({}, None, "The search cluster"),
        ({"X-Elastic-Product": "Elasticsearch"}, None, "Elasticsearch"),
        ({"X-Elastic-Product": "Something else"}, None, "The search cluster"),
        ({}, {"version": "7.13.4", "build_flavor": "default"}, "Elasticsearch"),
        ({}, {"version": "2.19.6"}, "OpenSearch"),
    ],
)
def test_an_error_names_the_product_once_an_answer_has_told_it(
    api: Api, headers: dict[str, str], member: object, name: str
) -> None:
    api.answers[:] = [(200, json.dumps({"nodes": {"a": member} if member else {}}), headers)]
    api.say(403, {"error": {"reason": "no permissions"}})
    client = connect({"hosts": [api.url]})
    client.get("/_nodes")
    with pytest.raises(Refusal) as refused:
        client.get(PATH)
    (reason,) = refused.value.verdict.reasons
    assert reason.message == f"{name} at {api.url} does not allow GET {PATH}: no permissions."
    assert ("opensearch_role.yml" in reason.remedy) is (name != "Elasticsearch")


def test_a_denial_names_the_server_the_user_and_the_file_of_the_permissions(api: Api) -> None:
    api.say(403, {"error": {"reason": "no permissions"}})
    with pytest.raises(Refusal) as refused:
        connect({"hosts": [api.url], "username": "upgrader", "password": "x"}).get(PATH)
    (reason,) = refused.value.verdict.reasons
    assert f"at {api.url} does not allow the user upgrader GET {PATH}" in reason.message
    assert "roles/opensearch/files/opensearch_role.yml" in reason.remedy


def test_an_error_of_another_kind_of_server_asks_for_the_right_address(api: Api) -> None:
    api.answers[:] = [(404, "<html>404 Not Found</html>", {})]
    with pytest.raises(Refusal) as refused:
        connect({"hosts": [api.url]}).get(PATH)
    (reason,) = refused.value.verdict.reasons
    assert reason.message == f"The search cluster at {api.url} answered 404 to GET {PATH}: <html>404 Not Found</html>."
    assert reason.remedy.startswith("Check that opensearch.hosts names the REST port of the cluster")


def test_what_is_sent_once_is_not_sent_again_whatever_becomes_of_it(api: Api) -> None:
    api.say(503, {"error": "busy"})
    client = connect({"hosts": [api.url] * 3})
    with pytest.raises(Unreachable):
        client.post_once("/_all/_flush", 30)
    assert len(api.asked) == 1
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        client = connect({"hosts": [f"http://127.0.0.1:{silent.getsockname()[1]}"] * 3})
        with pytest.raises(Unreachable, match=r"did not answer within 0\.1 s"):
            client.post_once("/_all/_flush", 0.1)
        connections = [silent.accept()[0]]
        with pytest.raises(BlockingIOError):
            silent.accept()
        connections[0].close()


@pytest.mark.parametrize("mark", ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"])
def test_a_key_with_a_passphrase_is_refused_before_anybody_is_asked_for_it(mark: str, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(f"{mark}\n")
    key = str(tmp_path / "key.pem")
    with pytest.raises(Refusal, match=r"key\.pem \(opensearch\.client_(cert|key)\) is encrypted") as caught:
        connect({"hosts": ["https://search.example.com:9200"], "client_cert": key, "client_key": key})
    assert caught.value.verdict.reasons[0].code == "key_encrypted"
