"""Single jars from a repository: one that does not answer is asked again, and one without the jar is named."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lab.errors import LabError
from tests.lab.opensearch.locks import Coordinate
from tests.lab.opensearch.maven import fetch_jar

JAR = Coordinate("org.example", "jar", "1.0")
CONTENT = b"the jar" * 20_000


class Repository(BaseHTTPRequestHandler):
    """Has one jar, and breaks off its first answer half-way."""

    protocol_version = "HTTP/1.1"
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path != "/org/example/jar/1.0/jar-1.0.jar":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT if len(self.asked) > 1 else CONTENT[:1000])
        self.close_connection = len(self.asked) == 1

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Stay silent."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths that a repository of this test was asked for."""
    Repository.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Repository) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = SimpleNamespace(remote_repos={"test": f"http://127.0.0.1:{server.server_port}"})
        monkeypatch.setattr("tests.lab.opensearch.maven.MavenContext", lambda **_: found)
        yield Repository.asked
        server.shutdown()


def test_a_jar_that_broke_off_is_fetched_again(asked: list[str], tmp_path: Path) -> None:
    assert fetch_jar(JAR, tmp_path).read_bytes() == CONTENT
    assert len(asked) == 2


def test_a_jar_that_is_not_there_is_named(asked: list[str], tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"The jar org\.example:other:1\.0 could not be fetched .*404"):
        fetch_jar(Coordinate("org.example", "other", "1.0"), tmp_path)
    assert len(asked) == 3
