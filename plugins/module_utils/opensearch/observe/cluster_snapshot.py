"""The repository, the running snapshots and the snapshots of upgrades: what a run has to know to take one. Pure.

Sources are the server's TransportGetSnapshotsAction (a pattern also finds the snapshot that is being taken, and
`verbose` gives its metadata), SnapshotInfo (a snapshot with failed shards ends PARTIAL, even if it was not asked to be
partial) and TransportSnapshotsStatusAction (which shows PARTIAL as SUCCESS, and leaves out `processed` once all bytes
are copied).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...common.reading import Json, flag, listed, optional_text, part, text, texts, whole

PREFIX = "upgrade-"
"""The start of the names of the snapshots of upgrades."""
MARK = "upgrade.stateful"
"""The key in the metadata of a snapshot with its cluster and its upgrade."""
IN_PROGRESS, SUCCESS = "IN_PROGRESS", "SUCCESS"


@dataclass(frozen=True)
class Repository:
    """A place for snapshots, as the cluster has it registered."""

    name: str
    kind: str
    read_only: bool


@dataclass(frozen=True)
class OwnSnapshot:
    """A snapshot whose name starts as those of upgrades do."""

    name: str
    state: str
    cluster: str = ""
    """The UUID of the cluster whose upgrade has taken it; empty where it has no mark of an upgrade."""
    upgrade: str = ""
    """The time at which that upgrade started."""
    run: str = ""
    """The run that has taken it; empty if that had no lock."""
    asked: str = ""
    """The names and patterns of the indices that it was asked for."""
    indices: tuple[str, ...] = ()
    shards: int = 0
    failed: int = 0
    failures: tuple[str, ...] = ()
    """One text for each failed shard."""
    global_state: bool = True
    started: int = 0
    """Milliseconds since 1970."""

    @property
    def runs(self) -> bool:
        """Whether it is still being taken."""
        return self.state == IN_PROGRESS

    @property
    def whole(self) -> bool:
        """Whether it holds each shard that it was to hold."""
        return self.state == SUCCESS and not self.failed


@dataclass(frozen=True)
class SnapshotShards:
    """The shards and bytes of one snapshot, of which some are done."""

    done: int
    failed: int
    total: int
    bytes_done: int
    bytes_total: int
    """The bytes that this snapshot copies; those of earlier ones in the repository are used again."""


def repository_of(name: str, of: Json) -> Repository:
    """A repository from its entry in the answer."""
    kind, settings = text(of, "type"), part(of, "settings", {})
    # A repository of type url can only be read. Settings are texts, and a mapping may have been given with a flag.
    return Repository(name, kind, kind == "url" or str(settings.get("readonly", "")).lower() == "true")


def own_of(each: Json) -> OwnSnapshot:
    """A snapshot from its entry in the answer."""
    metadata = part(each, "metadata", {})
    mark = part(metadata, MARK, {}) if isinstance(metadata.get(MARK), dict) else {}
    shards, ended = part(each, "shards", {}), listed(each, "failures", _failure, ())
    return OwnSnapshot(
        name=text(each, "snapshot"),
        state=text(each, "state"),
        cluster=optional_text(mark, "cluster") or "",
        upgrade=optional_text(mark, "upgrade") or "",
        run=optional_text(mark, "run") or "",
        asked=optional_text(mark, "indices") or "",
        indices=texts(each, "indices", ()),
        shards=whole(shards, "total", 0),
        failed=max(whole(shards, "failed", 0), len(ended)),
        failures=ended,
        global_state=flag(each, "include_global_state", True),
        started=whole(each, "start_time_in_millis", 0),
    )


def _failure(each: Json) -> str:
    index, cause = optional_text(each, "index") or "an index", optional_text(each, "reason") or "no cause is given"
    return f"{index}[{whole(each, 'shard_id', 0)}]: {cause}"


def shards_of(of: Json) -> SnapshotShards:
    """The figures from the status of a snapshot."""
    shards, stats = part(of, "shards_stats"), part(of, "stats", {})
    total = whole(part(stats, "incremental", {}), "size_in_bytes", 0)
    done = whole(part(stats, "processed", {}), "size_in_bytes", total)
    return SnapshotShards(whole(shards, "done"), whole(shards, "failed"), whole(shards, "total"), done, total)
