"""Plays random upgrades: `make random-runs ARGS="--first 0 --count 2000"`. With `--seed` one of them, shown in full."""

from __future__ import annotations

import argparse
import subprocess
import sys

import tests.runs.prepared  # noqa: F401 - it prepares this process before ansible-core is imported
from tests.runs.random_runs.shrinking import smallest_text
from tests.runs.random_runs.systems import SYSTEMS, System


def main() -> int:
    """The exit code: 1 if a run has failed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--system", choices=SYSTEMS, default="opensearch", help="the system that is upgraded")
    arguments.add_argument("--first", type=int, default=0, help="the first seed")
    arguments.add_argument("--count", type=int, default=200, help="the number of seeds")
    arguments.add_argument("--jobs", type=int, default=2, help="processes at a time")
    arguments.add_argument("--seed", type=int, help="only this one, with all that happens")
    arguments.add_argument("--bug", help="put this bug in, and say after how many upgrades it is found")
    given = arguments.parse_args()
    system = SYSTEMS[given.system]
    if given.bug is not None:
        if given.bug not in system.bugs:
            arguments.error(f"the bugs of {given.system} are {', '.join(system.bugs)}")
        return _found(system, given.bug, range(given.first, given.first + given.count))
    if given.seed is not None:
        return _told(system, given.seed)
    if given.jobs > 1:
        return _shared(given)
    return _played(system, range(given.first, given.first + given.count))


def _told(system: System, seed: int) -> int:
    ending = system.play(system.story_of(seed))
    print(ending.text(), *([f"refused: {ending.refused}"] if ending.refused else []), sep="\n")
    return int(bool(ending.faults))


def _found(system: System, bug: str, seeds: range) -> int:
    """The exit code: 0 if the observer finds the bug with one of these seeds, else 1."""
    put_in, rules = system.bugs[bug]
    for number, seed in enumerate(seeds, start=1):
        with put_in():
            ending = system.play(system.story_of(seed))
        if any(f"[{rule}]" in fault for rule in rules for fault in ending.faults):
            print(f"{bug}: found by random upgrade {number}, seed {seed}: {ending.faults[0]}")
            return 0
    print(f"{bug}: not found by {len(seeds)} random upgrades")
    return 1


def _shared(given: argparse.Namespace) -> int:
    """Play in several processes, each with seeds of its own; gives the highest exit code."""
    share, end = -(-given.count // given.jobs), given.first + given.count
    command = [sys.executable, "-m", "tests.runs.random_runs", "--system", given.system, "--jobs", "1"]
    processes = [
        subprocess.Popen([*command, "--first", str(each), "--count", str(min(share, end - each))])
        for each in range(given.first, end, share)
    ]
    codes = [each.wait() for each in processes]
    return max(codes)


def _played(system: System, seeds: range) -> int:
    starts = acts = refused = 0
    failed = list[int]()
    for seed in seeds:
        ending = system.play(system.story_of(seed))
        starts, acts, refused = starts + ending.runs, acts + ending.acts, refused + bool(ending.refused)
        if ending.faults:
            failed.append(seed)
            print(smallest_text(ending.story, system.play), flush=True)
    print(
        f"seeds {seeds.start} to {seeds.stop - 1}: {len(seeds)} random upgrades, {starts} starts of the playbook,"
        f" {acts} acts, {refused} refused, {len(failed)} failed{': ' if failed else ''}{', '.join(map(str, failed))}",
        flush=True,
    )
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
