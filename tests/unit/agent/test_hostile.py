"""The agent neither dies nor fails, whatever comes over the line: each answer is one of those that it promises."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.agent.agents import TOKEN, Agent

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
AUTHORIZED = f"Authorization: Bearer {TOKEN}\r\n".encode()
LINES = st.lists(
    st.sampled_from(
        [AUTHORIZED, b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Expect: 100-continue\r\n", b"\0\r\n"]
    )
    | st.binary(max_size=40).map(lambda line: line + b"\r\n"),
    max_size=5,
)
METHODS = st.sampled_from([b"GET", b"POST", b"", b"get"]) | st.binary(max_size=5)
PATHS = st.sampled_from([b"/es/status", b"/es/start", b"/es/stop", b"*", b"//es/stop"]) | st.binary(max_size=12)
VERSIONS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9"]) | st.binary(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10),
    st.lists,
    max_leaves=3,
)
FIELDS = st.sampled_from(["checksum", "request_id", "patience", "other"])


def status_of(answer: bytes) -> int | None:
    """The status of the first answer, which is whole; None if the connection was only closed."""
    if not answer:
        return None
    head, _empty, rest = answer.partition(b"\r\n\r\n")
    version, status, _phrase = head.split(b"\r\n")[0].split(b" ", 2)
    assert version == b"HTTP/1.1"
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    assert json.loads(rest[:length])
    return int(status)


@SHARED
@given(data=st.binary(max_size=200))
def test_random_bytes(asked: Agent, data: bytes) -> None:
    assert status_of(asked.say(data + b"\r\n\r\n")) in (400, 401, None)
    assert asked.ask("GET", "/es/status").said["running"]


@SHARED
@given(method=METHODS, path=PATHS, version=VERSIONS, lines=LINES, body=st.just(b"") | st.binary(min_size=5, max_size=5))
def test_requests_of_odd_parts(
    asked: Agent, method: bytes, path: bytes, version: bytes, lines: list[bytes], body: bytes
) -> None:
    data = b" ".join((method, path, version)) + b"\r\n" + b"".join(lines) + b"\r\n" + (body or b"xxxxx")
    status = status_of(asked.say(data))
    assert status in (200, 400, 401, 404, 405, None)
    if AUTHORIZED not in lines:
        assert status != 200
    assert asked.ask("GET", "/es/status").said["running"]


@SHARED
@given(fields=st.dictionaries(FIELDS, VALUES, max_size=3))
def test_bodies_of_odd_values(asked: Agent, fields: dict[str, object]) -> None:
    answer = asked.ask("POST", "/es/start", fields)
    assert answer.status == 400
    assert list(answer.said) == ["error"]
    assert asked.ask("GET", "/es/status").said["running"]
