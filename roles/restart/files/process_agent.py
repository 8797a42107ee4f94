# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process manager as the entry point of a container: it stops and starts the server in it on request, over HTTPS.

It and supervised_process.py next to it need Python 3.10 or later on Linux, and nothing else. The API is that of the
design of cloud-on-k8s for restarts of processes in pods (2019). docs/restart_agent.md has all options and answers.
"""

from __future__ import annotations

import argparse
import ctypes
import hmac
import http.client
import io
import json
import os
import re
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from supervised_process import WATCHED, Memory, Process, Refused, content, log

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of linux/prctl.h."""
CONNECTIONS, REQUESTS = 16, 100
"""The most connections at a time, and the most requests of one of them."""
LINGERING = 1.0
"""Seconds to end a connection."""
LARGEST = 65_536
"""The most bytes of a body."""
SHORTEST_TOKEN = 16
LONGEST_PATIENCE = 3_600
NOT_RUNNABLE, WRONG_OPTIONS = 127, 2
CLOSED = {"Connection": "close"}
PATHS = {"/es/status": "GET", "/es/stop": "POST", "/es/start": "POST"}
CHECKSUM, REQUEST_ID = re.compile(r"[0-9a-f]{64}"), re.compile(r"[A-Za-z0-9._:-]{1,128}")
LENGTH = re.compile(r"[0-9]{1,15}")


class Drips(io.RawIOBase):
    """The bytes that come over a connection until a given time, however slowly they come."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        super().__init__()
        self._connection, self.end = connection, 0.0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some of them. A TimeoutError means that the time is over."""
        self._connection.settimeout(max(0.001, self.end - time.monotonic()))
        return self._connection.recv_into(buffer)


class Request:
    """One request, read as strictly as it can be."""

    def __init__(self, file: io.BufferedReader[Any], line: bytes) -> None:
        try:
            self.method, self.path, version = line.decode("ascii").removesuffix("\n").removesuffix("\r").split(" ")
            headers = http.client.parse_headers(file)
        except (ValueError, http.client.HTTPException):
            raise Refused(400, "The request is not one of HTTP/1.1.") from None
        if version not in ("HTTP/1.1", "HTTP/1.0"):
            raise Refused(400, "The request is not one of HTTP/1.1.")
        self.authorization = str(headers.get("Authorization", ""))
        self.is_last = version == "HTTP/1.0" or str(headers.get("Connection", "")).lower() == "close"
        self._headers, self._file = headers, file

    def body(self, *known: str) -> dict[str, Any]:
        """The fields of the body, all of which are known."""
        lengths = self._headers.get_all("Content-Length", ["0"])
        if "Transfer-Encoding" in self._headers or len(lengths) != 1 or not LENGTH.fullmatch(str(lengths[0])):
            raise Refused(400, "The length of the body has to be given once, as Content-Length.")
        if int(lengths[0]) > LARGEST:
            raise Refused(413, f"The body has more than {LARGEST} bytes.")
        data = self._file.read(int(lengths[0]))
        if len(data) < int(lengths[0]):
            raise Refused(400, "The body is shorter than its Content-Length.")
        try:
            found = json.loads(data.decode()) if data else {}
        except (RecursionError, ValueError):
            raise Refused(400, "The body is not JSON.") from None
        if not isinstance(found, dict) or not found.keys() <= set(known):
            named = ", ".join(known) or "none"
            raise Refused(400, f"The body has to be an object with these fields only: {named}.")
        return found


def checksum_of(body: dict[str, Any]) -> str:
    """The checksum that is expected."""
    found = body.get("checksum")
    if not isinstance(found, str) or not CHECKSUM.fullmatch(found):
        raise Refused(400, "The field checksum has to be a SHA-256 in 64 digits of 0-9 and a-f.")
    return found


def request_of(body: dict[str, Any]) -> str | None:
    """The identity of the request, if it has one."""
    found = body.get("request_id")
    if found is not None and not (isinstance(found, str) and REQUEST_ID.fullmatch(found)):
        raise Refused(400, "The field request_id has to be a text of 1 to 128 letters, digits and . _ : -")
    return found


def patience_of(body: dict[str, Any]) -> float | None:
    """The seconds until the process is killed, if they are given."""
    found = body.get("patience")
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    if found is not None and not (number and 0 <= found <= LONGEST_PATIENCE):
        raise Refused(400, f"The field patience has to be a number of seconds from 0 to {LONGEST_PATIENCE}.")
    return found


def written(status: HTTPStatus, said: Mapping[str, object], headers: Mapping[str, str]) -> bytes:
    """An answer as it goes over the line."""
    body = json.dumps(said).encode() + b"\n"
    usual = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Cache-Control": "no-store"}
    lines = [f"{name}: {value}" for name, value in {**usual, **headers}.items()]
    return "\r\n".join([f"HTTP/1.1 {status.value} {status.phrase}", *lines, "", ""]).encode() + body


class Door:
    """Answers callers with a token or certificate over HTTPS, and refuses all others."""

    def __init__(self, options: argparse.Namespace, process: Process) -> None:
        self._options, self._process = options, process
        self._context: ssl.SSLContext | None = None
        self._seen: list[tuple[int, int]] = []
        """The files of the context, by the time of their last change and their inode."""
        self._tls()
        host, port = options.listen
        both = not host and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=64, dualstack_ipv6=both)
        log(f"Requests are taken at port {self._socket.getsockname()[1]}.")

    def open(self) -> None:
        """Take requests from now on."""
        for _number in range(CONNECTIONS):
            threading.Thread(target=self._serve, daemon=True).start()

    def _tls(self) -> ssl.SSLContext:
        """The context from the present files: certificates are renewed while the agent runs."""
        files = [
            self._options.certificate,
            self._options.key,
            *([self._options.client_ca] if self._options.client_ca else []),
        ]
        seen = [(found.st_mtime_ns, found.st_ino) for found in map(os.stat, files)]
        if self._context is None or seen != self._seen:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(files[0], files[1], "")
            if self._options.client_ca:
                context.verify_mode = ssl.CERT_OPTIONAL
                context.load_verify_locations(self._options.client_ca)
            self._context, self._seen = context, seen
        return self._context

    def _serve(self) -> None:
        while True:
            try:
                connection, address = self._socket.accept()
                with connection:
                    self._receive(connection, str(address[0]))
            except OSError:
                # The caller is gone, or too slow, or does not speak TLS. The pause is for a lack of memory or of files.
                time.sleep(0.01)
            except Exception as error:  # noqa: BLE001 - unforeseen; without its threads the agent would be deaf
                log(f"A request was dropped because of an unforeseen fault: {type(error).__name__}.")

    def _receive(self, connection: socket.socket, caller: str) -> None:
        connection.settimeout(self._options.request_timeout)
        # Without this an answer waits up to 40 ms for an acknowledgement.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            context = self._tls()
        except OSError as error:
            log(f"Requests cannot be taken: {error}.")
            return
        with context.wrap_socket(connection, server_side=True) as secured:
            self._converse(secured, caller)
            _linger(secured)

    def _converse(self, connection: ssl.SSLSocket, caller: str) -> None:
        drips = Drips(connection)
        file = io.BufferedReader(drips)
        for left in range(REQUESTS, 0, -1):
            drips.end = time.monotonic() + self._options.request_timeout
            line = file.readline(LARGEST)
            if not line:
                return
            try:
                request = Request(file, line)
                said = self._answer(request, connection, caller)
                more = left > 1 and not request.is_last
                connection.sendall(written(HTTPStatus.OK, said, {} if more else CLOSED))
            except Refused as refused:
                state = self._process.status() if refused.status == HTTPStatus.CONFLICT else {}
                headers = {**CLOSED, **refused.headers}
                connection.sendall(written(HTTPStatus(refused.status), {"error": str(refused), **state}, headers))
                return
            if not more:
                return

    def _answer(self, request: Request, connection: ssl.SSLSocket, caller: str) -> dict[str, object]:
        if not self._knows(request.authorization, connection):
            raise Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized.", **{"WWW-Authenticate": "Bearer"})
        method = PATHS.get(request.path)
        if method is None:
            raise Refused(404, f"The paths are {', '.join(PATHS)}.")
        if request.method != method:
            raise Refused(405, f"This path takes {method} only.", Allow=method)
        if method == "GET":
            request.body()
            return self._process.status()
        if request.path == "/es/stop":
            body = request.body("request_id", "patience")
            changed = self._process.stop(request_of(body), patience_of(body))
        else:
            body = request.body("request_id", "checksum")
            changed = self._process.start(request_of(body), checksum_of(body))
        log(f"{caller} asked for {request.path}, which {'is carried out' if changed else 'changes nothing'}.")
        return {"changed": changed, **self._process.status()}

    def _knows(self, authorization: str, connection: ssl.SSLSocket) -> bool:
        if connection.getpeercert():
            return True
        kind, _space, token = authorization.partition(" ")
        try:
            known = content(self._options.token_file).split() if self._options.token_file else []
        except OSError:
            known = []
        given = token.strip().encode("latin-1", "replace")
        equal = [hmac.compare_digest(given, each) for each in known if len(each) >= SHORTEST_TOKEN]
        return kind.lower() == "bearer" and any(equal)


def _linger(connection: ssl.SSLSocket) -> None:
    """Take what the caller still sends: if it met a closed connection, the caller would not see its answer."""
    end = time.monotonic() + LINGERING
    connection.shutdown(socket.SHUT_WR)
    while time.monotonic() < end:
        connection.settimeout(LINGERING)
        if not connection.recv(LARGEST):
            return


def place(text: str) -> tuple[str, int]:
    """The host, empty for all, and the port of `--listen`."""
    host, _colon, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; what follows -- is the command."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description="Stops and starts a server on request.", usage="%(prog)s … -- command …"
    )
    parser.add_argument(
        "--config", action="append", required=True, help="a file that the server reads; may be repeated"
    )
    parser.add_argument("--listen", type=place, default=("", 9443), help="[host]:port")
    parser.add_argument(
        "--certificate", required=True, help="file with the certificate, and those between it and its CA"
    )
    parser.add_argument("--key", required=True, help="file with the key of the certificate")
    parser.add_argument("--token-file", help="file with the tokens of callers, one or two, of at least 16 characters")
    parser.add_argument("--client-ca", help="file with a CA; whoever has a certificate of it may come in")
    parser.add_argument("--state-directory", help="a directory that outlives the container, such as an emptyDir")
    parser.add_argument("--patience", type=float, default=120, help="seconds from SIGTERM to SIGKILL")
    parser.add_argument("--expected-checksum", help="the configuration that the very first start waits for")
    parser.add_argument("--request-timeout", type=float, default=10, help="seconds for a handshake, and for a request")
    options = parser.parse_args(arguments[:cut])
    options.command = list(arguments[cut + 1 :])
    if not options.command:
        parser.error("a command has to follow, after --")
    if not options.token_file and not options.client_ca:
        parser.error("no one could come in: give --token-file or --client-ca")
    return options


def main(arguments: Sequence[str]) -> int:
    """Runs until the container has to end; the result is its exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    options = options_of(arguments)
    if os.getpid() != 1:
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    process = Process(options.command, options.config, Memory(options.state_directory), options.patience)
    try:
        door = Door(options, process)
    except OSError as error:
        log(f"Requests cannot be taken: {error}.")
        return WRONG_OPTIONS
    try:
        process.begin(options.expected_checksum)
        door.open()
        code = None
        while code is None:
            seen = signal.sigtimedwait(WATCHED, process.pause())
            if seen and seen.si_signo != signal.SIGCHLD:
                process.forward(seen.si_signo)
            code = process.tend()
    except OSError as error:
        log(f"The command of the process cannot be run: {error.strerror}.")
        return NOT_RUNNABLE
    process.end()
    return code


if __name__ == "__main__":
    # The threads are not waited for: each of them may be in the middle of a request.
    os._exit(main(sys.argv[1:]))
