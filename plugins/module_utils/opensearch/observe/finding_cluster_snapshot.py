"""The requests for the snapshot of an upgrade: its repository, what runs there, and how far it is."""

from __future__ import annotations

from urllib.parse import quote

from ...common.reading import entries, listed, part, text, within
from .answers import reading
from .client import OpenSearchClient
from .cluster_snapshot import PREFIX, OwnSnapshot, Repository, SnapshotShards, own_of, repository_of, shards_of


def path_of(repository: str, name: str = "") -> str:
    """The path of a repository, or of a snapshot in it."""
    return "/".join(("/_snapshot", quote(repository, safe=""), *((quote(name, safe="*"),) if name else ())))


def observe_repositories(client: OpenSearchClient) -> dict[str, Repository]:
    """All that are registered, by name."""
    answer = client.get("/_snapshot")
    with reading("GET /_snapshot"):
        return {name: repository_of(name, part(answer, name)) for name in answer}


def verify_repository(client: OpenSearchClient, name: str) -> int:
    """The number of members that can write to it, as each proves by a small file that is removed again.

    Raises:
        Refusal: one of them cannot.
    """
    path = f"{path_of(name)}/_verify"
    answer = client.post(path)
    with reading(f"POST {path}"):
        return len(part(answer, "nodes", {}))


def observe_running(client: OpenSearchClient) -> tuple[str, ...]:
    """The snapshots that are being taken in any repository, as `repository/name`."""
    answer = client.get("/_snapshot/_status", filter_path="snapshots.repository,snapshots.snapshot")
    with reading("GET /_snapshot/_status"):
        return listed(answer, "snapshots", lambda each: f"{text(each, 'repository')}/{text(each, 'snapshot')}", ())


def observe_own(client: OpenSearchClient, repository: str) -> dict[str, OwnSnapshot]:
    """The snapshots of a repository whose names start as those of upgrades, by name."""
    path = path_of(repository, f"{PREFIX}*")
    answer = client.get(path, ignore_unavailable="true")
    with reading(f"GET {path}"):
        return {each.name: each for each in listed(answer, "snapshots", own_of, ())}


def observe_shards(client: OpenSearchClient, repository: str, name: str) -> SnapshotShards:
    """The progress of a snapshot, or the final figures of one that has ended."""
    path = f"{path_of(repository, name)}/_status"
    answer = client.get(path, filter_path="snapshots.shards_stats,snapshots.stats")
    with reading(f"GET {path}"):
        (found,) = entries(answer, "snapshots")[:1] or ({},)
        return within({"snapshot": found}, "snapshot", shards_of)
