"""One limit for a request of either API, against servers that send a byte now and then, or ask to wait for an hour."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.packages import needed
from ansible_collections.stateful.upgrade.plugins.module_utils.common.time_limit import TimeLimit, retrying
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe import client as opensearch
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import answering

PATH = "/api/v1/namespaces/search/pods"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n"
BODY = b'{"items": []}' + b" " * 47


@contextmanager
def dripping(at_once: int) -> Iterator[str]:
    """A server that gives a whole answer, so many bytes of it at once, and then one every 20 ms."""
    closed = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while not closed.is_set():
                try:
                    talking, _address = listening.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(talking,), daemon=True).start()

        def answer(talking: socket.socket) -> None:
            try:
                with talking:
                    talking.recv(65536)
                    talking.sendall((HEAD + BODY)[:at_once])
                    for byte in (HEAD + BODY)[at_once:]:
                        if closed.wait(0.02):
                            return
                        talking.sendall(bytes([byte]))
                    closed.wait(5)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        closed.set()
        listening.shutdown(socket.SHUT_RDWR)


def ask_kubernetes(url: str, timeout: float, proxy: str | None = None) -> object:
    return kubernetes.connect({"host": url, "request_timeout": timeout, "proxy": proxy}).list(PATH)


def ask_opensearch(url: str, timeout: float, proxy: str | None = None) -> object:
    return opensearch.connect({"hosts": [url], "request_timeout": timeout, "proxy": proxy}).get("/_cluster/state")


APIS = pytest.mark.parametrize("ask", [ask_kubernetes, ask_opensearch])
Ask = Callable[..., object]


@APIS
@pytest.mark.parametrize("at_once", [0, len(HEAD), len(HEAD) + 1], ids=["head", "body", "middle"])
def test_an_answer_in_drips_is_no_answer(ask: Ask, at_once: int) -> None:
    with dripping(at_once) as url, pytest.raises(Unreachable, match=r"did not answer within 0\.2 s"):
        ask(url, 0.2)


@APIS
def test_a_proxy_in_drips_is_no_answer(ask: Ask) -> None:
    with dripping(0) as url, pytest.raises(Unreachable):
        ask("https://search.example.com", 0.2, proxy=url)


@APIS
def test_a_slow_answer_within_the_limit_is_one(ask: Ask) -> None:
    with dripping(len(HEAD) + len(BODY) - 3) as url:
        assert ask(url, 30) is not None


def test_a_request_that_may_take_longer_has_its_own_limit() -> None:
    with dripping(len(HEAD)) as url:
        client = opensearch.connect({"hosts": [url], "request_timeout": 0.1})
        with pytest.raises(Unreachable):
            client.get("/_cluster/state")
        assert client.post_once("/_flush", 30) == {"items": []}


@APIS
@pytest.mark.parametrize("status", [429, 503])
def test_nobody_waits_for_as_long_as_a_server_says(ask: Ask, status: int) -> None:
    with answering() as api:
        api.say(status, "too many requests", **{"Retry-After": "3600"})
        with pytest.raises(Unreachable, match=str(status)):
            ask(api.url, 2.0)
        assert len(api.asked) >= 2, "it is asked again, within the limit"


def test_each_request_has_the_whole_limit() -> None:
    seconds = [0.0]
    limit = TimeLimit(10, lambda: seconds[0])
    limit.begin()
    seconds[0] = 9.0
    assert limit.left() == 1.0
    seconds[0] = 10.0
    with pytest.raises(TimeoutError):
        limit.left()
    limit.begin()
    assert limit.left() == 10.0


def test_no_pause_goes_beyond_the_limit() -> None:
    seconds = [0.0]
    limit = TimeLimit(2, lambda: seconds[0])
    limit.begin()
    library = needed("urllib3", "urllib3")
    attempts = retrying(limit, total=10, backoff_factor=0.5)
    error = library.exceptions.ReadTimeoutError(None, "", "timed out")
    for _time in range(2):
        attempts = attempts.increment("GET", "/", error=error)
    assert attempts.get_backoff_time() == 1.0
    seconds[0] = 1.0
    with pytest.raises(library.exceptions.MaxRetryError) as caught:
        attempts.increment("GET", "/", error=error)
    assert caught.value.reason is error
