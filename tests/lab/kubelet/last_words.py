"""The message that a container leaves for the status of its pod (terminationMessagePath), as Kubernetes has it."""

from __future__ import annotations

from pathlib import Path

from tests.lab.api import Json
from tests.lab.kubelet.place import PodPlace

DEFAULT = "/dev/termination-log"
MOST = 4096
"""Bytes of the file that count."""
MOST_OF_LOG, LINES_OF_LOG = 2048, 80
"""Bytes and lines of the log that take the place of an empty file, if the container asks for it and has failed."""


def place_for(place: PodPlace, container: Json) -> tuple[str, Path]:
    """The path of the message in the container, and an empty file of this machine for it."""
    file = _file(place, container)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    file.chmod(0o666)
    return container.get("terminationMessagePath", DEFAULT), file


def of(place: PodPlace, container: Json, code: int, log: Path) -> str:
    """The message of a container that has ended with this exit code."""
    file = _file(place, container)
    said = file.read_bytes()[:MOST] if file.exists() else b""
    if not said and code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError" and log.exists():
        said = b"".join(log.read_bytes()[-MOST_OF_LOG:].splitlines(keepends=True)[-LINES_OF_LOG:])
    return said.decode(errors="replace")


def _file(place: PodPlace, container: Json) -> Path:
    return place.directory / "messages" / str(container["name"])
