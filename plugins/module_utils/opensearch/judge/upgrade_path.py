"""The upgrade paths that the servers accept: those of OpenSearch, and those of Elasticsearch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...common.errors import refusal
from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ..observe.products import ELASTICSEARCH, OPENSEARCH, product_of
from ..observe.version import Version

_Since = tuple[str, "str | None"]

_OLDEST: Mapping[str, tuple[_Since, ...]] = {
    OPENSEARCH.name: (("2.0.0", "1.0.0"), ("3.0.0", "2.19.0"), ("4.0.0", None)),
    ELASTICSEARCH.name: (
        ("7.0.0", "6.8.0"),
        ("8.0.0", "7.17.0"),
        ("9.0.0", "8.18.0"),
        ("9.1.0", "8.19.0"),
        ("10.0.0", None),
    ),
}
"""The oldest member that a version talks to, from that version on; None if it is not known yet.

OpenSearch (server source, Version.computeMinCompatVersion): up to 2.x any minor of the previous major, then its last
one. Elasticsearch (its upgrade documentation): the last minor of the previous major. 9.0 came out with 8.18, later
ones after 8.19."""

_NEWEST: Mapping[str, tuple[str, str]] = {"9.0": ("8.19.0", "9.1.0")}
"""The minor versions of Elasticsearch that some members are too new for: the first of these, and the first version that
they can go to. Elasticsearch supports no upgrade to a version that was released before the present one."""


def oldest_wire(target: Version) -> Version | None:
    """The oldest member that `target` talks to, or None if that is not known."""
    steps = [(_like(target, since), oldest) for since, oldest in _OLDEST[product_of(target).name]]
    found = next((oldest for since, oldest in reversed(steps) if target >= since), "0.0.0")
    return None if found is None else _like(target, found)


def _like(target: Version, text: str) -> Version:
    """A version in the table, of the product of the target."""
    return Version.parse(text, elastic=bool(target.elasticsearch))


def releases_between(version: Version, target: Version) -> list[str]:
    """The releases to go through, both ends included: in each major that minor which the next one asks for."""
    path = [str(version)]
    for major in range(version.major, target.major):
        following = target if major == target.major - 1 else replace(version, major=major + 1, minor=99, patch=0)
        oldest = oldest_wire(following)
        own = major + version.own_major - version.major
        if oldest is None:
            path.append(f"the last {own}.x")
        elif major > version.major or version < oldest:
            path.append(f"{own}.{oldest.minor}")
    return [*path, str(target)]


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
    if (other := _of_another(names, verb, version, target)) is not None:
        yield other
    elif version > target:
        yield refused(
            "downgrade",
            f"{names} {verb} {version}, which is newer than {target}: a downgrade is not possible, since newer"
            " servers write data that older ones cannot read.",
            "Give a target_version that no member is newer than.",
        )
    elif target.major - version.major > 1:
        yield refused(
            "majors_skipped",
            f"{names} {verb} {version}: {target} is {target.major - version.major} major versions ahead.",
            f"Upgrade one major at a time: {' → '.join(releases_between(version, target))}.",
        )
    elif oldest is None and version.major < target.major:
        yield refused(
            "major_unknown",
            f"{names} {verb} {version}, and {target} talks only to members of the last minor version of"
            f" {version.own_major}.x. This release of the collection does not know which one that is.",
            f"Use a release of the collection that knows {target.own_major}.x.",
        )
    elif oldest is not None and version < oldest:
        yield refused(
            "wire_incompatible",
            f"{names} {verb} {version}, and {target} only talks to members from {oldest} on.",
            f"Upgrade to {oldest} or a later patch of it first: {' → '.join(releases_between(version, target))}.",
        )
    elif (newest := _too_new(version, target)) is not None:
        yield refused(
            "released_before",
            f"{names} {verb} {version}, which was released after {target}: Elasticsearch supports no way from a later"
            " release to an earlier one.",
            f"Give a target_version from {newest} on.",
        )


def _of_another(names: str, verb: str, version: Version, target: Version) -> Reason | None:
    """The reason for members of another server than the target."""
    if bool(version.elasticsearch) == bool(target.elasticsearch):
        return None
    message = (
        f"{names} {verb} {product_of(version).name} {version}, and {target} is a version of {product_of(target).name}."
    )
    if target.elasticsearch:
        return refused("elasticsearch", message, "Give a version of OpenSearch, such as 3.8.0.")
    return refused(
        "elasticsearch",
        message,
        "To upgrade Elasticsearch, give a version of it. To migrate, take one of the ways that OpenSearch documents: a"
        " rolling or full restart upgrade of Elasticsearch OSS 6.8.0 to 7.10.2 to OpenSearch 1.x, or a snapshot that is"
        " restored in a new OpenSearch cluster. This collection does neither.",
    )


@as_verdict
def judge_product(current: Iterable[tuple[str, Version]], target: Version) -> Iterator[Reason]:
    """Whether the target is a version of the server that the members run."""
    others = sorted((name, version) for name, version in current if product_of(version) != product_of(target))
    if others:
        names = enumerate_few(name for name, _version in others)
        other = _of_another(names, "runs" if len(others) == 1 else "run", min(one for _name, one in others), target)
        yield from [other] if other else []


def _too_new(version: Version, target: Version) -> str | None:
    """The first version that a member too new for the target can go to; None if it can go to the target."""
    first, then = _NEWEST.get(f"{target.elasticsearch}.{target.minor}", (None, None))
    return then if first and version.major < target.major and version >= Version.parse(first) else None


def opens_read_only(created: Version | None, target: Version) -> bool:
    """Whether the target opens an index of the major before the last one, once it can only be read.

    Elasticsearch does from 9.0 on (server source, IndexMetadataVerifier.isReadOnlySupportedVersion).
    """
    return created is not None and target.elasticsearch >= 9 and created.major == target.major - 2


@as_verdict
def judge_created(indices: Iterable[tuple[str, Version | None]], target: Version) -> Iterator[Reason]:
    """Whether `target` can open every index, given as (name, created version); closed and hidden ones count.

    The oldest indices are those of the previous major (source: Version.minimumIndexCompatibilityVersion). There is one
    reason for each version. An index that does not show its version is refused.
    """
    old: dict[Version, list[str]] = defaultdict(list)
    unknown: list[str] = []
    for name, created in indices:
        if created is None:
            unknown.append(name)
        elif created.major < target.major - 1:
            old[created].append(name)
    for version, names in sorted(old.items()):
        name = str(version) if target.elasticsearch else version.titled
        yield refused(
            "index_too_old",
            f"Indices were created in {name}, which {target} cannot open: {enumerate_few(names)}.",
            f"Reindex these indices on the present version, or delete them: {_before(target)} is the oldest that"
            f" {target} can open.",
        )
    if unknown:
        yield refused(
            "index_version_unknown",
            f"Indices do not show in which version they were created: {enumerate_few(unknown)}.",
            "Look at index.version.created in the settings of these indices: without it nothing can be proven.",
        )


def _before(target: Version) -> str:
    """The first version of the major before."""
    return f"{target.own_major - 1}.0.0"


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
    if str(version) != text.strip():
        raise refusal(
            "pre_release",
            f"target_version {text} is not the version of a release. Its members report {version}, as those of the"
            " release do, so the two cannot be distinguished.",
            f"Give the version that they report, target_version {version}, and the whole image with image"
            " (upgrade_image).",
        )
    return version
