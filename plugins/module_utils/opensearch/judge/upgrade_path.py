# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways between versions of OpenSearch that the servers accept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ...common.errors import refusal
from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ..observe.version import Version

_LAST_MINOR = {2: 19}
"""The last minor version of each major, as far as it is known."""


def oldest_wire(target: Version) -> Version | None:
    """The oldest member that `target` talks to, or None if that is not known.

    From 3.0 on that is the last minor of the previous major; before, it is any minor of it (server source,
    Version.computeMinCompatVersion). 3.x needs 2.19; the last 3.x is not known yet.
    """
    if target.major < 3:
        return Version(target.major - 1, 0, 0)
    last = _LAST_MINOR.get(target.major - 1)
    return None if last is None else Version(target.major - 1, last, 0)


def way(version: Version, target: Version) -> list[str]:
    """The releases to go through, both ends included: the last minor of each major in between."""
    between = [_last_of(major) for major in range(version.major + 1, target.major)]
    if not between and version.major < target.major >= 3 and version.minor != _LAST_MINOR.get(version.major):
        between = [_last_of(version.major)]
    return [str(version), *between, str(target)]


def _last_of(major: int) -> str:
    minor = _LAST_MINOR.get(major)
    return f"the last {major}.x" if minor is None else f"{major}.{minor}"


@as_verdict
def judge_path(current: Iterable[tuple[str, Version]], target: Version) -> Iterator[Reason]:
    """Whether every member, given as (name, version), can go to `target` in one step, with one reason a version."""
    members: dict[Version, list[str]] = defaultdict(list)
    for name, version in current:
        members[version].append(name)
    for version, names in sorted(members.items()):
        yield from _judge_step(enumerate_few(names), "runs" if len(names) == 1 else "run", version, target)


def _judge_step(names: str, verb: str, version: Version, target: Version) -> Iterator[Reason]:
    oldest = oldest_wire(target)
    if version.elasticsearch:
        yield refused(
            "elasticsearch",
            f"{names} {verb} {version}, and this collection upgrades OpenSearch.",
            "Migrate first, by one of the ways that OpenSearch documents: a rolling or full restart upgrade of"
            " Elasticsearch OSS 6.8.0 to 7.10.2 to OpenSearch 1.x, or a snapshot that is restored in a new OpenSearch"
            " cluster. This collection does neither; it upgrades from OpenSearch 1.x on.",
        )
    elif version > target:
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
    elif oldest is None and version.major < target.major:
        yield refused(
            "major_unknown",
            f"{names} {verb} {version}, and {target} talks only to members of the last minor version of"
            f" {version.major}.x. This release of the collection does not know which one that is.",
            f"Use a release of the collection that knows {target.major}.x.",
        )
    elif oldest is not None and version < oldest:
        yield refused(
            "wire_incompatible",
            f"{names} {verb} {version}, and {target} talks to members from {oldest} on only.",
            f"Upgrade to {oldest} or a later patch of it first: {' → '.join(way(version, target))}.",
        )


@as_verdict
def judge_created(indices: Iterable[tuple[str, Version | None]], target: Version) -> Iterator[Reason]:
    """Whether `target` can open every index, given as (name, created version); closed and hidden ones count.

    The oldest indices are those of the previous major (source: Version.minimumIndexCompatibilityVersion). There is one
    reason for each version. An index that does not tell its version is refused.
    """
    old: dict[Version, list[str]] = defaultdict(list)
    unknown: list[str] = []
    for name, created in indices:
        if created is None:
            unknown.append(name)
        elif created.major < target.major - 1:
            old[created].append(name)
    for version, names in sorted(old.items()):
        yield refused(
            "index_too_old",
            f"Indices were created in {version}, which {target} cannot open: {enumerate_few(names)}.",
            f"Reindex these indices on the present version, or delete them: {target.major - 1}.0.0 is the oldest that"
            f" {target} can open.",
        )
    if unknown:
        yield refused(
            "index_version_unknown",
            f"Indices do not tell in which version they were created: {enumerate_few(unknown)}.",
            "Look at index.version.created in the settings of these indices: without it nothing can be proven.",
        )


def target_of(text: str) -> Version:
    """The target version from its text.

    Raises:
        Refusal: it is not a version.
    """
    try:
        version = Version.parse(text)
    except ValueError as error:
        raise refusal(
            "version_unreadable", f"target_version {error}.", "Give a released version, such as 3.8.0."
        ) from error
    if version.elasticsearch:
        said = f"target_version {text} is a version of Elasticsearch."
        raise refusal("version_unreadable", said, "Give a version of OpenSearch, such as 3.8.0.")
    if str(version) != text.strip():
        raise refusal(
            "pre_release",
            f"target_version {text} is not the version of a release. Its members report {version}, as those of the"
            " release do, so the two cannot be told apart.",
            f"Give the version that they report, target_version {version}, and the whole image with image"
            " (upgrade_image).",
        )
    return version
