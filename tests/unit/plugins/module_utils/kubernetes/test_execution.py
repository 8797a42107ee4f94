"""Commands in containers over real websockets: answers that are odd, cut off, late, or too long; proxy and rights."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Denied, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.execution import (
    LARGEST,
    PROTOCOL,
    ContainerCommand,
    Ended,
    execute,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.proxy_server import proxying

COMMAND = ContainerCommand("search", "data-0", "server", ("sha256sum", "/a b"))
SUCCESS = b'\x03{"status": "Success"}'
Channels = web.WebSocketResponse
Tell = Callable[[Channels], Awaitable[object]]


@contextmanager
def answering(tell: Tell | web.Response) -> Iterator[tuple[str, list[web.Request]]]:
    """A server that answers every websocket in this way; its URL, and the requests that it got."""
    asked: list[web.Request] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        if isinstance(tell, web.Response):
            return tell
        channels = Channels(protocols=(PROTOCOL,), timeout=0.1)
        await channels.prepare(request)
        await tell(channels)
        await channels.close()
        return channels

    async def start() -> tuple[web.AppRunner, int]:
        application = web.Application()
        application.router.add_get("/{path:.*}", answer)
        runner = web.AppRunner(application, shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner, runner.addresses[0][1]

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner, port = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield f"http://127.0.0.1:{port}", asked
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def run(url: str, seconds: float = 10, **options: Any) -> Ended:
    return execute(connect({"host": url, **options}), COMMAND, seconds)


def messages(*them: bytes) -> Tell:
    async def tell(channels: Channels) -> None:
        for each in them:
            await channels.send_bytes(each)

    return tell


def failure(**status: Any) -> bytes:
    return b"\x03" + json.dumps({"status": "Failure", **status}).encode()


def test_output_and_errors_come_apart_and_the_words_go_as_they_are() -> None:
    with answering(messages(b"\x01", b"\x01one ", b"\x02bad", b"\x01two", b"\x07?", b"", SUCCESS)) as (url, asked):
        assert run(url) == Ended(0, "one two", "bad")
    query = asked[0].query
    assert (query.getall("command"), query["container"]) == (["sha256sum", "/a b"], "server")
    assert (query["stdout"], query["stderr"]) == ("true", "true")
    assert asked[0].path == "/api/v1/namespaces/search/pods/data-0/exec"


def test_an_exit_code_is_an_answer() -> None:
    causes = [{"reason": "ExitCode", "message": "143"}]
    with answering(messages(failure(reason="NonZeroExitCode", details={"causes": causes}))) as (url, _asked):
        assert run(url).code == 143


def test_more_than_is_kept_is_said_to_be_cut() -> None:
    parts = [b"\x01" + b"x" * (LARGEST // 2)] * 5
    with answering(messages(*parts, SUCCESS)) as (url, _asked):
        assert run(url) == Ended(0, "x" * LARGEST, "", cut=True)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (failure(message="Internal error occurred: no such thing."), "could not run sha256sum in container server"),
        (failure(reason="NonZeroExitCode", message="odd"), "odd"),
        (failure(), "no reason is given"),
        (b"\x03not JSON", "has not reported how"),
        (b"\x03[]", "has not reported how"),
        (failure(details=[]), "is not understood"),
    ],
)
def test_other_ends_are_told_in_a_sentence_without_the_words_of_the_command(status: bytes, said: str) -> None:
    with answering(messages(status)) as (url, _asked), pytest.raises(Refusal, match=said) as caught:
        run(url)
    assert "/a b" not in str(caught.value)


def test_a_connection_that_ends_first_leaves_open_what_has_been_done() -> None:
    with answering(messages(b"\x01half")) as (url, asked), pytest.raises(Unreachable) as caught:
        run(url)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "kubernetes_exec_no_end"
    assert "It may have done its work" in reason.message
    assert len(asked) == 1, "nothing is sent twice"


async def _talks_for_ever(channels: Channels) -> None:
    while not channels.closed:
        await channels.ping()
        await channels.send_bytes(b"\x01still here")
        await asyncio.wait({asyncio.ensure_future(channels.receive())}, timeout=0.02)


def test_the_limit_holds_for_the_whole_answer() -> None:
    with (
        answering(_talks_for_ever) as (url, _asked),
        pytest.raises(Unreachable, match=r"not reported within 0\.3 s"),
    ):
        run(url, seconds=0.3)


@pytest.mark.parametrize("said", ['pods "data-0" is forbidden: ', 'User "me" cannot get resource "pods/exec"'])
def test_a_missing_right_is_named_with_both_verbs(said: str) -> None:
    body = json.dumps({"kind": "Status", "message": said})
    with answering(web.Response(status=403, text=body)) as (url, _asked), pytest.raises(Denied) as caught:
        run(url)
    (reason,) = caught.value.verdict.reasons
    assert "is not allowed to create pods/exec/data-0 in namespace search" in reason.message
    assert 'resources: ["pods/exec"], verbs: ["get", "create"]' in reason.remedy


def test_an_admission_policy_is_no_missing_right() -> None:
    body = json.dumps({"kind": "Status", "message": 'pods "data-0" is forbidden: nobody may look into it'})
    with answering(web.Response(status=403, text=body)) as (url, _asked), pytest.raises(Refusal) as caught:
        run(url)
    assert caught.value.verdict.reasons[0].code == "kubernetes_refused"


def test_a_command_goes_through_the_proxy() -> None:
    with answering(messages(SUCCESS)) as (url, _asked):
        port = int(url.rpartition(":")[2])
        with proxying(port) as proxy:
            assert run("http://somewhere.example.com:6443", proxy=proxy.url).code == 0
            assert proxy.asked == [("CONNECT", "somewhere.example.com:6443")]
