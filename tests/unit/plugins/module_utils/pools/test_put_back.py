"""A program that puts the image or the strategy of a pool back is named, and no further member goes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import StatefulSet
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import stateful_set
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pool_changes import changes_to
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.put_back import judge_put_back
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Writer
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool, pool_json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import World, turn

Json = dict[str, Any]
OLD, NEW, OTHER = "opensearch:2.19.6", "opensearch:3.8.0", "opensearch:3.7.0"
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
IMAGE: Json = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"server"}': {"f:image": {}}}}}}}
STRATEGY: Json = {"f:spec": {"f:updateStrategy": {"f:type": {}}}}


def template(image: str) -> Json:
    return {"spec": {"containers": [{"name": "server", "image": image}]}}


def carried(was: str = OLD, image: str = NEW) -> str:
    """The undo that a run writes when it gives a pool its image."""
    patch = changes_to(
        pool(updateStrategy=ROLLING, template=template(was)), "server", image, "OnDelete", Writer("r", "t")
    )
    assert patch is not None
    return str(patch["metadata"]["annotations"][UNDO])


def written(*entries: tuple[str, str, Json]) -> list[Json]:
    return [{"manager": manager, "time": time, "fieldsV1": fields} for manager, time, fields in entries]


def given(image: str = NEW, strategy: Json | None = None, **changes: Any) -> Json:
    """A pool that a run has given its image and strategy, as it is now."""
    annotations = {UNDO: carried()}
    return pool_json(
        template=template(image), updateStrategy=strategy or {"type": "OnDelete"}, annotations=annotations, **changes
    )


def seen(**changes: Any) -> StatefulSet:
    return stateful_set(given(**changes))


def test_a_pool_as_the_run_has_set_it_passes() -> None:
    assert judge_put_back(seen()).passed
    assert judge_put_back(pool(template=template(OLD))).passed


@pytest.mark.parametrize(("image", "says"), [(OLD, f"has put {OLD} back since"), (OTHER, f"has set {OTHER} since")])
def test_an_image_that_something_else_has_set_is_named_with_its_manager(image: str, says: str) -> None:
    fields = written(
        ("stateful.upgrade", "2026-11-21T00:00:01Z", STRATEGY),
        ("kubectl", "2026-11-20T00:00:00Z", IMAGE),
        ("in-house-sync", "2026-11-21T00:00:09Z", IMAGE),
    )
    (reason,) = judge_put_back(seen(image=image, managedFields=fields)).reasons
    assert (reason.code, reason.state) == ("image_put_back", State.REFUSED)
    assert f"the image {NEW}" in reason.message
    assert says in reason.message
    assert reason.message.endswith("as field manager in-house-sync.")


def test_a_strategy_that_was_put_back_is_named_with_its_manager() -> None:
    fields = written(("in-house-sync", "2026-11-21T00:00:09Z", STRATEGY))
    (reason,) = judge_put_back(seen(strategy=ROLLING, managedFields=fields)).reasons
    assert reason.code == "strategy_put_back"
    assert (
        "OnDelete, and something else has made it RollingUpdate since, as field manager in-house-sync" in reason.message
    )


def test_an_image_that_the_next_run_wants_is_noted_and_is_no_longer_put_back() -> None:
    """A person has corrected the image that a run before had set."""
    corrected = seen(image=OTHER)
    patch = changes_to(corrected, "server", OTHER, "OnDelete", Writer("next", "t"))
    assert patch is not None
    assert "spec" not in patch
    noted = json.loads(patch["metadata"]["annotations"][UNDO])["image"]
    assert noted == {"container": "server", "was": OLD, "set_to": OTHER}
    assert changes_to(seen(), "server", NEW, "OnDelete", Writer("next", "t")) is None


def put_back(world: World, image: str) -> None:
    world.pool["spec"]["template"] = template(image)
    world.pool["metadata"]["managedFields"] = written(("in-house-sync", "2026-11-21T00:00:09Z", IMAGE))


def test_no_member_goes_once_the_image_was_put_back() -> None:
    world = World()
    world.pool["metadata"]["annotations"] = {UNDO: carried()}
    put_back(world, OLD)
    (reason,) = turn(world, "data-2", as_set=True).verdict.reasons
    assert (reason.code, world.deleted) == ("image_put_back", [])
    # A member that is brought back comes as its pool is, whatever a run before has set.
    assert turn(world, "data-2").verdict.passed


def test_a_member_that_comes_back_on_an_image_that_was_put_back_is_told_as_that() -> None:
    world = World(template=template(NEW))
    world.on_tick = [lambda: None, lambda: put_back(world, OLD)]
    (reason,) = turn(world, "data-2").verdict.reasons
    assert (reason.code, reason.state) == ("image_put_back", State.REFUSED)
    assert f"from {NEW} to {OLD}, as field manager in-house-sync" in reason.message
    assert world.now() < 10
