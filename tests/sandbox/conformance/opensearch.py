"""A story that is played on an OpenSearch cluster of three, real or in memory, and what is compared of its answers.

Everything that chance decides is left out: the elected manager is `E` in the story, the other two are `A` and `B`,
and copies are pinned where it matters which member has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.sandbox.opensearch.filter_path import filtered

RECORDED = Path(__file__).with_name("recorded") / "opensearch.json"
"""The recorded answers of real servers."""
FROM, TO = "2.19.6", "3.8.0"
NAMES = ("m-0", "m-1", "m-2")

_ID = re.compile(r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*[A-Z0-9])[A-Za-z0-9_-]{20,22}(?![A-Za-z0-9_-])")
_TASK = re.compile(r"<([ABE])>:\d+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_ADDRESS = re.compile(r"\b(?:127|10)\.\d+\.\d+\.\d+(:\d+)?")

BUSY = frozenset({"number_of_pending_tasks", "number_of_in_flight_fetch", "task_max_waiting_in_queue_millis"})
"""The fields whose values depend on how busy the machine is."""

Json = Any


class Servers(Protocol):
    """A cluster of the members m-0, m-1 and m-2, of which all are managers and hold data."""

    @property
    def repository(self) -> str:
        """A folder that all members may write snapshots to."""

    def ask(self, member: str, method: str, target: str, body: Json = None) -> tuple[int, Json]:
        """Status and body of the answer of a member; a text where it is not JSON."""

    def stop(self, member: str) -> None:
        """End a member."""

    def start(self, member: str, version: str) -> None:
        """Start a member on its disk, and wait until it answers."""

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait until a condition is true."""


@dataclass(frozen=True)
class Told:
    """One line of the story: what was asked, and what is compared of the answer."""

    line: str
    status: int
    body: Json

    def as_json(self) -> dict[str, Json]:
        """The line as it is recorded."""
        return {"line": self.line, "status": self.status, "body": self.body}


class Teller:
    """Plays the story on one cluster."""

    def __init__(self, servers: Servers, names: Sequence[str] = NAMES, table: str = "cluster_manager") -> None:
        """`table` is the one of `_cat` that names the elected manager."""
        self._servers = servers
        self._ids: dict[str, str] = {}
        _status, found = servers.ask(names[0], "GET", f"/_cat/{table}?format=json")
        elected = str(found[0]["node"])
        others = [name for name in names if name != elected]
        self.parts = {elected: "E", others[0]: "A", others[1]: "B"}
        """Member -> its part in the story."""
        self.members = {part: name for name, part in self.parts.items()}
        _status, nodes = servers.ask(names[0], "GET", "/_nodes/_all/_none")
        self._ids = {identity: self.parts[node["name"]] for identity, node in nodes["nodes"].items()}
        self.told: list[Told] = []

    def tell(
        self, line: str, body: Json = None, fields: str = "", *, by: str = "A", label: str = "", shape: bool = False
    ) -> Json:
        """Send a request, `METHOD /path`, in which {E}, {A} and {B} are members, and note what is compared of it.

        `fields` are those of the answer, written as in `filter_path`; nothing is all, and `-` nothing but the status.
        `label` replaces a body that partly depends on chance. With `shape`, every number is like every other.
        """
        method, _space, target = line.partition(" ")
        status, found = self._servers.ask(self.members[by], method, self._named(target), self._named(body))
        seen = None if fields == "-" else filtered(found, fields) if fields and status < 400 else found
        sent = label or (json.dumps(body) if body is not None else "")
        plain = self._plain(_without_numbers(seen) if shape else seen)
        self.told.append(Told(f"{line} {sent}".rstrip(), status, plain))
        return found

    def cancel(self, task: str) -> None:
        """End a task, whose id chance decides."""
        self._servers.ask(self.members["A"], "POST", f"/_tasks/{task}/_cancel")

    def until(self, what: str, line: str, holds: Callable[[Json], bool], *, by: str = "A") -> None:
        """Wait for an answer that is not compared."""
        method, _space, target = line.partition(" ")

        def so() -> bool:
            status, found = self._servers.ask(self.members[by], method, self._named(target))
            return status in {200, 408} and holds(found)

        self._servers.wait(what, so)

    def until_left(self, *, by: str = "A") -> None:
        """Wait until the one that was stopped has left, and the others have told which copies they hold.

        Until then the explanation of a shard is that this is not known (server source, `PrimaryShardAllocator`).
        """

        def left(found: Json) -> bool:
            return bool(found["number_of_nodes"] == len(self.parts) - 1 and not found["number_of_in_flight_fetch"])

        self.until("it to have left", "GET /_cluster/health", left, by=by)

    def stop(self, part: str) -> None:
        """End the member with that part."""
        self._servers.stop(self.members[part])

    def start(self, part: str, version: str) -> None:
        """Start the member with that part."""
        self._servers.start(self.members[part], version)

    def _named(self, text: Json) -> Json:
        if text is None:
            return None
        found = text if isinstance(text, str) else json.dumps(text)
        for part, name in self.members.items():
            found = found.replace(f"<{part}>", name)
        found = found.replace("<R>", self._servers.repository)
        return found if isinstance(text, str) else json.loads(found)

    def _plain(self, body: Json) -> Json:
        """Without what differs from cluster to cluster: ids, times and addresses."""
        text = json.dumps(body, sort_keys=True)
        for identity, part in self._ids.items():
            text = text.replace(identity, f"<{part}>")
        for name, part in self.parts.items():
            text = re.sub(rf'(?<=["\[ ]){name}(?=["\], \\\\])', f"<{part}>", text)
        text = _TASK.sub(r"<\1>:<task>", text)
        text = _ADDRESS.sub("<address>", _MOMENT.sub("<moment>", _ID.sub("<id>", text)))
        return _ordered(json.loads(text))


def _without_numbers(body: Json) -> Json:
    if isinstance(body, dict):
        return {name: _without_numbers(value) for name, value in body.items()}
    if isinstance(body, list):
        return [_without_numbers(each) for each in body]
    return "<number>" if isinstance(body, int) and not isinstance(body, bool) else body


def _ordered(body: Json) -> Json:
    """Lists of objects in an order that does not depend on chance."""
    if isinstance(body, dict):
        return {name: _ordered(value) for name, value in sorted(body.items()) if name not in BUSY}
    if isinstance(body, list):
        return sorted((_ordered(each) for each in body), key=lambda each: json.dumps(each, sort_keys=True))
    return body


def recorded(place: Path = RECORDED) -> list[Told]:
    """The recorded answers of real servers."""
    return [Told(**each) for each in json.loads(place.read_text(encoding="utf-8"))]


def record(told: list[Told], place: Path = RECORDED) -> None:
    """Keep the answers of real servers."""
    lines = ",\n".join(json.dumps(each.as_json()) for each in told)
    place.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def differences(told: list[Told], wanted: list[Told]) -> Iterator[str]:
    """The differences between two recordings of the story."""
    for number in range(max(len(told), len(wanted))):
        one = told[number] if number < len(told) else None
        other = wanted[number] if number < len(wanted) else None
        if one != other:
            yield f"{one}\n  and real servers have answered\n{other}"
