"""Commands in containers, through the Kubernetes API (`pods/exec`).

The protocol is v4.channel.k8s.io: the first byte of each message is its channel, and the last message is a Status on
the channel for errors (k8s.io/apimachinery, pkg/util/remotecommand). A command that has been sent may do its work even
if the connection breaks, so nothing is sent twice, and the caller checks what it has done.
"""

from __future__ import annotations

import contextlib
import json
import socket
from dataclasses import dataclass, field
from threading import Timer
from typing import Any

from ..common.errors import NotUnderstood, Unreachable, refusal
from ..common.packages import needed
from ..common.reading import Json as Part
from ..common.reading import listed, part, text
from ..common.time_limit import TimeLimit
from .answers import reading
from .client import KubernetesClient
from .pods import pod_path

PROTOCOL = "v4.channel.k8s.io"
LARGEST = 64 * 1024
"""The bytes that are kept of the output, and of the errors. A checksum has 64, and a file may be asked for in parts."""
_OUTPUT, _ERRORS, _STATUS = 1, 2, 3
_MESSAGES = (1, 2)
"""The kinds of frames of a websocket that carry a text or bytes (RFC 6455)."""


@dataclass(frozen=True)
class ContainerCommand:
    """A command for one container; no shell reads it."""

    namespace: str
    pod: str
    container: str
    words: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The command in words for people. Its arguments may hold secrets, so the program alone is named."""
        return f"{self.words[0]} in container {self.container} of pod {self.pod} in namespace {self.namespace}"


@dataclass(frozen=True)
class Ended:
    """The end of a command. `cut` says that there was more output than is kept."""

    code: int
    output: str
    errors: str
    cut: bool = False


@dataclass
class _Said:
    """The parts of the answer that have come."""

    kept: dict[int, bytearray] = field(default_factory=lambda: {each: bytearray() for each in (_OUTPUT, _ERRORS)})
    status: bytearray = field(default_factory=bytearray)
    cut: bool = False

    def hear(self, message: bytes) -> None:
        channel, content = message[:1], message[1:]
        target = self.status if channel == bytes([_STATUS]) else self.kept.get(channel[0]) if channel else None
        if target is None:
            return
        room = LARGEST - len(target)
        target += content[:room]
        self.cut = self.cut or len(content) > room

    def read(self, channel: int) -> str:
        return self.kept[channel].decode("utf-8", "replace")


def execute(client: KubernetesClient, command: ContainerCommand, seconds: float) -> Ended:
    """Run a command in a container to its end, at most for some seconds. Any exit code is an answer.

    Raises:
        Denied: the user lacks the right to create (or get) pods/exec.
        Unreachable: no answer came, or none in time. The command may have been run, and may still run.
        Refusal: the container does not run, or it has no such program.
    """
    params = [("container", command.container), ("stdout", "true"), ("stderr", "true")]
    params += [("command", word) for word in command.words]
    channels = client.websocket(f"{pod_path(command.namespace, command.pod)}/exec", params, PROTOCOL)
    limit = TimeLimit(seconds)
    limit.begin()
    # A limit for each read would start again with each ping, and with each byte of an answer that comes slowly.
    ending = Timer(seconds, _cut, (channels.sock,))
    ending.daemon = True
    ending.start()
    try:
        said = _heard(channels)
    except (OSError, needed("websocket", "websocket-client").WebSocketException) as error:
        raise _without_end(client, command, error, limit) from error
    finally:
        ending.cancel()
        channels.shutdown()
    return _ended(client, command, said)


def _cut(connection: socket.socket) -> None:
    """End a connection in whose answer another thread reads; below TLS, whose objects belong to that thread."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _heard(channels: Any) -> _Said:
    """The whole answer, to the Status at its end."""
    said = _Said()
    while not said.status:
        opcode, message = channels.recv_data()
        if opcode not in _MESSAGES:
            raise OSError("the other end has closed it")
        said.hear(message)
    return said


def _ended(client: KubernetesClient, command: ContainerCommand, said: _Said) -> Ended:
    with reading(f"to {command.sentence}"):
        status = _status(bytes(said.status))
        if text(status, "status", "") == "Success":
            return Ended(0, said.read(_OUTPUT), said.read(_ERRORS), said.cut)
        codes = dict(listed(part(status, "details", {}), "causes", _cause, ()))
        if text(status, "reason", "") == "NonZeroExitCode" and codes.get("ExitCode", "").isdecimal():
            return Ended(int(codes["ExitCode"]), said.read(_OUTPUT), said.read(_ERRORS), said.cut)
        message = text(status, "message", "no reason is given").rstrip(".")
    raise refusal(
        "kubernetes_exec",
        f"The Kubernetes API at {client.host} could not run {command.sentence}: {message}.",
        "Check that the container runs and that its image has the program.",
    )


def _status(content: bytes) -> Part:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NotUnderstood.because(
            "kubernetes_not_understood",
            "The Kubernetes API has not reported how a command in a container has ended.",
            "Run again; if this lasts, see whether something between here and the API server changes websockets.",
        )
    return found


def _cause(item: Part) -> tuple[str, str]:
    return text(item, "reason", ""), text(item, "message", "")


def _without_end(
    client: KubernetesClient, command: ContainerCommand, error: BaseException, limit: TimeLimit
) -> Unreachable:
    in_time = f"has not reported within {limit.seconds:g} s"
    how = in_time if limit.seconds_left() <= 0 else f"has not reported, since the connection ended ({error}),"
    return Unreachable.because(
        "kubernetes_exec_no_end",
        f"The Kubernetes API at {client.host} {how} how {command.sentence} has ended. It may have done its work.",
        "Look at the container before it is run again.",
    )
