"""The client of the agent, against a real one: directly, through the Kubernetes API, each refusal as a sentence."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Conflict,
    NotUnderstood,
    Refusal,
    Unreachable,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect as connect_kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.port_forward import PodForward
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.agent import (
    connect,
    judge_connection,
)
from ansible_collections.stateful.upgrade.tests.unit.agent.agents import TOKEN, Agent, Place, agent
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.forwarding_api import forwarding

HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent(Place(tmp_path_factory.mktemp("agent"))) as found:
        found.await_log("begun")
        yield found


def options(of: Agent, **others: Any) -> dict[str, Any]:
    return {"port": of.port, "token": TOKEN, "ca_cert": str(of.place.folder / "ca.pem"), **others}


def refused(of: Mapping[str, Any], host: str = HERE, kind: type[Refusal] = Refusal) -> tuple[str, str]:
    """The code and the sentence of the refusal of a look."""
    with pytest.raises(kind) as caught:
        connect({"request_timeout": 5, **of}, host).status()
    (reason,) = caught.value.verdict.reasons
    assert reason.remedy
    return reason.code, reason.message


def test_a_process_is_seen_stopped_and_started(running: Agent) -> None:
    client = connect(options(running), HERE)
    first = client.status()
    assert (first.running, first.stopped_by_request, first.log) == (True, False, ("begun",))
    assert first.checksum == first.running_checksum == running.place.checksum()
    assert client.stop("one").changed
    assert not client.stop("one").changed
    seen = running.await_that("the end", lambda: None if (now := client.status()).running else now)
    assert (seen.pid, seen.exit_code, seen.last_stop, seen.running_checksum) == (None, 3, "one", None)
    started = client.start("one", running.place.checksum())
    assert (started.changed, started.status.running, started.status.last_start) == (True, True, "one")
    assert not client.start("one", running.place.checksum()).changed
    client.close()


def test_a_start_on_another_configuration_is_a_conflict(running: Agent) -> None:
    client = connect(options(running), HERE)
    with pytest.raises(Conflict) as caught:
        client.start("two", "0" * 64)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "agent_conflict"
    digits = f"{running.place.checksum()[:12]}…"
    assert f"It expected 000000000000…, {digits} is mounted, and {digits} runs." in reason.message
    assert client.status().last_start != "two"


def test_a_certificate_of_a_caller_takes_the_place_of_the_token(running: Agent) -> None:
    caller = running.place.caller
    given = {"client_cert": f"{caller}.pem", "client_key": f"{caller}.key", "token": None}
    assert connect(options(running, **given), HERE).status().pid


def test_credentials_that_are_not_accepted_are_told(running: Agent) -> None:
    for token in ("another-token-of-some-length", None):
        code, message = refused(options(running, token=token))
        assert (code, "(401)" in message) == ("agent_credentials", True)
        assert "another" not in message


def test_the_certificate_of_the_agent_is_checked_unless_the_user_says_otherwise(running: Agent, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes((running.place.folder / "callers.pem").read_bytes())
    assert refused(options(running, ca_cert=str(other)))[0] == "agent_certificate"
    assert refused(options(running, ca_cert=None))[0] == "agent_certificate"
    assert refused(options(running, server_name="other.example.com"))[0] == "agent_certificate"
    assert connect(options(running, ca_cert=None, validate_certs=False), HERE).status().pid
    # The certificate of the agent has the names 127.0.0.1 and localhost.
    assert connect(options(running, server_name="localhost"), HERE).status().pid


def test_nobody_at_the_port_may_pass(running: Agent) -> None:
    code, message = refused(options(running, port=1), kind=Unreachable)
    assert (code, message.startswith("The agent at https://127.0.0.1:1 cannot be reached: ")) == (
        "agent_unreachable",
        True,
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ca_cert": "/no/such/file"}, "its certificates: No such file or directory"),
        ({"client_cert": "/no/such/file"}, "its certificates: No such file or directory"),
        ({"token": "two\nlines"}, "the token: it holds a space"),
        ({"proxy": "socks5://proxy"}, "the proxy: a proxy of the kind socks5 is not supported"),
    ],
)
def test_options_that_cannot_be_used_are_named(running: Agent, given: dict[str, Any], said: str) -> None:
    code, message = refused(options(running, **given))
    assert code == "agent_connection_options"
    assert message.startswith(f"The connection to the agents cannot be set up because of {said}")


def test_a_token_that_others_can_read_on_the_way_is_remarked() -> None:
    assert judge_connection({"token": "x"}, "data-0.data").reasons == ()
    (reason,) = judge_connection({"token": "x", "validate_certs": False}, "data-0.data").reasons
    assert reason.code == "credentials_unverified"


def test_a_pod_that_is_not_ready_is_reached_through_the_kubernetes_api(running: Agent) -> None:
    with forwarding() as api:
        api.ready("data-0", running.port)
        api.unready("data-0")
        kubernetes = connect_kubernetes({"host": api.url, "api_key": "token"})
        way = PodForward(kubernetes, "search", "data-0", running.port)
        client = connect(options(running, server_name="localhost"), "data-0.data.search.svc", way)
        assert client.status().pid
        assert api.forwarded == ["data-0"]
        assert client.where == way.where
        api.denied = True
        client = connect(options(running), HERE, way)
        with pytest.raises(Refusal) as caught:
            client.status()
        assert [reason.code for reason in caught.value.verdict.reasons] == ["kubernetes_rights"]


@contextmanager
def other_server(place: Place, status: int, body: bytes) -> Iterator[int]:
    """A server in the place of the agent, which gives this answer to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place.folder / "agent.pem", place.folder / "agent.key")
    with http.server.ThreadingHTTPServer((HERE, 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (200, b"<html>", NotUnderstood, "agent_not_understood"),
        (200, b"{}", NotUnderstood, "agent_not_understood"),
        (302, b"", Refusal, "agent_answer"),
        (404, b"<html>", Refusal, "agent_answer"),
        (404, b'{"error": 5}', Refusal, "agent_answer"),
        (500, b'{"error": "x"}', Refusal, "agent_answer"),
        (503, b'{"error": "The disk is full."}', Unreachable, "agent_unavailable"),
    ],
)
def test_other_answers_are_told(place: Place, status: int, body: bytes, kind: type[Refusal], code: str) -> None:
    with other_server(place, status, body) as port:
        given = {"port": port, "token": TOKEN, "ca_cert": str(place.folder / "ca.pem")}
        assert refused(given, kind=kind)[0] == code


def test_every_field_of_the_status_is_read_strictly(running: Agent, place: Place) -> None:
    whole = running.ask("GET", "/es/status").said
    for name in ("running", "stopping", "stopped_by_request", "pid", "checksum", "exit_code", "log"):
        with other_server(place, 200, json.dumps({**whole, name: {"odd": "one"}}).encode()) as port:
            given = {"port": port, "token": TOKEN, "ca_cert": str(place.folder / "ca.pem")}
            code, message = refused(given, kind=NotUnderstood)
            assert (code, name in message) == ("agent_not_understood", True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
