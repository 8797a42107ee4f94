"""The records of the traffic: one JSON line an event, flushed at once, so that a kill loses nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

Kind = Literal["write", "search"]
Record = TypeVar("Record", bound="Operation | Health | Acknowledgement")


@dataclass(frozen=True)
class Operation:
    """One request: when it started (seconds since the epoch), how long it took, and why it failed if it did."""

    kind: Kind
    began: float
    seconds: float
    failure: str | None = None

    @property
    def ended(self) -> float:
        return self.began + self.seconds


@dataclass(frozen=True)
class Health:
    """The cluster's status as one look found it; ``unknown`` when no Ready member that was asked could say."""

    at: float
    status: str


@dataclass(frozen=True)
class Acknowledgement:
    """A document that the cluster said it has."""

    index: str
    id: str


FILES: dict[type, str] = {
    Operation: "operations.jsonl",
    Health: "health.jsonl",
    Acknowledgement: "acknowledged.jsonl",
}


@dataclass
class Log:
    """Appends records of one type to its file in the traffic's directory."""

    directory: Path
    kind: type

    def __post_init__(self) -> None:
        self._stream = (self.directory / FILES[self.kind]).open("a", encoding="utf-8")

    def append(self, *records: Operation | Health | Acknowledgement) -> None:
        self._stream.writelines(json.dumps(asdict(record)) + "\n" for record in records)
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


def read(directory: Path, kind: type[Record]) -> list[Record]:
    """Gives the records of one type; a last line cut short by a kill is left out, as nothing was promised by it."""
    path = directory / FILES[kind]
    return [kind(**content) for content in _lines(path)] if path.exists() else []


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if line.endswith("\n"):
                yield json.loads(line)


@dataclass(frozen=True)
class Clock:
    """Wall-clock time that never jumps: read once, then carried on by the monotonic clock."""

    wall: float = field(default_factory=time.time)
    monotonic: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        return self.wall + time.monotonic() - self.monotonic
