"""Plays random upgrades: `make random-runs ARGS="--first 0 --count 2000"`. With `--seed` one of them, told in full."""

from __future__ import annotations

import argparse
import subprocess
import sys

import tests.runs.prepared  # noqa: F401 - it prepares this process before ansible-core is imported
from tests.runs.observer.bugs import BUGS
from tests.runs.random_runs.playing import play_story
from tests.runs.random_runs.shrinking import smallest_text
from tests.runs.random_runs.story import story_of


def main() -> int:
    """The exit code: 1 if a run has failed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--first", type=int, default=0, help="the first seed")
    arguments.add_argument("--count", type=int, default=200, help="the number of seeds")
    arguments.add_argument("--jobs", type=int, default=2, help="processes at a time")
    arguments.add_argument("--seed", type=int, help="only this one, with all that happens")
    arguments.add_argument("--bug", choices=BUGS, help="put this bug in, and say after how many upgrades it is found")
    given = arguments.parse_args()
    if given.bug is not None:
        return _found(given.bug, range(given.first, given.first + given.count))
    if given.seed is not None:
        return _told(given.seed)
    if given.jobs > 1:
        return _shared(given.first, given.count, given.jobs)
    return _played(range(given.first, given.first + given.count))


def _told(seed: int) -> int:
    ending = play_story(story_of(seed))
    print(ending.text(), *([f"refused: {ending.refused}"] if ending.refused else []), sep="\n")
    return int(bool(ending.faults))


def _found(bug: str, seeds: range) -> int:
    """Whether a bug stays unnoticed by all of these seeds."""
    put_in, rules = BUGS[bug]
    for number, seed in enumerate(seeds, start=1):
        with put_in():
            ending = play_story(story_of(seed))
        if any(f"[{rule}]" in fault for rule in rules for fault in ending.faults):
            print(f"{bug}: found by random upgrade {number}, seed {seed}: {ending.faults[0]}")
            return 0
    print(f"{bug}: not found by {len(seeds)} random upgrades")
    return 1


def _shared(first: int, count: int, jobs: int) -> int:
    """Each process has seeds of its own; a process that plays has no time of its own to wait for others."""
    share = -(-count // jobs)
    firsts = range(first, first + count, share)
    command = [sys.executable, "-m", "tests.runs.random_runs", "--jobs", "1"]
    processes = [
        subprocess.Popen([*command, "--first", str(each), "--count", str(min(share, first + count - each))])
        for each in firsts
    ]
    codes = [each.wait() for each in processes]
    return max(codes)


def _played(seeds: range) -> int:
    starts = acts = refused = 0
    failed = list[int]()
    for seed in seeds:
        ending = play_story(story_of(seed))
        starts, acts, refused = starts + ending.runs, acts + ending.acts, refused + bool(ending.refused)
        if ending.faults:
            failed.append(seed)
            print(smallest_text(ending.story), flush=True)
    print(
        f"seeds {seeds.start} to {seeds.stop - 1}: {len(seeds)} random upgrades, {starts} starts of the playbook,"
        f" {acts} acts, {refused} refused, {len(failed)} failed{': ' if failed else ''}{', '.join(map(str, failed))}",
        flush=True,
    )
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
