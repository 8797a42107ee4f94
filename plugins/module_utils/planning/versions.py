# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of OpenSearch and the ways between them that the servers accept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..common.verdict import Reason, Verdict, refused
from ..common.words import enumerate_few

_MASK = 0x08000000
"""Set in the version ids of OpenSearch and absent in those of Elasticsearch (server source, Version.java)."""


@dataclass(frozen=True, order=True)
class Version:
    """A released version; compares in the order of releases."""

    major: int
    minor: int
    patch: int
    elasticsearch: int = field(default=0, compare=False)
    """The major version that Elasticsearch counts where `major` is what OpenSearch compares it as; otherwise 0."""

    def __str__(self) -> str:
        if self.elasticsearch:
            return f"Elasticsearch {self.elasticsearch}.{self.minor}.{self.patch}"
        return f"{self.major}.{self.minor}.{self.patch}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """The version in `text`, such as `2.19.6` or `3.0.0-beta1`; raises ValueError for anything else."""
        found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?", text.strip())
        if not found:
            raise ValueError(f"{text!r} is not a version: it must have the form 3.8.0")
        return cls(int(found[1]), int(found[2]), int(found[3]))

    @classmethod
    def from_id(cls, number: int) -> Version:
        """The version behind the id that indices carry as `index.version.created`.

        Elasticsearch 6 and 7 count as 0 and 1, as the server itself compares them (Version.java, `compareMajor`).
        """
        ours = bool(number & _MASK)
        plain = number ^ _MASK if ours else number
        major, minor, patch = plain // 1_000_000, plain // 10_000 % 100, plain // 100 % 100
        return cls(major, minor, patch) if ours else cls(major - 6, minor, patch, elasticsearch=major)


def oldest_wire(target: Version) -> Version:
    """The oldest member that `target` talks to: the last minor of the previous major from 3.0 on.

    Source: Version.computeMinCompatVersion; 3.x needs 2.19 (all of 1.x and Elasticsearch 7.10 talk to 2.x).
    """
    if target.major >= 3:
        return Version(2, 19, 0) if target.major == 3 else Version(target.major - 1, 0, 0)
    return Version(target.major - 1, 0, 0)


def way(version: Version, target: Version) -> list[str]:
    """The releases to go through, both ends included: of each major in between the last minor.

    That of 2.x is 2.19, the only one that 3.x talks to; those of later majors are not known here.
    """
    between = ["2.19" if major == 2 else f"the last {major}.x" for major in range(version.major + 1, target.major)]
    if not between and version < oldest_wire(target):
        between = ["2.19"]
    return [str(version), *between, str(target)]


def judge_path(current: Iterable[tuple[str, Version]], target: Version) -> Verdict:
    """Whether every member, given as (name, version), can go to `target` in one step. One reason for each version."""
    members: dict[Version, list[str]] = defaultdict(list)
    for name, version in current:
        members[version].append(name)
    return Verdict(
        tuple(
            reason
            for version, names in sorted(members.items())
            for reason in _judge_step(enumerate_few(names), "runs" if len(names) == 1 else "run", version, target)
        )
    )


def _judge_step(names: str, verb: str, version: Version, target: Version) -> Iterator[Reason]:
    if version > target:
        yield refused(
            "downgrade",
            f"{names} {verb} {version}, which is newer than {target}: a downgrade is not possible, since newer"
            " servers write data that older ones cannot read.",
            "Give a target_version that no member is beyond.",
        )
    elif target.major - version.major > 1:
        yield refused(
            "majors_skipped",
            f"{names} {verb} {version}: {target} is {target.major - version.major} major versions ahead.",
            f"Upgrade one major at a time: {' → '.join(way(version, target))}.",
        )
    elif version < oldest_wire(target):
        yield refused(
            "wire_incompatible",
            f"{names} {verb} {version}, and {target} talks to members from {oldest_wire(target)} on only.",
            f"Upgrade to {oldest_wire(target)} or a later patch of it first: {' → '.join(way(version, target))}.",
        )


def judge_created(indices: Iterable[tuple[str, Version | None]], target: Version) -> Verdict:
    """Whether `target` can open every index, given as (name, created version); closed and hidden ones count.

    Source: Version.minimumIndexCompatibilityVersion: indices of the previous major at the oldest. One reason for each
    version; an index that does not tell its version is not taken for a young one.
    """
    old: dict[Version, list[str]] = defaultdict(list)
    unknown: list[str] = []
    for name, created in indices:
        if created is None:
            unknown.append(name)
        elif created.major < target.major - 1:
            old[created].append(name)
    reasons = [
        refused(
            "index_too_old",
            f"Created in {created}, which {target} cannot open: {enumerate_few(names)}.",
            f"Reindex these indices on the present version, or delete them: {target.major - 1}.0.0 is the oldest that"
            f" {target} can open.",
        )
        for created, names in sorted(old.items())
    ]
    if unknown:
        reasons.append(
            refused(
                "index_version_unknown",
                f"The version that created them cannot be seen: {enumerate_few(unknown)}.",
                "Look at index.version.created in the settings of these indices: without it nothing can be proven.",
            )
        )
    return Verdict(tuple(reasons))
