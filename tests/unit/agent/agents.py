"""Agents as real processes on this machine: each is PID 1 of a PID namespace of its own, if the machine permits it."""

from __future__ import annotations

import functools
import hashlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.lab.certificates import Authority, Identity
from tests.lab.waiting import until

PROGRAM = Path(__file__).resolve().parents[3] / "roles/restart/files/process_agent.py"
TOKEN = "a-token-that-is-long-enough"
PATIENCE = 60.0
"""Seconds until a test gives up; nothing is measured against them."""
HANDSHAKES = 5
"""The handshakes that may fail before a test does."""

SERVER = """
for each in INT HUP USR1 USR2 QUIT; do trap "echo got $each" $each; done
trap 'echo got TERM; exit 3' TERM
echo begun
while :; do tail -f /dev/null & wait $!; kill $!; done
"""
"""A stand-in for a server: it says which signals it gets, and ends with 3 at SIGTERM."""

Found = TypeVar("Found")


@functools.cache
def namespace() -> tuple[str, ...]:
    """The command that gives a PID namespace of its own, or nothing where that is not permitted."""
    for rights in ((), ("--user", "--map-root-user")):
        command = ("unshare", *rights, "--pid", "--fork", "--mount-proc", "--kill-child")
        try:
            if subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0:
                return command
        except FileNotFoundError:
            return ()
    return ()


@dataclass(frozen=True)
class Answer:
    """The answer to one request."""

    status: int
    said: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


class Place:
    """A folder with all files of an agent: what a pod would mount."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config, self.token = folder / "opensearch.yml", folder / "token"
        self.state = folder / "state"
        self.state.mkdir()
        self.authority, self.callers = Authority("agents"), Authority("callers")
        self.caller = self._written("caller", self.callers.issue("caller"))
        self.stranger = self._written("stranger", Authority("strangers").issue("caller"))
        self.renew()
        for name, authority in (("ca", self.authority), ("callers", self.callers)):
            (folder / f"{name}.pem").write_bytes(authority.certificate)
        self.config.write_text("cluster.name: one\n")
        self.token.write_text(f"{TOKEN}\n")

    def renew(self) -> None:
        """Writes another certificate for the agent."""
        self._written("agent", self.authority.issue("agent", ["127.0.0.1"]))

    def checksum(self) -> str:
        """The checksum of the configuration as it is now."""
        return hashlib.sha256(self.config.read_bytes()).hexdigest()

    def options(self) -> list[str]:
        """The options of an agent of this place."""
        given = {
            "config": self.config,
            "listen": "127.0.0.1:0",
            "certificate": self.folder / "agent.pem",
            "key": self.folder / "agent.key",
            "token-file": self.token,
            "client-ca": self.folder / "callers.pem",
            "state-directory": self.state,
        }
        return [part for name, value in given.items() for part in (f"--{name}", str(value))]

    def tls(self, client: Path | None = None) -> ssl.SSLContext:
        """The settings of a caller that trusts the agent."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        if client:
            context.load_cert_chain(client.with_suffix(".pem"), client.with_suffix(".key"))
        return context

    def _written(self, name: str, identity: Identity) -> Path:
        path = self.folder / name
        path.with_suffix(".pem").write_bytes(identity.certificate)
        path.with_suffix(".key").write_bytes(identity.key)
        return path


class Agent:
    """One agent that runs."""

    def __init__(self, place: Place, process: subprocess.Popen[bytes], log: Path) -> None:
        self.place, self._process, self._log = place, process, log
        self.port = 0

    @property
    def pid(self) -> int:
        """Its process, as this machine numbers it."""
        if not namespace():
            return self._process.pid
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return int(children[0])

    def processes(self) -> dict[int, str]:
        """The processes below it, by their numbers on this machine, with their states."""
        found, left = dict[int, str](), [self.pid]
        while left:
            for thread in Path(f"/proc/{left.pop()}/task").glob("*/children"):
                children = [int(child) for child in thread.read_text().split()]
                left += children
                for child in children:
                    with suppress(FileNotFoundError, ProcessLookupError):  # it may just have ended
                        found[child] = Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2][0]
        return found

    def kill(self) -> None:
        """Ends it and all that it has started, as the end of a container does."""
        for pid in [self.pid] if namespace() else [self.pid, *self.processes()]:
            os.kill(pid, signal.SIGKILL)
        self._process.wait(PATIENCE)

    def log(self) -> str:
        """The log of its container."""
        return self._log.read_text(errors="replace")

    def await_log(self, text: str, times: int = 1) -> None:
        """Waits until its log holds a text so many times."""
        self.await_that(f"{text!r} in the log", lambda: self.log().count(text) >= times)

    def await_that(self, what: str, look: Callable[[], Found | None]) -> Found:
        """Waits for something; its log says more if that never comes."""
        return until(f"{what}, after {self.log()!r},", look, PATIENCE)

    def await_status(self, **wanted: object) -> dict[str, Any]:
        """The status, once it has these values."""

        def look() -> dict[str, Any] | None:
            seen = self.ask("GET", "/es/status").said
            return seen if wanted.items() <= seen.items() else None

        return self.await_that(f"the status {wanted}", look)

    def ask(self, method: str, path: str, body: object = None, **how: Any) -> Answer:
        """The answer to one request on a connection of its own. `body` is bytes, or becomes JSON."""
        data = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        headers = how.get("headers", {"Authorization": f"Bearer {TOKEN}"})
        tls = self.place.tls(how.get("client"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=tls)
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return Answer(answer.status, json.loads(answer.read()), dict(answer.getheaders()))
        finally:
            connection.close()

    def stop(self, **body: object) -> Answer:
        """Asks for a stop."""
        return self.ask("POST", "/es/stop", body)

    def start(self, **body: object) -> Answer:
        """Asks for a start, on the configuration as it is if no checksum is given."""
        return self.ask(
            "POST", "/es/start", body if "checksum" in body else {"checksum": self.place.checksum(), **body}
        )

    @contextmanager
    def line(self) -> Iterator[ssl.SSLSocket]:
        """A connection over which a test says what it likes."""
        with self._connected() as connection:
            yield connection

    def _connected(self) -> ssl.SSLSocket:
        """A connection after its handshake. On a busy machine that may take longer than an agent waits for it."""
        for _attempt in range(HANDSHAKES):
            with suppress(ssl.SSLEOFError, ConnectionError):
                return self._handshaken()
        return self._handshaken()

    def _handshaken(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        return self.place.tls().wrap_socket(plain, server_hostname="127.0.0.1")

    def say(self, data: bytes) -> bytes:
        """All that comes back for these bytes."""
        said = b""
        with self.line() as connection:
            try:
                connection.sendall(data)
                while more := connection.recv(65_536):
                    said += more
            except ConnectionError:
                pass
        return said

    def signal(self, number: int) -> None:
        """Sends it a signal, as the kubelet does."""
        os.kill(self.pid, number)

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        return self._process.wait(PATIENCE)


@contextmanager
def agent(place: Place, command: Sequence[str] = ("sh", "-c", SERVER), options: Sequence[str] = ()) -> Iterator[Agent]:
    """An agent that is ready for requests; afterwards neither it nor anything that it has started is left."""
    log = place.folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*namespace(), sys.executable, str(PROGRAM), *place.options(), *options, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    running = Agent(place, process, log)
    try:
        running.await_log("Requests are taken at port ")
        running.port = int(running.log().split("Requests are taken at port ")[1].split(".")[0])
        yield running
    finally:
        if process.poll() is None:
            running.kill()
