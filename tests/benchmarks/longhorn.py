"""`python -m tests.benchmarks.longhorn`: the cost of planning the upgrade of a large Longhorn, and its calls per node.

The plan is made from objects as the API server lists them: volumes with two or three replicas, spread by chance. The
calls are those of whole switches, node after node, on Longhorn in memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast
from unittest import mock

import conftest  # noqa: F401  # makes the collection importable; pylint: disable=unused-import

# isort: split
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.answers import Kept
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn import node_engine_switch
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.order import digest, order
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.preflight import preflight
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.look import look

from tests.sandbox.longhorn import building
from tests.sandbox.longhorn.controllers.nodes import manager_of
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, QUICK, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.unit.plugins.module_utils.longhorn.driving import ACCEPTED, Driver

Json = dict[str, Any]
NOW = 1_800_000_000.0


@dataclass(frozen=True)
class Cost:
    """The cost of one plan. Seconds of computing, and megabytes of JSON."""

    turns: int
    blockers: int
    answers: float
    reading: float
    judging: float


class Lists:
    """In the place of the client of the collection: every list as JSON."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts
        self.kept = Kept()
        """As the client of the collection has it."""

    def list(self, path: str, *_selector: object) -> list[Json]:
        """The objects of a list."""
        return cast(list[Json], json.loads(self._texts.get(path.rpartition("/")[2].partition("?")[0], "[]")))


def main(argv: list[str]) -> int:
    """Print the cost of a plan, and the calls of the first, the middle and the last node."""
    options = argparse.ArgumentParser(prog='make benchmark-longhorn ARGS="…"', description=__doc__)
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--volumes", type=int, default=10_000)
    options.add_argument("--switched", type=int, default=12, help="nodes that are switched to count calls")
    given = options.parse_args(argv)
    cost = measure(given.nodes, given.volumes)
    print(f"{given.nodes} Kubernetes nodes, {given.volumes} volumes: {cost.turns} turns, {cost.blockers} blockers\n")
    print("answers  reading  judging     plan")
    print(
        f"{cost.answers:4.1f} MB {cost.reading:6.2f} s {cost.judging:6.2f} s {cost.reading + cost.judging:6.2f} s\n\n"
        f"most memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB\n"
    )
    found = calls(given.switched)
    shown = {"first": found[0], "middle": found[len(found) // 2], "last": found[-1]}
    print(f"calls of a node in a run over {given.switched} nodes:")
    print("".join(f"  {name}: {number}" for name, number in shown.items()))
    return 0


def measure(nodes: int, volumes: int) -> Cost:
    """Read the lists of such a Longhorn, order its nodes, and judge all of them."""
    texts = {kind: json.dumps(items) for kind, items in objects(nodes, volumes).items()}
    marks = [time.process_time()]
    seen = look(cast(KubernetesClient, Lists(texts)), NAMESPACE)
    marks.append(time.process_time())
    turns = order(seen, NEW_IMAGE)
    found = preflight(seen, [each.node for each in turns], NEW_IMAGE, ACCEPTED)
    digest(seen, NEW_IMAGE, (), ACCEPTED, False)
    marks.append(time.process_time())
    reading, judging = (later - earlier for earlier, later in pairwise(marks))
    return Cost(len(turns), len(found.deciding()), sum(map(len, texts.values())) / 1e6, reading, judging)


def objects(nodes: int, volumes: int) -> dict[str, list[Json]]:
    """All objects of a Longhorn at rest, by the plural of their kind. Every volume is attached and healthy."""
    chance = random.Random(7)  # noqa: S311 - the same cluster on every run
    machines = [Machine(f"node-{number:03d}") for number in range(nodes)]
    names = [each.name for each in machines]
    found: dict[str, list[Json]] = {each: [] for each in ("volumes", "engines", "enginefrontends", "replicas")}
    instances: dict[str, dict[str, Json]] = {name: {} for name in names}
    for number in range(volumes):
        held = tuple(chance.sample(names, chance.choice((2, 3))))
        volume = Volume(f"pvc-{number:05d}", held, attached=chance.choice(names))
        for kind, item in _of_volume(volume):
            found[kind].append(item)
            place = instances[item["spec"]["nodeID"]] if kind != "volumes" else {}
            place[item["metadata"]["name"]] = {"spec": {"name": ""}, "status": {"state": "running"}}
    found["settings"] = building.setting_objects(Described(tuple(machines)))
    found["instancemanagers"] = [each for name in names for each in _managers(name, instances[name])]
    found["nodes"] = [_node(each) for each in machines]
    return found


def _of_volume(volume: Volume) -> list[tuple[str, Json]]:
    item = _with_uid(building.volume_object(volume))
    item["spec"]["nodeID"] = volume.attached
    at = {"currentNodeID": volume.attached, "currentEngineNodeID": volume.attached}
    item["status"] |= {"state": "attached", "robustness": "healthy", **at}
    replicas = building.replica_objects(volume, item, NOW)
    modes = {each["metadata"]["name"]: "RW" for each in replicas}
    engine, frontend = building.engine_object(volume, item), building.frontend_object(volume, item)
    engine["status"] |= {"replicaModeMap": modes, "snapshots": {}}
    for each in (engine, frontend):
        each["spec"]["nodeID"] = volume.attached
    parts = [("engines", engine), ("enginefrontends", frontend), *(("replicas", each) for each in replicas)]
    for _kind, each in parts:
        each["status"]["currentState"] = "running"
    return [("volumes", item), *((kind, _with_uid(each)) for kind, each in parts)]


def _managers(node: str, instances: dict[str, Json]) -> list[Json]:
    old, new = _with_uid(manager_of(node, OLD_IMAGE)), _with_uid(manager_of(node, NEW_IMAGE))
    old["status"] = {"currentState": "running", "apiVersion": 6, "instanceReplicas": instances}
    new["status"] = {"currentState": "stopped", "apiVersion": 0}
    return [old, new]


def _node(machine: Machine) -> Json:
    """A Longhorn node, which is the Kubernetes node of the same name as well: both lists end in `nodes`."""
    item = _with_uid(building.node_object(machine, NOW))
    item["status"]["images"] = [{"names": [each]} for each in machine.images]
    item["status"]["capacity"] = {"hugepages-2Mi": machine.huge_pages}
    return item


def _with_uid(item: Json) -> Json:
    item["metadata"]["uid"] = f"uid-{item['metadata']['name']}"
    return item


def calls(nodes: int) -> list[int]:
    """The calls of each node in a run over so many; each node has the engine of one volume and three replicas."""
    names = [f"n{number:02d}" for number in range(nodes)]
    ring = [*names, *names]
    volumes = tuple(
        Volume(f"v{number:02d}", tuple(ring[number : number + 3]), names[number]) for number in range(nodes)
    )
    longhorn = Longhorn(Described(tuple(map(Machine, names)), volumes, frontends_outlive=True), pace=QUICK)
    driver = Driver(longhorn)
    found = []
    with ExitStack() as patched:
        patched.enter_context(mock.patch.object(node_engine_switch, "connect", driver.connect))
        for name in names:
            before = len(driver.api.asked)
            assert driver.switch(name).verdict.passed
            found.append(len(driver.api.asked) - before)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
