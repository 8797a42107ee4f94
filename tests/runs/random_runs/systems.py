"""The systems whose upgrades are played: the stories of each, its stage, and the bugs that its observer has to find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from tests.runs.observer.bugs import BUGS
from tests.runs.observer.longhorn.bugs import BUGS as BUGS_OF_LONGHORN
from tests.runs.observer.machines import BUGS as BUGS_OF_MACHINES
from tests.runs.observer.openshift import BUGS as BUGS_OF_OPENSHIFT
from tests.runs.random_runs import playing
from tests.runs.random_runs.longhorn import stage as of_longhorn
from tests.runs.random_runs.longhorn import story as longhorn
from tests.runs.random_runs.machines import story as machines
from tests.runs.random_runs.machines.stage import stage_of as stage_of_machines
from tests.runs.random_runs.opensearch import stage as of_opensearch
from tests.runs.random_runs.opensearch import story as opensearch
from tests.runs.random_runs.opensearch.on_hosts import stage_on_hosts
from tests.runs.random_runs.openshift import stage as of_openshift
from tests.runs.random_runs.openshift import story as openshift
from tests.runs.random_runs.story import Story
from tests.runs.world import World

Bug = tuple[Callable[[], AbstractContextManager[None]], frozenset[str]]


@dataclass(frozen=True)
class System:
    """A system whose upgrades are played."""

    story_of: Callable[[int], Story]
    """The story of a seed."""
    stage: Callable[[World, Any], AbstractContextManager[playing.Stage]]
    """The cluster of a story of this system, in a world with nothing in it."""
    bugs: Mapping[str, Bug]

    def play(self, story: Story) -> playing.Ending:
        """Play a story to its end."""
        return playing.play_story(story, lambda world: self.stage(world, story))


def _of_opensearch(here: World, story: opensearch.OpenSearchStory) -> AbstractContextManager[playing.Stage]:
    return stage_on_hosts(here, story) if story.on_hosts else nullcontext(of_opensearch.OpenSearchStage(here, story))


SYSTEMS: Mapping[str, System] = {
    "opensearch": System(opensearch.story_of, _of_opensearch, BUGS),
    "openshift": System(
        openshift.story_of, lambda here, story: nullcontext(of_openshift.OpenShiftStage(here, story)), BUGS_OF_OPENSHIFT
    ),
    "longhorn": System(
        longhorn.story_of, lambda here, story: nullcontext(of_longhorn.LonghornStage(here, story)), BUGS_OF_LONGHORN
    ),
    "machines": System(machines.story_of, stage_of_machines, BUGS_OF_MACHINES),
}
"""By name."""
