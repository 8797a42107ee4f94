"""The kubelet's part of `pods/exec`: a command in a container, over a websocket.

The protocols are v4.channel.k8s.io and v5.channel.k8s.io (k8s.io/apimachinery, pkg/util/remotecommand): the first byte
of each message is its channel. The last message is a Status on the channel for errors, as the API server writes it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

from aiohttp import WSMsgType, web

from tests.lab.api import Json
from tests.lab.faults import PodName
from tests.lab.kubelet.execution import Ended, Executor

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
OUTPUT, ERRORS, STATUS = b"\x01", b"\x02", b"\x03"
CHUNK = 32 * 1024

FindExecutor = Callable[[PodName, str], Executor | None]
"""Gives the executor of a pod's container; None if the container does not run."""


class Commands:
    """Runs the commands of users."""

    def __init__(self, find: FindExecutor) -> None:
        self._find = find

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Run one command; it is killed if the user goes away before it has ended."""
        namespace, pod, container = (request.match_info[each] for each in ("namespace", "pod", "container"))
        executor, command = self._find((namespace, pod), container), request.query.getall("command", [])
        if executor is None:
            return web.Response(status=500, text=f'container not found ("{container}")')
        if not command or request.query.get("input") or request.query.get("tty"):
            return web.Response(status=400, text="the lab runs commands without input and terminal only")
        channels = web.WebSocketResponse(protocols=PROTOCOLS)
        if not channels.can_prepare(request).ok or channels.can_prepare(request).protocol is None:
            return web.Response(status=400, text=f"exec needs a websocket with one of {', '.join(PROTOCOLS)}")
        await channels.prepare(request)
        wanted = [channel for name, channel in (("output", OUTPUT), ("error", ERRORS)) if request.query.get(name)]
        await channels.send_bytes(wanted[0] if wanted else STATUS)  # as the real one, to say that it is open
        running = asyncio.create_task(_told(executor, command))
        leaving = asyncio.create_task(_until_closed(channels))
        try:
            await asyncio.wait({running, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                for message in running.result():
                    if message[:1] in (STATUS, *wanted):
                        await channels.send_bytes(message)
        except ConnectionError:
            return channels
        finally:
            running.cancel()
            leaving.cancel()
            await asyncio.wait({running, leaving})
        await channels.close()
        return channels


async def _until_closed(channels: web.WebSocketResponse) -> None:
    while (await channels.receive()).type not in (
        WSMsgType.CLOSE,
        WSMsgType.CLOSED,
        WSMsgType.CLOSING,
        WSMsgType.ERROR,
    ):
        pass


async def _told(executor: Executor, command: Sequence[str]) -> list[bytes]:
    try:
        return messages_of(command, await executor.for_user(command))
    except FileNotFoundError:
        return [without_program(command[0])]
    except OSError as error:
        return [failed(str(error.strerror))]


def messages_of(command: Sequence[str], ended: Ended) -> list[bytes]:
    """The messages about the end of a command."""
    found = [
        channel + content[start : start + CHUNK]
        for channel, content in ((OUTPUT, ended.output), (ERRORS, ended.errors))
        for start in range(0, len(content), CHUNK)
    ]
    if not ended.code:
        return [*found, _status({"status": "Success"})]
    said = f"error executing command [{' '.join(command)}], exit code {ended.code}"
    cause = {"reason": "ExitCode", "message": str(ended.code)}
    failure = {
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {said}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [cause]},
    }
    return [*found, _status(failure)]


def without_program(program: str) -> bytes:
    """The message about a command that the image does not have."""
    return failed(f'exec: "{program}": executable file not found in $PATH: unknown')


def failed(why: str) -> bytes:
    """The message about a command that could not be started."""
    start = "failed to exec in container: failed to start exec: OCI runtime exec failed: exec failed: "
    said = f"error executing command in container: {start}unable to start container process: {why}"
    return _status(
        {
            "status": "Failure",
            "message": f"Internal error occurred: {said}",
            "reason": "InternalError",
            "details": {"causes": [{"message": said}]},
            "code": 500,
        }
    )


def _status(content: Json) -> bytes:
    return STATUS + json.dumps({"metadata": {}, **content}).encode()
