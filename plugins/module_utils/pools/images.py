# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of a pool that runs the server, and its image of another version."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..common.errors import refusal


def container_for(pool: str, images: Mapping[str, str], named: str | None, server: str) -> str:
    """The container that runs the server: the one named, the only one, or the one whose image is called `server`.

    If no image has just that name, the container called `server` counts. A part of a name is not enough: beside
    opensearch there may be opensearch-dashboards, or opensearch-exporter.

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


_PRE_RELEASE = re.compile(r"(alpha|beta|rc|snapshot|pre|m\d)", re.IGNORECASE)


def names_version(image: str, version: str) -> bool:
    """Whether the tag of an image names a version, or a build of it such as `3.8.0-2`. A pre-release is none."""
    tag = image.rpartition("/")[2].split("@")[0].partition(":")[2].removeprefix("v")
    build = tag.removeprefix(f"{version}-") if tag.startswith(f"{version}-") else ""
    return tag == version or bool(build and not _PRE_RELEASE.match(build))


def name_of(image: str) -> str:
    """The last part of the repository: the name of the image in every registry."""
    return image.rpartition("/")[2].split("@")[0].split(":")[0]
