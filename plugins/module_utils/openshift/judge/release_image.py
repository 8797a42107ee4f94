"""Whether the image of a release is the one that is wanted. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...common.verdict import Reason, refused
from ..observe.state import OpenShift
from ..observe.target import UpgradeTarget


def fitting(seen: OpenShift, target: UpgradeTarget) -> Iterator[Reason]:
    """The reasons against the image, by its metadata: its version, and the architecture that it is made for."""
    image, found = target.image, target.metadata
    if image is None or found is None:
        return
    if not found.version:
        yield refused(
            "release_image_unlabelled",
            f"The image {image} has no label with a version of OpenShift, so it is not a release.",
            "Give the image of a release (release_image).",
        )
    elif found.version != str(target):
        yield refused(
            "release_image_mismatch",
            f"The image {image} is of version {found.version}, and target_version is {target}.",
            "Give the image of that version, or leave target_version out.",
        )
    if found.architecture and found.architecture != seen.architecture:
        yield refused(
            "release_image_mismatch",
            f"The image {image} is made for {found.architecture}, and the control plane is {seen.architecture}.",
            "Give the image of a release for this architecture (release_image).",
        )
