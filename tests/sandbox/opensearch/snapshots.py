"""Snapshots: a repository, and one being taken for as long as its bytes take at the rate that is allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tests.sandbox.opensearch.allocation import store_of
from tests.sandbox.opensearch.errors import ServerError, illegal
from tests.sandbox.opensearch.model import Copy, Index
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.values import names_of

_RATE = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}
RATE = "40mb"
LEAST = 0.5
"""Seconds that a shard takes at least."""


class Snapshots:
    """The repositories of a cluster, and what is written to them now."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._done: dict[tuple[str, str], dict[str, Any]] = {}
        self._sizes: dict[tuple[str, str], dict[tuple[str, int], int]] = {}
        self.failing: set[str] = set()
        """The indices whose shards cannot be written."""
        self.shut_out: set[str] = set()
        """The names of members that cannot write to any repository."""

    def register(self, name: str, body: Mapping[str, Any]) -> None:
        """Make a repository known.

        Raises:
            ServerError: a member may not write there.
        """
        settings = body.get("settings") or {}
        location = str(settings.get("location", ""))
        for node in self._state.nodes.values():
            allowed = names_of(node.spec.settings.get("path.repo"))
            if not any(location.startswith(each) for each in allowed):
                why = "this setting is empty" if not allowed else f"the setting is {allowed}"
                said = f"location [{location}] doesn't match any of the locations specified by path.repo because {why}"
                error = ServerError(500, "repository_exception", f"[{name}] failed to create repository")
                error.cause = {"caused_by": {"type": "repository_exception", "reason": f"[{name}] {said}"}}
                raise error
        self._state.repositories[name] = dict(body)
        self._state.changed()

    def forget(self, name: str) -> None:
        """Make a repository unknown; what is in it stays.

        Raises:
            ServerError: there is none, or it is being written to.
        """
        self._repository(name)
        if any(each["repository"] == name for each in self._state.snapshots):
            raise illegal(f"trying to modify or unregister repository [{name}] that is currently used")
        del self._state.repositories[name]
        self._state.changed()

    def _repository(self, name: str) -> dict[str, Any]:
        if name not in self._state.repositories:
            raise ServerError(404, "repository_missing_exception", f"[{name}] missing")
        return dict(self._state.repositories[name])

    def verify(self, name: str) -> list[str]:
        """The ids of the members that can write to a repository, which are all.

        Raises:
            ServerError: there is no such repository, or a member cannot write to it.
        """
        self._repository(name)
        shut = [each for each in self._state.nodes.values() if each.name in self.shut_out]
        if shut:
            said = f"[{name}] [[{shut[0].id}, 'RemoteTransportException[[{shut[0].name}]]; AccessDeniedException']]"
            raise ServerError(500, "repository_verification_exception", said)
        return list(self._state.nodes)

    def begin(
        self, repository: str, name: str, indices: Sequence[Index], body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Start to take one, as the body of the request says.

        Raises:
            ServerError: there is no such repository, it is read-only, there is one of that name already, or a primary
                is missing and the snapshot is not to be partial.
        """
        body = body or {}
        settings = self._repository(repository).get("settings") or {}
        if str(settings.get("readonly", "")).lower() == "true":
            said = f"[{repository}] cannot create snapshot in a readonly repository"
            raise ServerError(500, "repository_exception", said)
        key = repository, name
        if key in self._done or any((each["repository"], each["snapshot"]) == key for each in self._state.snapshots):
            kind, said = "invalid_snapshot_name_exception", "snapshot with the same name already exists"
            raise ServerError(400, kind, f"[{repository}:{name}] Invalid snapshot name [{name}], {said}")
        shards = [_part(index.primary(shard)) for index in indices for shard in index.shards]
        missing = [each["index"]["index_name"] for each in shards if each["state"] == "MISSING"]
        if missing and not body.get("partial"):
            said = f"[{repository}:{name}] Indices don't have primary shards {sorted(set(missing))}"
            raise ServerError(500, "snapshot_exception", said)
        self._sizes[key] = {
            (index.name, shard): self._bytes(index.primary(shard)) for index in indices for shard in index.shards
        }
        entry = {
            "repository": repository,
            "snapshot": name,
            "uuid": self._state.names.make(),
            "state": "STARTED",
            "include_global_state": body.get("include_global_state", True),
            "user_metadata": body.get("metadata"),
            "indices": [{"name": index.name, "id": index.uuid} for index in indices],
            "start_time_millis": round(self._state.clock.now() * 1000),
            "shards": shards,
        }
        self._state.snapshots.append(entry)
        found = _RATE.fullmatch(str(settings.get("max_snapshot_bytes_per_sec", RATE)))
        rate = int(found[1]) * 1024 ** _POWERS[found[2].lower()] if found else 40 * 1024**2
        for index in indices:
            for shard in index.shards:
                seconds = max(LEAST, self._bytes(index.primary(shard)) / rate)
                self._end_later(entry, index.name, shard, seconds)
        # One of the global state alone has no shard to wait for.
        self._state.clock.later(LEAST, lambda: self._settle(entry))
        self._state.changed()
        return entry

    def _bytes(self, copy: Copy) -> int:
        store = store_of(self._state, copy)
        return sum(len(json.dumps(each)) for each in store.documents.values()) if store else 0

    def _end_later(self, entry: dict[str, Any], index: str, shard: int, seconds: float) -> None:
        def end() -> None:
            for part in entry["shards"]:
                if (part["index"]["index_name"], part["shard"], part["state"]) == (index, shard, "INIT"):
                    fails = index in self.failing
                    part.update(
                        {"state": "FAILED", "reason": "No space left on device"} if fails else {"state": "SUCCESS"}
                    )
            self._settle(entry)

        self._state.clock.later(seconds, end)

    def _settle(self, entry: dict[str, Any]) -> None:
        """A snapshot of which nothing is still to be written is done."""
        if entry in self._state.snapshots and all(part["state"] != "INIT" for part in entry["shards"]):
            self._state.snapshots.remove(entry)
            whole = all(part["state"] == "SUCCESS" for part in entry["shards"])
            self._done[entry["repository"], entry["snapshot"]] = {
                **entry,
                "state": "SUCCESS" if whole else "PARTIAL",
                "end_time_millis": round(self._state.clock.now() * 1000),
            }
            self._state.changed()

    def left(self, gone: Collection[str]) -> None:
        """The snapshot lacks the shards that members had still to write when they went."""
        for entry in list(self._state.snapshots):
            for part in entry["shards"]:
                if part["node"] in gone and part["state"] == "INIT":
                    part.update(state="FAILED", reason="node shutdown")
            self._settle(entry)

    def remove(self, repository: str, name: str) -> None:
        """Remove one, or end one that is being taken.

        Raises:
            ServerError: there is none.
        """
        self._repository(repository)
        running = [e for e in self._state.snapshots if (e["repository"], e["snapshot"]) == (repository, name)]
        if not running and self._done.pop((repository, name), None) is None:
            raise ServerError(404, "snapshot_missing_exception", f"[{repository}:{name}] is missing")
        for entry in running:
            self._state.snapshots.remove(entry)
        self._state.changed()

    def find(self, repository: str, name: str, *, lenient: bool = False) -> list[dict[str, Any]]:
        """Those of a repository, running or done, by their names or all of them. To be lenient is to leave out others.

        Raises:
            ServerError: there is no such repository, or no such snapshot.
        """
        self._repository(repository)
        there = {
            e["snapshot"]: e for e in (*self._state.snapshots, *self._done.values()) if e["repository"] == repository
        }
        if name in {"_all", "*"}:
            return list(there.values())
        if "*" in name:
            return [each for named, each in there.items() if fnmatchcase(named, name)]
        wanted = name.split(",")
        missing = [each for each in wanted if each not in there]
        if missing and not lenient:
            raise ServerError(404, "snapshot_missing_exception", f"[{repository}:{missing[0]}] is missing")
        return [there[each] for each in wanted if each in there]

    def states(self) -> dict[tuple[str, str], str]:
        """The state of each one that is there, by repository and name."""
        there = (*self._state.snapshots, *self._done.values())
        return {(each["repository"], each["snapshot"]): each["state"] for each in there}

    def figures(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """The figures of one as its status shows them: `processed` is missing once all is copied."""
        sizes = self._sizes[entry["repository"], entry["snapshot"]]
        states = {(part["index"]["index_name"], part["shard"]): part["state"] for part in entry["shards"]}
        counts = {word: list(states.values()).count(state) for word, state in _COUNTED.items()}
        whole = {"file_count": len(sizes), "size_in_bytes": sum(sizes.values())}
        copied = [sizes[place] for place, state in states.items() if state == "SUCCESS"]
        processed = {"file_count": len(copied), "size_in_bytes": sum(copied)}
        more = {"processed": processed} if len(copied) < len(sizes) else {}
        return {
            "shards_stats": {"initializing": 0, "finalizing": 0, **counts, "total": len(states)},
            "stats": {"incremental": whole, **more, "total": whole},
        }


_COUNTED = {"started": "INIT", "done": "SUCCESS", "failed": "FAILED"}
"""The figures of a status by the states of shards."""


def _part(copy: Copy) -> dict[str, Any]:
    """A shard of a snapshot, written by the member with the primary."""
    about = {"index_name": copy.index.name, "index_uuid": copy.index.uuid}
    return {"index": about, "shard": copy.shard, "state": "INIT" if copy.node else "MISSING", "node": copy.node}
