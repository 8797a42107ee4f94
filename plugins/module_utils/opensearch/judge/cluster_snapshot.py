"""The snapshot of an upgrade: whether it can be taken, how far it is, whether it is whole, which old ones go. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few, first_few, shortened
from ..observe.cluster_snapshot import PREFIX, OwnSnapshot, Repository, SnapshotShards
from .drain import size_text

LONGEST = 400
"""Characters of the names and patterns that a snapshot keeps in its metadata, which may have 1,024 bytes."""
INCOMPLETE = "snapshot_incomplete"
TAKING = "snapshot_being_taken"
"""The code of the reason to wait for the snapshot of the upgrade."""
ATTEMPTS = 3
"""The most snapshots of one upgrade, each taken by another run. The last one stays until it is deleted."""


@dataclass(frozen=True)
class SnapshotWanted:
    """The snapshot that an upgrade takes."""

    repository: str
    base: str
    """The name of the first attempt."""
    cluster: str
    upgrade: str
    """The time at which the upgrade started, which its record keeps over all its runs."""
    indices: tuple[str, ...] = ("*",)
    attempt: int = 1

    @property
    def name(self) -> str:
        """The name of this attempt."""
        return self.base if self.attempt == 1 else f"{self.base}-{self.attempt}"

    @property
    def full_name(self) -> str:
        """Its name with the repository, as sentences have it."""
        return f"{self.repository}/{self.name}"

    @property
    def asked(self) -> str:
        """The names and patterns of its indices, as its metadata keep them."""
        return shortened(",".join(self.indices), LONGEST)


@dataclass(frozen=True)
class SnapshotLook:
    """One look at the snapshot of an upgrade."""

    found: OwnSnapshot | None = None
    shards: SnapshotShards | None = None
    """None as long as there is none."""
    others: tuple[str, ...] = ()
    """Other snapshots that are being taken; they are asked for only as long as that of the upgrade is not there."""


def wanted_of(repository: str, target: str, started: str, cluster: str, indices: Sequence[str]) -> SnapshotWanted:
    """The snapshot of an upgrade to this version that has started at this time. All its runs come to the same name."""
    time = re.sub(r"[^0-9t]", "", started.lower())
    name = f"{PREFIX}{target.lower()}-{time}"
    return SnapshotWanted(repository, name, cluster, started, tuple(indices) or ("*",))


def attempt_due(wanted: SnapshotWanted, own: Mapping[str, OwnSnapshot], run: str) -> SnapshotWanted:
    """The attempt that counts for a run: the last one, or the next if that ended incomplete and is of another run.

    So what a member that goes away has spoilt costs a run, and not a visit to the repository. A run that keeps no lock
    has no name, and takes no further attempt.
    """
    attempts = [replace(wanted, attempt=number) for number in range(1, ATTEMPTS + 1)]
    last = next((each for each in reversed(attempts) if each.name in own), wanted)
    found = own.get(last.name)
    if found is None or last.attempt == ATTEMPTS or found.runs or found.whole or not is_of(found, last):
        return last
    return replace(last, attempt=last.attempt + 1) if found.run not in {"", run} else last


def is_of(found: OwnSnapshot, wanted: SnapshotWanted) -> bool:
    """Whether a snapshot was taken by this upgrade, for the same indices."""
    return (found.cluster, found.upgrade, found.asked) == (wanted.cluster, wanted.upgrade, wanted.asked)


def covered(indices: Sequence[str]) -> str:
    """The indices of a snapshot in words."""
    return "all indices" if tuple(indices) in {(), ("*",), ("_all",)} else f"the indices {first_few(list(indices))}"


@as_verdict
def judge_repository(
    name: str, repositories: Mapping[str, Repository], unfit: str = "", *, recorded: bool = True
) -> Iterator[Reason]:
    """Whether a snapshot can be taken there. `unfit` is the fault that its verification has found."""
    without = "or leave out upgrade_snapshot"
    found = repositories.get(name)
    if found is None:
        there = enumerate_few(repositories) if repositories else "none at all"
        yield refused(
            "snapshot_repository_unknown",
            f"The snapshot of the upgrade is to go to the repository {name}, which is not registered.",
            f"Register it, or correct upgrade_snapshot; registered: {there}.",
        )
    elif found.read_only:
        yield refused(
            "snapshot_repository_read_only",
            f"The snapshot of the upgrade is to go to the repository {name}, which is read-only.",
            f"Register it without readonly, name another one with upgrade_snapshot, {without}.",
        )
    elif unfit:
        yield refused(
            "snapshot_repository_unfit",
            f"Not every member can write to the repository {name}: {unfit}.",
            f"Give each member access to it (POST _snapshot/{name}/_verify proves it), {without}.",
        )
    if not recorded:
        yield refused(
            "snapshot_without_record",
            "The snapshot of the upgrade is named by its record, and this run keeps none.",
            f"Keep a record that can be read and written (upgrade_record_kept_in), {without}.",
        )


@as_verdict
def judge_planned(wanted: SnapshotWanted | None, repository: str, indices: Sequence[str]) -> Iterator[Reason]:
    """The remark about the snapshot that is to be taken. `wanted` is that of an upgrade that has a record already."""
    where = wanted.full_name if wanted else f"{repository}/{PREFIX}…"
    yield remark(
        "snapshot_planned",
        f"Before the first batch a snapshot of {covered(indices)} and of the global state is taken and proven:"
        f" {where}. It is the only way back.",
    )


@as_verdict
def judge_taken(wanted: SnapshotWanted, look: SnapshotLook) -> Iterator[Reason]:
    """Whether the snapshot of the upgrade is there and whole."""
    found, name = look.found, wanted.full_name
    if found is None:
        behind = f" It comes after {enumerate_few(look.others)}." if look.others else ""
        yield waiting(TAKING, f"Snapshot {name} is not started yet.{behind}", "", about=name)
    elif not is_of(found, wanted):
        yield refused(
            "snapshot_not_own",
            f"Snapshot {name} was not taken by this upgrade for {covered(wanted.indices)}.",
            f"Delete it if it is not needed (DELETE _snapshot/{name}), or name another repository (upgrade_snapshot).",
        )
    elif found.runs:
        yield waiting(TAKING, f"Snapshot {name} is being taken: {_progress(look.shards)}.", "", about=name)
    elif incomplete(found, look.shards):
        retried = bool(found.run) and wanted.attempt < ATTEMPTS
        first = "" if retried else f", delete it (DELETE _snapshot/{name})"
        yield refused(
            INCOMPLETE, _lacking(wanted, found), f"Fix the cause{first}, and run again: another one is taken."
        )
    else:
        yield remark("snapshot_taken", _proven(wanted, found, look.shards))


@as_verdict
def judge_earlier(wanted: SnapshotWanted, own: Mapping[str, OwnSnapshot]) -> Iterator[Reason]:
    """A remark on each earlier attempt, which ended incomplete."""
    for number in range(1, wanted.attempt):
        earlier = replace(wanted, attempt=number)
        if found := own.get(earlier.name):
            yield remark(INCOMPLETE, f"{_lacking(earlier, found)} {wanted.full_name} takes its place.")


def _lacking(wanted: SnapshotWanted, found: OwnSnapshot) -> str:
    return (
        f"Snapshot {wanted.full_name} is not a way back: it is {found.state}, and {found.failed:,} of {found.shards:,}"
        f" shards have failed{_causes(found.failures)}."
    )


def incomplete(found: OwnSnapshot, shards: SnapshotShards | None) -> bool:
    """Whether a snapshot that has ended lacks a shard, by its own state or by the figures of its shards."""
    lacking = shards is not None and (shards.failed > 0 or shards.done != shards.total)
    return not found.whole or lacking


def _proven(wanted: SnapshotWanted, found: OwnSnapshot, shards: SnapshotShards | None) -> str:
    copied = f", {size_text(shards.bytes_total)} copied" if shards else ""
    since = datetime.fromtimestamp(found.started / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f"Snapshot {wanted.full_name} holds {len(found.indices):,} indices with {found.shards:,} shards"
        f"{' and the global state' if found.global_state else ''}{copied}. It was started at"
        f" {since}, is proven, and is the only way back."
    )


def _progress(shards: SnapshotShards | None) -> str:
    if shards is None or not shards.total:
        return "it is being prepared"
    copied = f"{size_text(shards.bytes_done)} of {size_text(shards.bytes_total)}"
    return f"{shards.done:,} of {shards.total:,} shards done, {copied}"


def _causes(failures: Sequence[str]) -> str:
    return f": {first_few(sorted(failures)[:3])}" if failures else ""


def remaining(look: SnapshotLook) -> dict[str, tuple[float, ...]]:
    """The shards and bytes that are left, so that a wait lasts as long as there is progress."""
    if look.shards is None or not look.shards.total:
        return {}
    left = look.shards.total - look.shards.done
    return {TAKING: (float(left), float(look.shards.bytes_total - look.shards.bytes_done))}


def outlived(own: Iterable[OwnSnapshot], wanted: SnapshotWanted, keep: int) -> list[OwnSnapshot]:
    """The older snapshots of upgrades of this cluster that go, the oldest first; none if `keep` is 0.

    The last `keep` whole ones stay, of which the present one is the first. One that is being taken stays.
    """
    if keep < 1:
        return []
    ended = [each for each in own if each.cluster == wanted.cluster and not each.runs]
    ended.sort(key=lambda each: (each.upgrade, each.started), reverse=True)
    kept: Collection[str] = {wanted.name, *[each.name for each in ended if each.whole][:keep]}
    return [each for each in reversed(ended) if each.name not in kept]
