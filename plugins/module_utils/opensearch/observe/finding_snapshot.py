"""The last successful snapshot is asked for in few requests, however many there are.

`verbose=false` reads a single file of a repository (server source, TransportGetSnapshotsAction), and shows names and
states but no times. Everything else reads one file for each snapshot, so it is asked only of those that are likely
the youngest by the time in their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from ...common.errors import Refusal
from ...common.reading import listed, part, text, texts
from ...common.timestamps import now_seconds
from .answers import reading
from .client import OpenSearchClient
from .last_snapshot import LastSnapshot, Saved, chunks, end_of, ended_well, likely_youngest


@dataclass
class _Reading:
    """One repository after another, and the youngest so far."""

    client: OpenSearchClient
    enough: float | None
    now: float
    last: LastSnapshot | None = None
    unread: int = 0
    unanswered: list[str] = field(default_factory=list)

    def repository(self, name: str) -> None:
        path = f"/_snapshot/{quote(name, safe='')}"
        wanted = "snapshots.snapshot,snapshots.state"
        answer = self.client.get(f"{path}/_all", verbose="false", ignore_unavailable="true", filter_path=wanted)
        with reading(f"GET {path}/_all", "last_snapshot"):
            found = listed(answer, "snapshots", lambda each: (text(each, "snapshot"), ended_well(each)), ())
        names = likely_youngest([each for each, well in found if well])
        for chunk in chunks(names):
            self._ages(name, path, chunk)
            names = names[len(chunk) :]
            if self.last is not None and (self.enough is None or self.last.age <= self.enough):
                break
        self.unread += len(names)

    def _ages(self, repository: str, path: str, names: Sequence[str]) -> None:
        fields = ("snapshot", "state", "end_time_in_millis")
        wanted = ",".join(f"snapshots.{each}" for each in fields)
        among = ",".join(quote(each, safe="") for each in names)
        answer = self.client.get(f"{path}/{among}", ignore_unavailable="true", filter_path=wanted)
        with reading(f"GET {path}/<names>", "last_snapshot"):
            for name, ended in listed(answer, "snapshots", end_of, ()):
                age = max(0.0, self.now - ended / 1000)
                if ended and (self.last is None or age < self.last.age):
                    self.last = LastSnapshot(f"{repository}/{name}", age)

    def with_indices(self) -> LastSnapshot | None:
        if self.last is None:
            return None
        repository, _slash, name = self.last.name.partition("/")
        path = f"/_snapshot/{quote(repository, safe='')}/{quote(name, safe='')}"
        answer = self.client.get(path, filter_path="snapshots.indices")
        with reading(f"GET {path}", "last_snapshot"):
            indices = listed(answer, "snapshots", lambda each: texts(each, "indices", ()), ())
        return LastSnapshot(self.last.name, self.last.age, frozenset(index for each in indices for index in each))


def observe_last_snapshot(client: OpenSearchClient, enough: float | None) -> Saved:
    """The last successful snapshot in any repository.

    With `enough`, its greatest age in seconds, all snapshots are read until one is that young. A repository that
    cannot be read is reported, and the others are read.

    Raises:
        Refusal: the names of the repositories cannot be read, although `enough` is given.
    """
    try:
        answer = client.get("/_snapshot", filter_path="*.type")
    except Refusal as error:
        if enough is not None:
            raise
        return Saved(unanswered=(error.verdict.reasons[0].message,))
    with reading("GET /_snapshot", "last_snapshot"):
        repositories = tuple(sorted(name for name in answer if part(answer, name)))
    found = _Reading(client, enough, now_seconds())
    for name in repositories:
        try:
            found.repository(name)
        except Refusal as error:
            found.unanswered.append(error.verdict.reasons[0].message)
    try:
        last = found.with_indices()
    except Refusal as error:
        found.unanswered.append(error.verdict.reasons[0].message)
        last = found.last
    return Saved(repositories, last, tuple(found.unanswered), found.unread)
