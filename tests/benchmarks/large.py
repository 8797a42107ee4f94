"""`make benchmark-large`: the upgrade of a large cluster by a real ansible-playbook, with the cost of each batch.

    make benchmark-large ARGS="--members 1000 --shards 50000 --at-once 10%"

The servers are in memory behind real sockets, in the process of the benchmark. Seconds of a core and memory are those
of ansible-playbook and its workers alone; real seconds contain the waits, and the servers on the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  # makes the collection importable; pylint: disable=unused-import

# isort: split
from tests.lab.opensearch.layouts import with_pools
from tests.lab_command import environment, perform
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.opensearch.large import fill, pools_of, register_nodes
from tests.sandbox.sandbox import Sandbox
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, PLAYBOOK, Played, command_of, digest_in

FROM, TO = "2.19.6", "3.8.0"
TICKS = os.sysconf("SC_CLK_TCK")
LOOK = 0.2
"""Seconds between two looks at a run."""
MIB = 1024
"""Kibibytes."""


@dataclass(frozen=True)
class Used:
    """What a process and those below it have used until now."""

    core: float
    """Seconds of a core."""
    memory: float
    """The most memory of a single process, MiB."""


@dataclass(frozen=True)
class Cost:
    """The cost of the plan, or of a batch."""

    members: int
    seconds: float
    core: float
    memory: float


@dataclass
class OfPlan:
    """The cost of a plan."""

    _since: float = field(default_factory=time.monotonic)
    _used: Used = Used(0.0, 0.0)

    def look(self, pid: int) -> None:
        """Note what its processes have used; the last look of all counts, as an ended process has used nothing."""
        used = used_by(pid)
        self._used = Used(max(self._used.core, used.core), max(self._used.memory, used.memory))

    def cost(self, members: int) -> Cost:
        """The cost, once it has ended."""
        return Cost(members, time.monotonic() - self._since, self._used.core, self._used.memory)


@dataclass
class OfBatches:
    """The costs of the batches of a run, from looks at its record and at its processes; printed as they come."""

    sandbox: Sandbox
    namespace: str
    _number: int = 0
    _since: float = field(default_factory=time.monotonic)
    _before: Used = Used(0.0, 0.0)

    def look(self, pid: int) -> None:
        """Note the batches that are done since the last look; several at once share their cost."""
        done = self._done()[self._number :]
        used = used_by(pid)
        now = time.monotonic()
        for members in done:
            seconds, core = now - self._since, used.core - self._before.core
            self._number += 1
            _show_cost(f"batch {self._number}", Cost(members, seconds / len(done), core / len(done), used.memory))
        if done:
            self._since, self._before = now, used

    def _done(self) -> list[int]:
        with self.sandbox.listening.lock:
            kept = [each.get("data") or {} for each in self.sandbox.api.store.each(CONFIG_MAPS, self.namespace)]
        records = [json.loads(each["record.json"]) for each in kept if "record.json" in each]
        return [len(each["members"]) for record in records for each in record["batches"] if each["state"] == "done"]


def used_by(pid: int) -> Used:
    """What this process and all below it have used, those that have ended and were waited for included."""
    core, memory = 0.0, 0.0
    for each in (pid, *_below(pid)):
        try:
            times = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[11:15]
            status = Path(f"/proc/{each}/status").read_text()
        except OSError:  # it has ended by now
            continue
        core += sum(map(int, times)) / TICKS
        largest = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")]
        memory = max([memory, *(each / MIB for each in largest)])
    return Used(core, memory)


def _below(pid: int) -> Iterator[int]:
    for thread in _threads(pid):
        try:
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        except OSError:
            continue
        for each in map(int, children):
            yield each
            yield from _below(each)


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def main(argv: list[str]) -> int:
    """Measure, and give the exit code: 0 only if every member is upgraded."""
    options = argparse.ArgumentParser(prog='make benchmark-large ARGS="…"', description=__doc__)
    options.add_argument("--members", type=int, default=1_000)
    options.add_argument("--shards", type=int, default=50_000)
    options.add_argument("--at-once", default="", help="upgrade_max_unavailable: members of a pool in one batch")
    given = options.parse_args(argv)
    more = {"upgrade_max_unavailable": given.at_once} if given.at_once else {}
    return perform("benchmark-large", lambda _directory: _measure(given.members, given.shards, more))


def _measure(members: int, shards: int, more: dict[str, Any]) -> int:
    with Sandbox() as sandbox:
        register_nodes(sandbox, members)
        cluster = Cluster.start(sandbox, "large", with_pools(pools_of(members)), FROM)
        (servers,) = sandbox.members.clusters_in(cluster.namespace)
        with sandbox.listening.lock:
            fill(servers, shards)
        cluster.until_green()
        given = {**cluster.variables(TO), "upgrade_batching": "disjoint", **more}
        _show("", "members", "seconds", "of a core", "memory")
        of_plan = OfPlan()
        planned = _played(PLAN, given, of_plan.look)
        if planned.code != 0:
            print(planned.output)
            return 1
        _show_cost("plan", of_plan.cost(members))
        of_batches = OfBatches(sandbox, cluster.namespace)
        ended = _played(PLAYBOOK, {**given, "upgrade_confirm": digest_in(planned)}, of_batches.look)
        upgraded = sum(version == TO for version in cluster.versions().values())
    print(f"\n{upgraded} of {members} members, {shards} shards with one replica")
    if ended.code != 0:
        print(ended.output)
    return 0 if ended.code == 0 and upgraded == members else 1


def _played(playbook: str, given: dict[str, Any], look: Callable[[int], None]) -> Played:
    """A run to its end, in a process of its own as users start it; `look` gets its pid again and again."""
    surroundings = {**environment(), "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    with tempfile.TemporaryFile("w+") as output:
        run = subprocess.Popen(command_of(playbook, given), env=surroundings, stdout=output, stderr=subprocess.STDOUT)
        try:
            while run.poll() is None:
                look(run.pid)
                time.sleep(LOOK)
        finally:
            run.kill()
        output.seek(0)
        return Played(run.wait(), output.read())


def _show_cost(name: str, cost: Cost) -> None:
    _show(name, str(cost.members), f"{cost.seconds:.1f}", f"{cost.core:.1f}", f"{cost.memory:.0f} MiB")


def _show(name: str, *columns: str) -> None:
    print(f"{name:<10}", *(f"{each:>10}" for each in columns), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
