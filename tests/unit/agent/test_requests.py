"""The answers of the agent, and all that it refuses: callers, requests, bodies."""

from __future__ import annotations

import http.client
import itertools
import select
import ssl
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.unit.agent.agents import PROGRAM, TOKEN, Agent, Place

pytestmark = pytest.mark.usefixtures("uncollected")
KNOWN = {"Authorization": f"Bearer {TOKEN}"}
SUM = "0" * 64


def test_the_status_tells_all_of_the_process(asked: Agent) -> None:
    said = asked.await_status(log=["begun"]).copy()
    assert said.pop("pid") > 0
    assert said.pop("started_at")
    assert said == {
        "running": True,
        "stopping": False,
        "stopped_by_request": False,
        "checksum": asked.place.checksum(),
        "running_checksum": asked.place.checksum(),
        "awaited_checksum": None,
        "exit_code": None,
        "ended_at": None,
        "last_stop": None,
        "last_start": None,
        "log": ["begun"],
    }


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer \xe4\xf6"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/es/status", None),
        ("POST", "/es/stop", b"{}"),
        ("BREW", "/", None),
        ("POST", "/es/start", b"x" * 70_000),
    ],
)
def test_a_stranger_learns_nothing(
    asked: Agent, headers: dict[str, str], method: str, path: str, body: bytes | None
) -> None:
    answer = asked.ask(method, path, body, headers=headers)
    assert (answer.status, answer.said) == (401, {"error": "Unauthorized."})
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert asked.ask("GET", "/es/status").said["running"]


def test_a_certificate_of_the_named_authority_lets_in_and_no_other_does(asked: Agent) -> None:
    assert asked.ask("GET", "/es/status", headers={}, client=asked.place.caller).status == 200
    with pytest.raises((ssl.SSLError, ConnectionError)):
        asked.ask("GET", "/es/status", headers={}, client=asked.place.stranger)


def test_without_tls_nothing_is_answered(asked: Agent) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", asked.port, timeout=60)
    connection.request("GET", "/es/status", headers=KNOWN)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.getresponse()
    connection.close()


def test_tokens_are_read_anew_and_short_ones_open_nothing(asked: Agent) -> None:
    other = "another-token-that-is-long"

    def status(token: str) -> int:
        return asked.ask("GET", "/es/status", headers={"Authorization": f"bearer {token}"}).status

    try:
        asked.place.token.write_text(f"{other}\n{TOKEN}\n")
        assert (status(TOKEN), status(other)) == (200, 200)
        asked.place.token.write_text(f"{other}\nshort\n")
        assert (status(TOKEN), status(other), status("short")) == (401, 200, 401)
        asked.place.token.write_text("")
        assert (status(""), status(other)) == (401, 401)
        asked.place.token.unlink()
        assert status(other) == 401
    finally:
        asked.place.token.write_text(f"{TOKEN}\n")


def test_a_renewed_certificate_is_shown_at_once(asked: Agent) -> None:
    def shown() -> bytes | None:
        with asked.line() as connection:
            return connection.getpeercert(binary_form=True)

    before = shown()
    assert shown() == before
    asked.place.renew()
    assert shown() != before


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("POST", "/es/status", 405, "This path takes GET only."),
        ("GET", "/es/stop", 405, "This path takes POST only."),
        ("PUT", "/es/start", 405, "This path takes POST only."),
        ("HEAD", "/es/status", 405, ""),
        ("BREW", "/es/status", 405, "This path takes GET only."),
        ("GET", "/", 404, "The paths are /es/status, /es/stop, /es/start."),
        ("GET", "/es/status/", 404, "The paths are /es/status, /es/stop, /es/start."),
        ("GET", "/../etc/shadow", 404, "The paths are /es/status, /es/stop, /es/start."),
    ],
)
def test_other_paths_and_methods_are_refused(asked: Agent, method: str, path: str, status: int, said: str) -> None:
    if method == "HEAD":
        head = asked.say(f"HEAD {path} HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert head.startswith(b"HTTP/1.1 405 ")
        return
    answer = asked.ask(method, path)
    assert (answer.status, answer.said) == (status, {"error": said})
    if status == 405:
        assert answer.headers["Allow"] in said


OBJECT = "The body has to be an object with these fields only: request_id, checksum."
IDENTITY = "The field request_id has to be a text of 1 to 128 letters, digits and . _ : -"
SHA = "The field checksum has to be a SHA-256 in 64 digits of 0-9 and a-f."
SECONDS = "The field patience has to be a number of seconds from 0 to 3600."


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/es/start", b"", SHA),
        ("/es/start", b"{}", SHA),
        ("/es/start", b"{", "The body is not JSON."),
        ("/es/start", b"\xff", "The body is not JSON."),
        ("/es/start", b"[" * 60_000, "The body is not JSON."),
        ("/es/start", b"9" * 5_000, "The body is not JSON."),
        ("/es/start", b"[]", OBJECT),
        ("/es/start", b"null", OBJECT),
        ("/es/start", b'{"cheksum": "x"}', OBJECT),
        ("/es/start", b'{"checksum": 1}', SHA),
        ("/es/start", f'{{"checksum": "{SUM[:-1]}"}}'.encode(), SHA),
        ("/es/start", f'{{"checksum": "{SUM[:-1]}A"}}'.encode(), SHA),
        ("/es/start", f'{{"checksum": "{SUM}\\n"}}'.encode(), SHA),
        ("/es/start", f'{{"checksum": "{SUM}", "request_id": ""}}'.encode(), IDENTITY),
        ("/es/start", f'{{"checksum": "{SUM}", "request_id": 5}}'.encode(), IDENTITY),
        ("/es/start", f'{{"checksum": "{SUM}", "request_id": "a b"}}'.encode(), IDENTITY),
        ("/es/stop", b'{"request_id": "\\ud800"}', IDENTITY),
        ("/es/stop", b'{"patience": "5"}', SECONDS),
        ("/es/stop", b'{"patience": true}', SECONDS),
        ("/es/stop", b'{"patience": -1}', SECONDS),
        ("/es/stop", b'{"patience": NaN}', SECONDS),
        ("/es/stop", b'{"patience": 3601}', SECONDS),
    ],
)
def test_a_malformed_body_is_refused_with_one_sentence(asked: Agent, path: str, body: bytes, said: str) -> None:
    answer = asked.ask("POST", path, body)
    assert (answer.status, answer.said) == (400, {"error": said})
    assert asked.ask("GET", "/es/status").said["running"]


NOT_HTTP = "The request is not one of HTTP/1.1."
LENGTH = "The length of the body has to be given once, as Content-Length."
AUTHORIZED = f"POST /es/stop HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n"


@pytest.mark.parametrize(
    ("data", "status", "said"),
    [
        ("\r\n", 400, NOT_HTTP),
        ("GET /es/status\r\n\r\n", 400, NOT_HTTP),
        ("GET /es/status HTTP/2.0\r\n\r\n", 400, NOT_HTTP),
        ("GET  /es/status HTTP/1.1\r\n\r\n", 400, NOT_HTTP),
        ("GET /es/st\xe4tus HTTP/1.1\r\n\r\n", 400, NOT_HTTP),
        (f"GET /{'x' * 70_000} HTTP/1.1\r\n\r\n", 400, NOT_HTTP),
        (f"GET / HTTP/1.1\r\nX: {'x' * 70_000}\r\n\r\n", 400, NOT_HTTP),
        ("GET / HTTP/1.1\r\n" + "X: x\r\n" * 200 + "\r\n", 400, NOT_HTTP),
        (f"{AUTHORIZED}Content-Length: many\r\n\r\n", 400, LENGTH),
        (f"{AUTHORIZED}Content-Length: -1\r\n\r\n", 400, LENGTH),
        (f"{AUTHORIZED}Content-Length: \xb2\r\n\r\n", 400, LENGTH),
        (f"{AUTHORIZED}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}", 400, LENGTH),
        (f"{AUTHORIZED}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n", 400, LENGTH),
        (f"{AUTHORIZED}Content-Length: 65537\r\n\r\n{'x' * 65_537}", 413, "The body has more than 65536 bytes."),
        (f"{AUTHORIZED}Content-Length: 999999999999999\r\n\r\n", 413, "The body has more than 65536 bytes."),
    ],
)
def test_a_malformed_request_is_refused_with_one_sentence(asked: Agent, data: str, status: int, said: str) -> None:
    answer = asked.say(data.encode("latin-1"))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert answer.endswith(f'{{"error": "{said}"}}\n'.encode())
    assert asked.ask("GET", "/es/status").said["running"]


@pytest.mark.parametrize("begun", ["", "GET /es/st", AUTHORIZED, f"{AUTHORIZED}Content-Length: 9\r\n\r\n{{"])
def test_a_caller_that_says_no_more_is_left(asked: Agent, begun: str) -> None:
    assert asked.say(begun.encode()) == b""


def test_a_caller_that_speaks_in_drips_is_left(asked: Agent) -> None:
    with asked.line() as connection:
        connection.sendall(b"GET /es/status HTTP/1.1\r\nX: ")
        for _drip in itertools.count():
            if select.select([connection], [], [], 0.05)[0]:
                break
            connection.sendall(b"x")
        assert connection.recv(1) == b""


def test_many_slow_callers_do_not_shut_others_out(asked: Agent) -> None:
    with ExitStack() as held:
        for _number in range(20):
            held.enter_context(asked.line())
        assert asked.ask("GET", "/es/status").status == 200


def test_a_connection_serves_several_requests_and_not_without_end(asked: Agent) -> None:
    request = f"GET /es/status HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    assert asked.say(request * 150).count(b"HTTP/1.1 200 OK") == 100
    assert asked.say(request.replace(b"HTTP/1.1", b"HTTP/1.0") * 2).count(b"HTTP/1.1 200 OK") == 1


def test_no_answer_tells_a_path(asked: Agent) -> None:
    answers = [
        asked.ask("GET", "/es/status"),
        asked.ask("POST", "/es/start", {"checksum": SUM}),
        asked.ask("POST", "/es/start", {}),
        asked.ask("GET", "/nothing"),
    ]
    assert [answer.status for answer in answers] == [200, 409, 400, 404]
    assert not any(str(asked.place.folder) in str(answer) for answer in answers)


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (["--token-file", "--client-ca"], "no one could come in"),
        (["--certificate"], "--certificate"),
        (["--config"], "--config"),
    ],
)
def test_options_that_make_no_sense_are_refused(place: Place, without: list[str], said: str) -> None:
    given = place.options()
    for name in without:
        at = given.index(name)
        del given[at : at + 2]
    done = subprocess.run([sys.executable, PROGRAM, *given, "--", "true"], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr
