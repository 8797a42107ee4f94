"""A story that fails, made as small as it can be while it still fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.runs.random_runs.playing import Ending
from tests.runs.random_runs.story import Story, Told


def smallest_text(story: Story, play: Callable[[Story], Ending]) -> str:
    """The smallest story that still fails as this one does, played and shown in full."""
    return play(shrunk(story, lambda each: bool(play(each).faults))).text()


def shrunk(story: Told, fails: Callable[[Told], bool]) -> Told:
    """The smallest story that still fails, as far as leaving things out leads."""
    for smaller in story.smaller():
        if fails(smaller):
            return shrunk(smaller, fails)
    return story
