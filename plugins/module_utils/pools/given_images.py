"""The new image of each pool, as a user gives it: one for all pools, or one for each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ..common.errors import refusal
from ..common.verdict import Reason, as_verdict, refused, remark

OF = "="
"""The sign between a pool and its image in a text; neither name can contain it."""
EVERY = "*"


def given_images(given: Any) -> dict[str, str]:
    """The image by name or pattern of a pool, from a mapping or a text: an image, or `POOL=IMAGE,POOL=IMAGE`.

    Raises:
        Refusal: it is neither.
    """
    if isinstance(given, Mapping):
        pairs = [(str(pool).strip(), image) for pool, image in given.items()]
    else:
        parts = [part for part in str(given or "").split(",") if part.strip()]
        split = [part.partition(OF) for part in parts]
        pairs = [(pool.strip() if of else EVERY, image if of else pool) for pool, of, image in split]
    images = {pool: str(image).strip() for pool, image in pairs}
    unread = [str(image) for pool, image in pairs if not pool or not isinstance(image, str) or not image.strip()]
    if unread or len(images) < len(pairs):
        raise refusal(
            "image_of_pool_unclear",
            "image (upgrade_image) gives a pool no image, or several.",
            "Give one image for all pools, or one for each pool: a mapping of pool to image, or a text such as"
            " hot=IMAGE,warm=IMAGE.",
        )
    return images


def image_for(pool: str, images: Mapping[str, str]) -> str:
    """The image of a pool: that of its name, or of the first pattern that fits; empty if none is given."""
    if pool in images:
        return images[pool]
    return next((image for pattern, image in images.items() if fnmatchcase(pool, pattern)), "")


@as_verdict
def judge_images(images: Mapping[str, str], going: Mapping[str, str], pools: Collection[str]) -> Iterator[Reason]:
    """Whether each name and pattern is that of a pool. `going` has the new image of each pool of the plan.

    `pools` are the names of all pools, also of those that are not planned for.
    """
    for pattern in images:
        if pattern != EVERY and not any(fnmatchcase(pool, pattern) for pool in pools):
            yield refused(
                "image_of_unknown_pool",
                f"image (upgrade_image) names pool {pattern}, and there is no such pool.",
                f"Correct the name; there are: {', '.join(sorted(pools))}.",
            )
    if set(images) - {EVERY}:
        for pool, image in going.items():
            yield remark("image_of_pool", f"Pool {pool} gets image {image}.")
