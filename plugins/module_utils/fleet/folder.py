"""The folder that keeps the record of a fleet: a file for its waves, and one for each cluster.

Each cluster is written only by its own process, so no two write the same file, and each file is replaced as a whole.
Plans are kept apart, so that a look at them changes no record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..common.errors import refusal
from ..common.files import replace_file
from ..common.reading import Json, Unreadable, parsed, text, whole
from .fleet_record import Cluster, FleetPlan, cluster_from, waves_from

PRIVATE = 0o700
_FLEET, _ARRANGED, _CANCELLED = "fleet.json", "arranged.json", "cancelled.json"
_CLUSTERS, _PLANS = "clusters", "plans"


@dataclass(frozen=True)
class Folder:
    """The folder of a fleet. All of its methods raise Refusal if it cannot be used."""

    path: Path

    def log_of(self, cluster: str) -> Path:
        """The file for the output of a cluster's upgrade."""
        return self.path / _CLUSTERS / f"{_file(cluster)}.log"

    def log_of_plan(self, cluster: str) -> Path:
        """The file for the output of a cluster's plan."""
        return self.path / _PLANS / f"{_file(cluster)}.log"

    def read(self) -> FleetPlan:
        """The fleet and its clusters; empty ones if nothing was written yet."""
        place = self.path / _FLEET
        data = self._data(place)
        with self._reading(place):
            waves, digest, failures = waves_from(data), text(data, "digest", ""), whole(data, "failures", 0)
        clusters = self.clusters([name for wave in waves for name in wave.clusters])
        return FleetPlan(waves, failures, digest, clusters, self.is_cancelled())

    def clusters(self, names: Collection[str]) -> dict[str, Cluster]:
        """Those of these clusters that have a file. Other files may be of an earlier run with other clusters."""
        return self._those(names, _CLUSTERS)

    def plans(self, names: Collection[str]) -> dict[str, Cluster]:
        """Those of these clusters that were planned."""
        return self._those(names, _PLANS)

    def _those(self, names: Collection[str], kind: str) -> dict[str, Cluster]:
        found = {name: self._cluster(self.path / kind / f"{_file(name)}.json") for name in names}
        return {name: cluster for name, cluster in found.items() if cluster is not None}

    def _cluster(self, place: Path) -> Cluster | None:
        data = self._data(place)
        with self._reading(place):
            return cluster_from(data) if data else None

    def write(self, fleet: FleetPlan) -> None:
        """Write the waves, the limit and the digest."""
        waves = [{"name": wave.name, "clusters": list(wave.clusters)} for wave in fleet.waves]
        self._replace(self.path / _FLEET, {"digest": fleet.digest, "failures": fleet.failures, "waves": waves})

    def put(self, cluster: Cluster) -> None:
        """Write how far a cluster is. If its upgrade has ended, a refusal says how: the record cannot."""
        ended = f"The upgrade of {cluster.name} has ended, and it is {cluster.state}" if cluster.ended else ""
        said = f" {ended}: {cluster.cause.rstrip('.')}." if ended and cluster.cause else f" {ended}." if ended else ""
        self._replace(self.path / _CLUSTERS / f"{_file(cluster.name)}.json", cluster.as_data(), said)

    def keep_log(self, cluster: str, text: str) -> None:
        """Keep the output of a cluster's upgrade that has run elsewhere."""
        path = self.log_of(cluster)
        with self._writing(path):
            path.parent.mkdir(PRIVATE, parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")

    def cancel(self) -> None:
        """Note that the run is cancelled: nothing more is started until a plan is agreed to again.

        The file is empty, since a full disk has no room for more, and must not keep the run going.
        """
        path = self.path / _CANCELLED
        with self._writing(path):
            path.parent.mkdir(PRIVATE, parents=True, exist_ok=True)
            path.touch()

    def arrange(self) -> None:
        """Note that a run begins to make its plans, and which cancellation is older than it."""
        self._replace(self.path / _ARRANGED, {"cancelled": self._cancelled_at()})

    def resume(self) -> None:
        """Remove the note of a cancellation, unless it is newer than the plans: then it is of this very run."""
        if self._cancelled_at() == self._data(self.path / _ARRANGED).get("cancelled"):
            with self._writing(self.path), suppress(FileNotFoundError):
                os.unlink(self.path / _CANCELLED)

    def _cancelled_at(self) -> int:
        """The time of the last cancellation in nanoseconds, by the clock of the file system; 0 without any."""
        try:
            return (self.path / _CANCELLED).stat().st_mtime_ns
        except OSError:
            return 0

    def is_cancelled(self) -> bool:
        """Whether the run is cancelled. It is not while the folder cannot be read, which must end no upgrade."""
        return os.path.exists(self.path / _CANCELLED)

    def put_plan(self, cluster: Cluster) -> None:
        """Write the plan of a cluster."""
        self._replace(self.path / _PLANS / f"{_file(cluster.name)}.json", cluster.as_data())

    def _data(self, path: Path) -> Json:
        """The content of a file; empty if it does not exist."""
        with self._reading(path):
            try:
                return parsed(path.read_text(encoding="utf-8"))
            except FileNotFoundError:
                return {}

    @contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, Unreadable) as error:
            raise refusal(
                "fleet_record_unreadable",
                f"The record of the fleet in {path} cannot be read: {error}.",
                "Correct the file, or remove it; each cluster has a record of its own.",
            ) from error

    def _replace(self, path: Path, data: Mapping[str, Any], said: str = "") -> None:
        with self._writing(path, said):
            path.parent.mkdir(PRIVATE, parents=True, exist_ok=True)
            replace_file(str(path), json.dumps(data, indent=1, sort_keys=True) + "\n")

    @contextmanager
    def _writing(self, path: Path, said: str = "") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise refusal(
                "fleet_record_unwritten",
                f"The record of the fleet cannot be written to {path}: {error.strerror}.{said}",
                "Free space there, or set upgrade_fleet_path to a folder that may be written, and run the fleet again.",
            ) from error


def _file(cluster: str) -> str:
    """The name of a cluster as the name of a file, another one for each cluster."""
    return quote(cluster, safe="")
