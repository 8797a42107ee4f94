"""The way other processes talk to a lab's daemon: JSON over a Unix socket that only the lab's owner may open."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.lab.api import ApiError
from tests.lab.errors import LabError

SOCKET = "control.sock"
LONGEST_PATH = 100
TIMEOUT = 30.0
Answerer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def socket_path(directory: Path) -> Path:
    """The socket of a lab. Raises LabError where its path is longer than a Unix socket's may be."""
    path = directory / SOCKET
    if len(str(path)) > LONGEST_PATH:
        raise LabError(f"The path {directory} is too long for a Unix socket; choose a shorter one with --directory.")
    return path


async def serve(directory: Path, answerers: dict[str, Answerer]) -> web.AppRunner:
    """Answer POST /<name> by the answerer of that name; a LabError becomes the asker's LabError."""

    async def answer(request: web.Request) -> web.Response:
        answerer = answerers.get(request.match_info["name"])
        if answerer is None:
            return web.json_response({"error": f"the lab does not know {request.path}"}, status=404)
        try:
            return web.json_response(await answerer(await request.json()))
        except (LabError, ApiError, KeyError) as error:
            return web.json_response({"error": str(error)}, status=400)

    application = web.Application()
    application.router.add_post("/{name}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    path = socket_path(directory)
    await web.UnixSite(runner, str(path)).start()
    path.chmod(0o600)
    return runner


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("lab", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(str(self._path))


def answers(directory: Path) -> bool:
    """Whether the daemon takes questions; its socket is a file before anything listens there."""
    try:
        ask(directory, "status")
    except LabError:
        return False
    return True


def ask(directory: Path, name: str, **question: Any) -> dict[str, Any]:
    """Ask a lab's daemon. Raises LabError when it refuses or does not run."""
    connection = _UnixConnection(socket_path(directory))
    try:
        connection.request("POST", f"/{name}", json.dumps(question), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    except (OSError, http.client.HTTPException) as error:
        raise LabError(
            f"No lab answers in {directory} ({error}); start one with `python -m tests.lab up`, "
            f"or clear away a dead one with `down`."
        ) from error
    finally:
        connection.close()
    if response.status != 200:
        raise LabError(str(answer["error"]))
    return answer
