"""Whether a pool still has the image and the update strategy that a run has given it. Pure.

Any program may put them back, whether it leaves marks or not (`deployers`). The undo at the pool says what the run has
set, and `managedFields` who has written the field last (Kubernetes documentation, Server-Side Apply, Field management).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..common.verdict import Reason, as_verdict, refused
from ..kubernetes.field_managers import last_manager
from ..kubernetes.state import StatefulSet
from .pool_changes import IMAGE, carried_undo, holds

_REMEDY = (
    "Find out what applies the old manifest, stop it or give it the new image (with strategy OnDelete); then run again."
)


def last_writer(pool: StatefulSet, *path: str) -> str:
    """The manager that has written a field last, as the end of a sentence; empty if none is noted.

    `path` are the keys of `fieldsV1`.
    """
    manager = last_manager(pool.fields, path)
    return f", as field manager {manager}" if manager else ""


def writer_of_image(pool: StatefulSet, container: str) -> str:
    """The manager that has written the image of a container last."""
    return last_writer(pool, "f:spec", "f:template", "f:spec", "f:containers", f'k:{{"name":"{container}"}}', "f:image")


@as_verdict
def judge_put_back(pool: StatefulSet) -> Iterator[Reason]:
    """Whether the image and the strategy are those that the undo of the pool says a run has set.

    Raises:
        Refusal: the pool carries an undo that cannot be read.
    """
    undo = carried_undo(pool)
    if undo is None:
        return
    image = undo.more.get(IMAGE)
    if isinstance(image, Mapping) and image.get("set_to"):
        container, set_to = str(image.get("container")), image["set_to"]
        now = pool.images.get(container, set_to)
        if now != set_to:
            how = f"put {now} back" if now == image.get("was") else f"set {now}"
            yield refused(
                "image_put_back",
                f"The run has given container {container} of StatefulSet {pool.name} the image {set_to}, and something"
                f" else has {how} since{writer_of_image(pool, container)}.",
                _REMEDY,
            )
    if not holds(undo, pool):
        change = undo.changes[0]
        yield refused(
            "strategy_put_back",
            f"The run has made the strategy of StatefulSet {pool.name} {change.set_to['type']}, and something else has"
            f" made it {pool.strategy} since{last_writer(pool, 'f:spec', 'f:updateStrategy', 'f:type')}.",
            _REMEDY,
        )


@as_verdict
def judge_images_stay(was: StatefulSet, pool: StatefulSet) -> Iterator[Reason]:
    """Whether a pool still has the images that it had when a member was let go, so that the member comes back on
    them."""
    for container, image in was.images.items():
        now = pool.images.get(container, image)
        if now != image:
            yield refused(
                "image_put_back",
                f"While a member was away, something else has changed the image of container {container} of StatefulSet"
                f" {pool.name} from {image} to {now}{writer_of_image(pool, container)}. The member comes back on that.",
                _REMEDY,
            )
