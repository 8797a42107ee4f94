"""A story that fails, made as small as it can be while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.runs.random_runs.playing import play_story
from tests.runs.random_runs.story import Story
from tests.sandbox.paces import QUICK


def smallest_text(story: Story) -> str:
    """The smallest story that still fails as this one does, played and told in full."""
    return play_story(shrunk(story, lambda each: bool(play_story(each).faults))).text()


def shrunk(story: Story, fails: Callable[[Story], bool]) -> Story:
    """The smallest story that still fails, as far as leaving things out leads."""
    for smaller in _smaller(story):
        if fails(smaller):
            return shrunk(smaller, fails)
    return story


def _smaller(story: Story) -> Iterator[Story]:
    if story.paces != QUICK:
        yield replace(story, paces=QUICK)
    for left_out in story.events:
        yield replace(story, events=tuple(each for each in story.events if each is not left_out))
    for name in story.options:
        yield replace(story, options={key: value for key, value in story.options.items() if key != name})
    for without in story.indices:
        yield replace(story, indices=tuple(each for each in story.indices if each is not without))
    for number, pool in enumerate(story.pools):
        others = (*story.pools[:number], *story.pools[number + 1 :])
        if others and any(each.manages for each in others) and any("data" in each.roles for each in others):
            yield replace(story, pools=others)
        for fewer in sorted({max(3, pool.replicas // 2), pool.replicas - 1}):
            if 3 <= fewer < pool.replicas:
                smaller = replace(pool, replicas=fewer)
                yield replace(story, pools=(*story.pools[:number], smaller, *story.pools[number + 1 :]))
