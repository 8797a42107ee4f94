"""Plays random upgrades: `make random-runs ARGS="--first 0 --count 2000"`. With `--seed` one of them, told in full."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time

import tests.runs.prepared  # noqa: F401 - it prepares this process before ansible-core is imported
from tests.runs.random_runs.playing import Ending, play_story
from tests.runs.random_runs.shrinking import shrunk
from tests.runs.random_runs.story import story_of


def main() -> int:
    """The exit code: 1 if a run has failed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--first", type=int, default=0, help="the first seed")
    arguments.add_argument("--count", type=int, default=200, help="the number of seeds")
    arguments.add_argument("--jobs", type=int, default=2, help="processes at a time")
    arguments.add_argument("--seed", type=int, help="only this one, with all that happens")
    given = arguments.parse_args()
    if given.seed is not None:
        ending = play_story(story_of(given.seed))
        print(ending.text(), f"refused: {ending.refused}" if ending.refused else "", sep="\n")
        return int(bool(ending.faults))
    began = time.process_time(), time.perf_counter()
    seeds = range(given.first, given.first + given.count)
    with multiprocessing.get_context("fork").Pool(given.jobs) as pool:
        endings = [_shown(each) for each in pool.imap(_played, seeds)]
    failed = [each for each in endings if each.faults]
    print(
        f"{len(endings)} random runs, {sum(each.runs for each in endings)} starts of the playbook,"
        f" {sum(each.acts for each in endings)} acts, {sum(bool(each.refused) for each in endings)} refused,"
        f" {len(failed)} failed, {time.perf_counter() - began[1]:.0f} s"
    )
    return int(bool(failed))


def _played(seed: int) -> Ending:
    return play_story(story_of(seed))


def _shown(ending: Ending) -> Ending:
    if ending.faults:
        smallest = shrunk(ending.story, lambda each: bool(play_story(each).faults))
        print(play_story(smallest).text(), flush=True)
    return ending


if __name__ == "__main__":
    sys.exit(main())
