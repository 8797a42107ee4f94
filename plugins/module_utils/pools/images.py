# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which container of a pool carries the server, and what its image becomes."""

from __future__ import annotations

from collections.abc import Mapping

from ..common.errors import refusal


def container_for(pool: str, images: Mapping[str, str], named: str | None, server: str) -> str:
    """The container that runs the server: the one named, the only one, or the one whose image is called `server`.

    Where no image is called just that, the container called `server` is it. A part of a name says nothing: beside
    opensearch there may be opensearch-dashboards, or opensearch-exporter.

    Raises:
        Refusal: none or several fit.
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
        Refusal: the image is pinned by digest, so that no tag says its version.
    """
    if "@" in image:
        raise refusal(
            "image_pinned",
            f"Image {image} is pinned by digest, so the image of another version cannot be derived from it.",
            "Give the whole new image with image.",
        )
    head, slash, last = image.rpartition("/")
    return f"{head}{slash}{last.split(':')[0]}:{tag}"


def name_of(image: str) -> str:
    """The last part of the repository: what the image is called in whatever registry."""
    return image.rpartition("/")[2].split("@")[0].split(":")[0]
