"""The lab's own log of what happened when: one JSON object a line, with monotonic and wall time."""

from __future__ import annotations

import datetime
import json
import time
from pathlib import Path
from typing import Any


def wall_time() -> str:
    """The time of day in UTC with microseconds, as Kubernetes writes a MicroTime."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class EventLog:
    """Appends events; each line is written at once, so that a killed lab leaves a readable log."""

    def __init__(self, path: Path) -> None:
        self._handle = path.open("a", buffering=1)

    def write(self, event: str, **fields: Any) -> None:
        """Write one event; `monotonic` is in seconds and comparable between processes of one boot."""
        line = {"event": event, "wall": wall_time(), "monotonic": round(time.monotonic(), 4), **fields}
        self._handle.write(json.dumps(line) + "\n")

    def close(self) -> None:
        self._handle.close()


def read_events(path: Path) -> list[dict[str, Any]]:
    """All events so far; a line that is being written is left out."""
    if not path.exists():
        return []
    whole, _newline, _rest = path.read_text().rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]
