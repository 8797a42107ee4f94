"""The container of a pool that runs the server, and its image of another version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..common.errors import Refusal, refusal


def container_for(pool: str, images: Mapping[str, str], named: str | None, server: str) -> str:
    """The container that runs the server: the one named, the only one, or the one whose image is called `server`.

    If no image has just that name, the container called `server` counts. A part of a name is not enough: next to
    opensearch there may be opensearch-dashboards or opensearch-exporter.

    Raises:
        Refusal: no container fits, or several do.
    """
    if named:
        if named in images:
            return named
        raise refusal(
            "container_unknown",
            f"Pool {pool} has no container {named}; it has {', '.join(sorted(images))}.",
            "Name one of these with container.",
        )
    if len(images) == 1:
        return next(iter(images))
    fitting = [name for name, image in images.items() if name_of(image) == server] or [n for n in images if n == server]
    if len(fitting) == 1:
        return fitting[0]
    raise refusal(
        "container_unclear",
        f"It is not clear which container of pool {pool} runs {server}: it has {', '.join(sorted(images))}.",
        "Name it with container.",
    )


def with_tag(image: str, tag: str) -> str:
    """The same repository with another tag.

    Raises:
        Refusal: the image is pinned by digest, so that no tag names its version.
    """
    if "@" in image:
        raise refusal(
            "image_pinned",
            f"Image {image} is pinned by digest, so the image of another version cannot be derived from it.",
            "Give the whole new image with image.",
        )
    head, slash, last = image.rpartition("/")
    return f"{head}{slash}{last.split(':')[0]}:{tag}"


_TAG = re.compile(r"(?P<before>v?)(?P<number>\d+(\.\d+)*)(?P<after>([-_+].*)?)")


@dataclass(frozen=True)
class Tag:
    """The tag of an image: a version, and the text before and after it (`v3.8.0-fips`)."""

    before: str
    number: str
    after: str

    @property
    def variant(self) -> tuple[str, str]:
        """The parts that say of which kind the image is, whatever its version."""
        return self.before, self.after

    @property
    def of_one_version(self) -> bool:
        """Whether the part after the version belongs to that version alone: a number of a build, or a pre-release."""
        return bool(re.search(r"\d", self.after) or _PRE_RELEASE.match(self.after[1:]))


def tag_of(image: str) -> Tag | None:
    """The tag of an image if it has a version in it."""
    found = _TAG.fullmatch(_tag_in(image))
    return Tag(found["before"], found["number"], found["after"]) if found else None


def _tag_in(image: str) -> str:
    return image.rpartition("/")[2].split("@")[0].partition(":")[2]


def derived(image: str, running: Iterable[tuple[str, str]], version: str) -> str:
    """The image of a version that belongs to the image of a template: the same repository and kind (`v`, `-fips`).

    `running` are the images of the members and the versions that they run. The image of one that runs the version
    already is an example of the right one, whatever the template says by now.

    Raises:
        Refusal: the image is pinned by digest, or it is not clear which tag the image of that version has.
    """
    own = tag_of(image)
    tags = [(tag, runs) for each, runs in running if (tag := tag_of(each)) and tag.number == runs]
    examples = {tag.variant for tag, runs in tags if runs == version}
    if own is None:
        plain = with_tag(image, version)
        if "-" in _tag_in(image):
            raise _unclear(image, version, "its tag does not begin with a version")
        return plain
    if len(examples - {own.variant}) == 1 and own.variant not in examples:
        before, after = next(iter(examples))
        return with_tag(image, f"{before}{version}{after}")
    if own.number == version:
        known = {tag.variant for tag, _runs in tags}
        if known and own.variant not in known:
            raise _unclear(image, version, f"no member runs an image of this kind ({own.before}…{own.after})")
        return image if "@" not in image else with_tag(image, version)
    plain = with_tag(image, f"{own.before}{version}{own.after}")
    if own.of_one_version and own.variant not in examples:
        raise _unclear(image, version, f"{own.after} may belong to {own.number} alone")
    return plain


def _unclear(image: str, version: str, why: str) -> Refusal:
    return refusal(
        "image_tag_unclear",
        f"It is not clear which image of {version} belongs to {image}: {why}.",
        "Give the whole new image with image (upgrade_image).",
    )


_PRE_RELEASE = re.compile(r"(alpha|beta|rc|snapshot|pre|m\d)", re.IGNORECASE)


def names_version(image: str, version: str) -> bool:
    """Whether the tag of an image names a version, or a build of it such as `3.8.0-2`. A pre-release is none."""
    tag = _tag_in(image).removeprefix("v")
    build = tag.removeprefix(f"{version}-") if tag.startswith(f"{version}-") else ""
    return tag == version or bool(build and not _PRE_RELEASE.match(build))


def name_of(image: str) -> str:
    """The last part of the repository: the name of the image in every registry."""
    return image.rpartition("/")[2].split("@")[0].split(":")[0]
