"""Runs of Longhorn whose volumes, images and leftovers are of a special kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.random_runs.longhorn.stage import LonghornStage
from tests.runs.random_runs.longhorn.story import OUTSIDE, REPLACEMENT, LonghornStory
from tests.runs.turns import Killed
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.longhorn.description import OLD_IMAGE, Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN

NODES = ("n01", "n02", "n03")
OPTIONS = {"upgrade_accept_unverified": [REPLACEMENT]}


@pytest.fixture
def here() -> Iterator[World]:
    """A world for one Longhorn."""
    with world() as made:
        yield made


@pytest.mark.parametrize("playbook", ["stateful.upgrade.settle", "stateful.upgrade.abort"])
def test_pods_with_which_a_killed_run_has_pulled_the_image_are_removed_without_another_run(
    here: World, playbook: str
) -> None:
    machines = (Machine("n01"), Machine("n02", images=(OLD_IMAGE,)), Machine("n03"))
    stage = LonghornStage(
        here, LonghornStory(0, OUTSIDE, machines, (Volume("v", NODES, "n01"),), True, options=OPTIONS)
    )
    given, before = stage.variables(), here.calling.after

    def kill(request: Request) -> None:
        before(request)
        if request.method == "POST" and request.path.endswith("/pods") and "dryRun" not in request.query:
            raise Killed

    def left() -> list[str]:
        found = here.sandbox.api.store.list(PODS, NAMESPACE)
        return sorted(str(each["metadata"]["name"]) for each in found if "image-pull" in each["metadata"]["name"])

    here.calling.after = kill
    with pytest.raises(Killed):
        here.play(PLAN, stage.of_plan(given))
    here.calling.after = before
    (pod,) = left()
    other = dict(here.sandbox.api.store.get(PODS, NAMESPACE, pod) or {})
    labels = {"app": "x", "upgrade.stateful/image-pull": "uid-of-a-pool"}
    other["metadata"] = {"name": "other-image-pull-x", "namespace": NAMESPACE, "labels": labels}
    here.sandbox.apply([other])
    checked = here.play(playbook, stage.of_plan(given), "--check")
    assert (checked.code, len(left())) == (0, 2), checked.output
    done = here.play(playbook, stage.of_plan(given))
    assert done.code == 0, done.output
    here.later(30)
    assert left() == ["other-image-pull-x"]
