"""The patches that change a pool's image and update strategy, and that put them back. Pure: from observations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..kubernetes.state import StatefulSet
from ..run.undo import undo_annotation
from ..run.undo.undo import Change, Path, Undo, Writer, judge_kept
from .images import container_for, name_of

STRATEGY = ("spec", "updateStrategy")
IMAGE = "image"
"""The name of what an undo says of the image."""
STRATEGIES = ("OnDelete", "RollingUpdate")

Patch = dict[str, Any]


def carried_undo(pool: StatefulSet) -> Undo | None:
    """The undo that a pool carries: its one change is that of the update strategy.

    Raises:
        Refusal: it carries one that cannot be read.
    """
    return undo_annotation.carried_undo(as_object(pool), _is_known)


def _is_known(change: Change) -> bool:
    return change.path == STRATEGY and all(_is_strategy(value) for value in (change.was, change.set_to))


def as_object(pool: StatefulSet) -> Patch:
    """The part of a pool that an undo is about, in the form of the API."""
    metadata = {"name": pool.name, "resourceVersion": pool.resource_version, "annotations": dict(pool.annotations)}
    return {"kind": "StatefulSet", "metadata": metadata, "spec": {"updateStrategy": dict(pool.update_strategy)}}


def holds(undo: Undo, pool: StatefulSet) -> bool:
    """Whether the strategy is still the one that the run set; if not, another changed it, and this undo is void.

    With RollingUpdate the partition may differ, since the run itself lowers it.
    """
    set_to = undo.changes[0].set_to
    return bool(pool.strategy == set_to["type"] and (pool.strategy != "OnDelete" or pool.update_strategy == set_to))


def _is_strategy(value: Any) -> bool:
    """Whether this is the update strategy of a StatefulSet."""
    if not isinstance(value, dict) or value.get("type") not in STRATEGIES or value.keys() - {"type", "rollingUpdate"}:
        return False
    rolling = value.get("rollingUpdate") or {}
    if not isinstance(rolling, dict) or rolling.keys() - {"partition", "maxUnavailable"}:
        return False
    partition, unavailable = rolling.get("partition", 0), rolling.get("maxUnavailable", 1)
    if isinstance(partition, bool) or isinstance(unavailable, bool):
        return False
    return isinstance(partition, int) and partition >= 0 and isinstance(unavailable, (int, str))


def container_of(pool: StatefulSet, image: str, named: str | None) -> str:
    """The container that an image is meant for."""
    return container_for(pool.name, pool.images, named, name_of(image))


def changes_to(pool: StatefulSet, container: str, image: str, strategy: str, writer: Writer) -> Patch | None:
    """The strategic merge patch that sets the wanted image and strategy, or None if they are set already.

    Init containers that run the same image as the container follow it. An undo that still holds is kept. Another undo
    is void, since something else has changed the strategy after it, and a new one takes its place.

    Raises:
        Refusal: its strategy is one that could not be put back, or it carries an undo that cannot be read.
    """
    was, undo = pool.images[container], carried_undo(pool)
    held = undo if undo is not None and holds(undo, pool) else None
    wanted, same_image = strategy_of(pool, strategy), was == image
    if strategy == "RollingUpdate":
        # With another image the partition has to go up again, or the pods above it would be replaced at once.
        same_strategy = same_image and held is not None and held.changes[0].set_to["type"] == strategy
    else:
        same_strategy = pool.update_strategy == wanted
    if same_image and same_strategy and not _is_stale(held, image):
        return None
    base = _noting(held, container, image) if held else Undo(writer, more={IMAGE: _note(container, was, image)})
    undo = base.extended(writer, [Change(STRATEGY, dict(pool.update_strategy), wanted)])
    judge_kept(undo.changes, _is_known, lambda _each: f"The update strategy of StatefulSet {pool.name}")
    patch = undo_annotation.patch_of(as_object(pool), undo, {} if same_strategy else {STRATEGY: wanted})
    if not same_image:
        following = [{"name": name, "image": image} for name in _following(pool, container)]
        template: Patch = {"containers": [{"name": container, "image": image}]}
        if following:
            template["initContainers"] = following
        patch.setdefault("spec", {})["template"] = {"spec": template}
    return patch


def _is_stale(held: Undo | None, image: str) -> bool:
    """Whether the undo says that a run has set another image than this one."""
    earlier = held.more.get(IMAGE) if held else None
    return isinstance(earlier, Mapping) and earlier.get("set_to", image) != image


def _noting(held: Undo, container: str, image: str) -> Undo:
    """The undo with the image that is set now; what it was before the first run stays."""
    earlier = held.more.get(IMAGE)
    if not isinstance(earlier, Mapping) or earlier.get("container") != container:
        return held
    return replace(held, more={**held.more, IMAGE: _note(container, str(earlier.get("was")), image)})


def _note(container: str, was: str, image: str) -> dict[str, str]:
    return {"container": container, "was": was, "set_to": image}


def _following(pool: StatefulSet, container: str) -> list[str]:
    """The init containers that run the image of this container, and get another one with it."""
    return [name for name, image in pool.init_images.items() if image == pool.images[container]]


def template_with(pool: StatefulSet, container: str, image: str) -> Patch:
    """The spec of the pool's pods as the patch of `changes_to` leaves it."""
    changed = {container, *_following(pool, container)}

    def renewed(containers: Iterable[Patch] | None) -> list[Patch]:
        return [{**each, "image": image} if each["name"] in changed else each for each in containers or ()]

    lists = {name: renewed(pool.template[name]) for name in ("containers", "initContainers") if name in pool.template}
    return {**pool.template, **lists}


def strategy_of(pool: StatefulSet, strategy: str) -> dict[str, Any]:
    """The update strategy under which the controller replaces no pod: OnDelete, or a partition above every pod."""
    if strategy != "RollingUpdate":
        return {"type": strategy}
    rolling = {**(pool.update_strategy.get("rollingUpdate") or {}), "partition": pool.replicas}
    return {"type": strategy, "rollingUpdate": rolling}


def patch_back(pool: StatefulSet, undo: Undo) -> Patch:
    """The patch that puts the strategy back exactly and removes the undo; if the undo is void, it only removes it."""
    back: dict[Path, Any] = {STRATEGY: undo.changes[0].was} if holds(undo, pool) else {}
    return undo_annotation.patch_of(as_object(pool), None, back)
