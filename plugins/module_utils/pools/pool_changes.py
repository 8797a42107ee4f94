# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The patches that change a pool's image and update strategy, and that put them back. Pure: from observations."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..common.errors import refusal
from ..engine.undo import Writer, writer_in
from ..kubernetes.state import StatefulSet
from .images import container_for

UNDO = "upgrade.stateful/undo"
"""The annotation that carries the undo: one JSON string, written in the same patch as the change."""

STRATEGIES = ("OnDelete", "RollingUpdate")

Patch = dict[str, Any]


@dataclass(frozen=True)
class Undo:
    """A pool's strategy and image before a run changed them."""

    writer: Writer
    strategy_was: Mapping[str, Any]
    strategy_set: str
    container: str
    image_was: str

    def text(self) -> str:
        """The value of the annotation."""
        content = {
            **self.writer.head(),
            "strategy": {"was": self.strategy_was, "set": self.strategy_set},
            "image": {"container": self.container, "was": self.image_was},
        }
        return json.dumps(content, separators=(",", ":"), sort_keys=True)

    def holds(self, pool: StatefulSet) -> bool:
        """Whether the strategy is still the one that the run set; if not, another changed it, and this undo is void.

        With RollingUpdate the partition may differ, since the run itself lowers it.
        """
        if self.strategy_set == "RollingUpdate":
            return pool.strategy == "RollingUpdate"
        return pool.update_strategy == {"type": self.strategy_set}


def carried_undo(pool: StatefulSet) -> Undo | None:
    """The undo that a pool carries.

    Raises:
        Refusal: it carries one that cannot be read.
    """
    text = pool.annotations.get(UNDO)
    if text is None:
        return None
    try:
        content = json.loads(text)
        strategy, image = content["strategy"], content["image"]
        return Undo(
            writer=writer_in(content),
            strategy_was=_strategy_in(strategy["was"]),
            strategy_set=_of(STRATEGIES, strategy["set"]),
            container=str(image["container"]),
            image_was=str(image["was"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refusal(
            "undo_not_readable",
            f"The annotation {UNDO} of StatefulSet {pool.name} is not what this collection writes.",
            "Read the annotation, set the update strategy by hand to what it should be, and remove the annotation.",
        ) from error


def _strategy_in(value: Any) -> dict[str, Any]:
    """An update strategy of a StatefulSet; raises ValueError, KeyError or TypeError if the value is none."""
    rolling = dict(value.get("rollingUpdate") or {})
    partition, unavailable = rolling.pop("partition", 0), rolling.pop("maxUnavailable", 1)
    known = isinstance(partition, int) and partition >= 0 and isinstance(unavailable, (int, str))
    if (
        rolling
        or not known
        or isinstance(partition, bool)
        or isinstance(unavailable, bool)
        or value.keys() - {"type", "rollingUpdate"}
    ):
        raise ValueError("unknown strategy")
    return {**value, "type": _of(STRATEGIES, value["type"])}


def _of(known: Collection[str], value: Any) -> str:
    if value not in known:
        raise ValueError("unknown strategy")
    return str(value)


def repository_of(image: str) -> str:
    """An image without its tag and digest."""
    name = image.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    return head if colon and "/" not in tag else name


def container_of(pool: StatefulSet, image: str, named: str | None) -> str:
    """The container that an image is meant for.

    Raises:
        Refusal: see `container_for`.
    """
    return container_for(pool.name, pool.images, named, repository_of(image).rpartition("/")[2])


def changes_to(pool: StatefulSet, container: str, image: str, strategy: str, writer: Writer) -> Patch | None:
    """The strategic merge patch that makes image and strategy as wanted, or None if they are so already.

    Init containers that run the same image as the container follow it. An undo that still holds is kept. Another undo
    is void, since something else has changed the strategy after it, and a new one takes its place.
    """
    was, undo = pool.images[container], carried_undo(pool)
    held = undo if undo is not None and undo.holds(pool) else None
    wanted, same_image = strategy_of(pool, strategy), was == image
    if strategy == "RollingUpdate":
        # With another image the partition has to go up again, or the pods above it would be replaced at once.
        same_strategy = same_image and held is not None and held.strategy_set == strategy
    else:
        same_strategy = pool.update_strategy == wanted
    if same_image and same_strategy:
        return None
    patch: Patch = {"metadata": {"resourceVersion": pool.resource_version}, "spec": {}}
    if held is None:
        fresh = Undo(writer, dict(pool.update_strategy), strategy, container, was)
        patch["metadata"]["annotations"] = {UNDO: fresh.text()}
    elif held.strategy_set != strategy:
        patch["metadata"]["annotations"] = {UNDO: replace(held, strategy_set=strategy).text()}
    if not same_image:
        following = [{"name": name, "image": image} for name, each in pool.init_images.items() if each == was]
        template: Patch = {"containers": [{"name": container, "image": image}]}
        if following:
            template["initContainers"] = following
        patch["spec"]["template"] = {"spec": template}
    if not same_strategy:
        patch["spec"]["updateStrategy"] = replacing(pool.update_strategy, wanted)
    return patch


def strategy_of(pool: StatefulSet, strategy: str) -> dict[str, Any]:
    """The update strategy under which no pod is replaced by itself: OnDelete, or a partition above every pod."""
    if strategy != "RollingUpdate":
        return {"type": strategy}
    rolling = {**(pool.update_strategy.get("rollingUpdate") or {}), "partition": pool.replicas}
    return {"type": strategy, "rollingUpdate": rolling}


def way_back(pool: StatefulSet, undo: Undo) -> Patch:
    """The patch that puts the strategy back exactly and removes the undo; if the undo is void, it only removes it."""
    patch: Patch = {"metadata": {"resourceVersion": pool.resource_version, "annotations": {UNDO: None}}}
    if undo.holds(pool):
        patch["spec"] = {"updateStrategy": replacing(pool.update_strategy, undo.strategy_was)}
    return patch


def replacing(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> Patch:
    """A merge of `wanted` over `present` that leaves nothing of `present`.

    Without the null, changing RollingUpdate to OnDelete is rejected (422).
    """
    return {**dict.fromkeys(present), **wanted}
