"""The record of a fleet: its waves, and for each cluster how far it is and where its own record is. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from ..common.reading import listed, read_as
from ..common.words import duration, enumerate_few, first_few
from .launching import Launch
from .waves import Wave

PLANNED, REFUSED, NOT_BEGUN = "planned", "refused", "not begun"
UPGRADING, DONE, WAITING, FAILED = "upgrading", "done", "waiting", "failed"
STATES = (PLANNED, REFUSED, NOT_BEGUN, UPGRADING, DONE, WAITING, FAILED)
BAD = (REFUSED, FAILED)
"""The states that count as failures."""
_DIGITS = 11


@dataclass(frozen=True)
class Cluster:
    """A cluster of the fleet."""

    name: str
    state: str
    wave: str = ""
    digest: str = ""
    """The digest of its plan, to which the run of the fleet consents."""
    plan: str = ""
    """The first line of its plan."""
    cause: str = ""
    """One or more sentences for a cluster that has failed, that waits, or that was not started."""
    codes: tuple[str, ...] = ()
    began: str = ""
    ended: str = ""
    """Times in RFC 3339."""
    since: str = ""
    """The start of its first upgrade after which it has not proven itself; empty if it has, or need not."""
    seconds: float = 0.0
    record: str = ""
    """The place of its own record."""
    log: str = ""
    """The file with the output of its last run."""
    launch: Launch | None = None
    """The last launch of a job that upgrades it elsewhere."""

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "codes": list(self.codes)}


@dataclass(frozen=True)
class FleetPlan:
    """The waves of a run, and how many failures end it."""

    waves: tuple[Wave, ...]
    failures: int
    """The number of failed clusters after which no further one starts; with 0 it continues whatever happens."""
    digest: str = ""
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    cancelled: bool = False
    """Whether no further cluster may start, even if none failed."""

    def wave_of(self, name: str) -> str:
        """The name of a cluster's wave; empty if it has none."""
        return next((wave.name for wave in self.waves if name in wave.clusters), "")


def cluster_from(data: Mapping[str, Any]) -> Cluster:
    """The cluster that plain data describes; unknown keys are those of a later version, and left out.

    Raises:
        Unreadable: a part is not as this collection writes it.
    """
    return read_as(Cluster, data)


def waves_from(data: Mapping[str, Any]) -> tuple[Wave, ...]:
    """The waves that the plain data of a fleet describes; none if it has none.

    Raises:
        Unreadable: a part is not as this collection writes it.
    """
    return listed(data, "waves", partial(read_as, Wave), ())


def digest_of(waves: Sequence[Wave], clusters: Mapping[str, Cluster]) -> str:
    """The digest of the plan of a fleet: the waves with the plan of each cluster, wave by wave."""
    planned = [(wave.name, [(each, clusters[each].digest) for each in wave.clusters]) for wave in waves]
    return "f" + sha256(repr(planned).encode()).hexdigest()[:_DIGITS]


def failed_in(clusters: Mapping[str, Cluster]) -> list[Cluster]:
    """The clusters that count as failures, in the order of their names."""
    return [clusters[name] for name in sorted(clusters) if clusters[name].state in BAD]


def held_back(fleet: FleetPlan, name: str) -> str:
    """Why a cluster may not start now; empty if it may.

    A failure anywhere counts at once, also for clusters of the same wave that have not started yet. A wave starts
    once no cluster of an earlier one is under way or waits.
    """
    if fleet.cancelled:
        return "The fleet was cancelled."
    failed = failed_in(fleet.clusters)
    if fleet.failures and len(failed) >= fleet.failures:
        return f"The fleet was stopped, since {enumerate_few(each.name for each in failed)} failed."
    for wave in fleet.waves:
        if name in wave.clusters:
            return ""
        behind = [
            each for each in wave.clusters if each in fleet.clusters and fleet.clusters[each].state not in (DONE, *BAD)
        ]
        if behind:
            return f"Wave {wave.name} comes first, and is not done on {first_few(behind)}."
    return f"No wave includes the cluster {name}."


def plan_lines(fleet: FleetPlan, playbook: str) -> list[str]:
    """The plan of a fleet for people: a line for each wave, and one for each cluster that cannot be planned."""
    number = sum(len(wave.clusters) for wave in fleet.waves)
    stop = f"stops after {fleet.failures} failed" if fleet.failures else "continues whatever fails"
    lines = [f"Plan {fleet.digest}   {playbook} on {_clusters(number)} in {_waves(len(fleet.waves))}, {stop}"]
    for wave in fleet.waves:
        lines.append(f"  {wave.name}")
        lines += [f"    {name}   {_planned(fleet.clusters[name])}" for name in wave.clusters]
    return lines


def _planned(cluster: Cluster) -> str:
    return f"is left out: {cluster.cause}" if cluster.state in BAD else cluster.plan


def end_lines(fleet: FleetPlan, names: Sequence[str]) -> list[str]:
    """The end of a run of a fleet for people: the counts, then each cluster with its record, or with its cause."""
    found = [fleet.clusters[name] for name in names if name in fleet.clusters]
    counts = [(state, sum(1 for each in found if each.state == state)) for state in STATES]
    said = ", ".join(f"{count} {state}" for state, count in counts if count)
    return [f"Fleet {fleet.digest}: {said} of {_clusters(len(names))}", *map(_line, found)]


def _line(cluster: Cluster) -> str:
    took = f" in {duration(cluster.seconds)}" if cluster.seconds >= 1 else ""
    line = f"  {cluster.name}: {cluster.state}{took if cluster.state == DONE else ''}"
    if cluster.state != DONE and cluster.cause:
        line += f": {cluster.cause}"
    kept = [f"record {cluster.record}" if cluster.record else "", f"output {cluster.log}" if cluster.log else ""]
    places = ", ".join(each for each in kept if each)
    return f"{line} ({places})" if places and cluster.state != NOT_BEGUN else line


def _clusters(number: int) -> str:
    return f"{number} cluster{'s' if number != 1 else ''}"


def _waves(number: int) -> str:
    return f"{number} wave{'s' if number != 1 else ''}"
