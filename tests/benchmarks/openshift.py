"""`python -m tests.benchmarks.openshift`: the cost of what a plan of a large OpenShift computes from its pods.

The lists are made up in the shape of those of an API server: pods with what it keeps for itself, spread by chance over
Kubernetes nodes in three zones, a tenth of them with a volume in its zone, and budgets of applications.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import conftest  # noqa: F401  # makes the collection importable; pylint: disable=unused-import

# isort: split
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.budgets import judge_budgets
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.room import judge_room
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workload_look import look_at_workloads
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import PAGE, KubernetesClient

Json = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
APPLICATION = 20
"""Pods of an application, which share a namespace and a budget."""


@dataclass(frozen=True)
class Cost:
    """The cost of one plan. Seconds of computing, and megabytes of JSON."""

    calls: int
    answers: float
    reading: float
    budgets: float
    room: float
    reasons: tuple[str, ...]


class Lists:
    """In the place of the client of the collection: every list as JSON, page by page."""

    def __init__(self, texts: Mapping[str, list[str]]) -> None:
        self._texts = texts

    def list_as(self, path: str, read: Callable[[Json], Any], **_selectors: object) -> list[Any]:
        """The results of `read` for the objects of a list."""
        pages = self._texts[path.rpartition("/")[2]]
        return [read(each) for page in pages for each in json.loads(page)["items"]]

    def list(self, path: str) -> list[Json]:
        """The objects of a list."""
        return cast(list[Json], self.list_as(path, dict))


def main(argv: list[str]) -> int:
    """Print the cost of plans with room to spare, and without."""
    options = argparse.ArgumentParser(prog='make benchmark-openshift ARGS="…"', description=__doc__)
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--pods", type=int, default=10_000)
    given = options.parse_args(argv)
    print(f"{given.nodes} Kubernetes nodes, {given.pods} pods\n")
    print("batches of  requested   calls   answers  reading  budgets     room   remarks")
    for at_once in (1, given.nodes // 10):
        for share in (50, 98):
            cost = measure(given.nodes, given.pods, max(1, at_once), share)
            seconds = " ".join(f"{each:6.2f} s" for each in (cost.reading, cost.budgets, cost.room))
            print(f"{at_once:>10} {share:>8} % {cost.calls:>7} {cost.answers:6.1f} MB {seconds} {len(cost.reasons):>9}")
    print(f"\nmost memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


def measure(nodes: int, pods: int, at_once: int, share: int) -> Cost:
    """Read the lists of such a cluster, of which the pods request a share in percent, and judge budgets and room."""
    names = [f"worker-{number:03}" for number in range(nodes)]
    texts = {kind: _pages(items) for kind, items in objects(names, pods, share).items()}
    batches = {f"nodes-{start:03}": names[start : start + at_once] for start in range(0, nodes, at_once)}
    marks = [time.process_time()]
    seen, _remarks = look_at_workloads(cast(KubernetesClient, Lists(texts)))
    assert seen is not None
    marks.append(time.process_time())
    verdicts = [judge_budgets(seen.budgets, seen.pods, set(names))]
    marks.append(time.process_time())
    verdicts.append(judge_room(seen, batches))
    marks.append(time.process_time())
    reading, budgets, room = (later - earlier for earlier, later in pairwise(marks))
    found = tuple(each.code for verdict in verdicts for each in verdict.reasons)
    calls, size = sum(map(len, texts.values())), sum(len(page) for pages in texts.values() for page in pages)
    return Cost(calls, size / 1e6, reading, budgets, room, found)


def objects(names: list[str], pods: int, share: int) -> dict[str, list[Json]]:
    """All objects by the plural of their kind."""
    chance = random.Random(7)  # noqa: S311 - the same cluster on every run
    zone_of = {name: "abc"[number % 3] for number, name in enumerate(names)}
    cpu = 16_000 * len(names) * share // 100 // pods
    found: dict[str, list[Json]] = {
        "nodes": [_node(name, zone) for name, zone in zone_of.items()],
        "pods": [],
        "persistentvolumes": [],
        "poddisruptionbudgets": [_budget(number) for number in range(pods // APPLICATION)],
    }
    for number in range(pods):
        # Nearly even, as a scheduler places them.
        name = names[number % len(names)]
        with_volume = number % 10 == 0
        found["pods"].append(_pod(number, name, f"{chance.randint(cpu * 8 // 10, cpu * 12 // 10)}m", with_volume))
        if with_volume:
            found["persistentvolumes"].append(_volume(number, zone_of[name]))
    return found


def _pod(number: int, node: str, cpu: str, with_volume: bool) -> Json:
    application = number // APPLICATION
    env = [{"name": f"SETTING_{each}", "value": "a value of some length"} for each in range(20)]
    requests = {"cpu": cpu, "memory": "1Gi"}
    container = {"image": "registry.example.com/server:1", "env": env, "resources": {"requests": requests}}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{number}"}}] if with_volume else []
    fields: Json = {f"f:field{each}": {".": {}, "f:value": {}} for each in range(60)}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "data", "uid": str(application)}
    return {
        "metadata": {
            "namespace": f"app-{application}",
            "name": f"data-{number}",
            "labels": {"app": "data", "apps.kubernetes.io/pod-index": str(number)},
            "ownerReferences": [{**owner, "controller": True}],
            "managedFields": [{"manager": name, "fieldsV1": fields} for name in ("controller", "kubelet")],
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": name, **container} for name in ("server", "proxy")],
            "volumes": volumes,
            "tolerations": [
                {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
                for key in ("not-ready", "unreachable")
            ],
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _node(name: str, zone: str) -> Json:
    labels = {ZONE: zone, "kubernetes.io/hostname": name, "node-role.kubernetes.io/worker": ""}
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "250"}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": amounts}}


def _volume(number: int, zone: str) -> Json:
    rule = {"key": ZONE, "operator": "In", "values": [zone]}
    return {
        "metadata": {"name": f"pvc-{number}"},
        "spec": {
            "claimRef": {"namespace": f"app-{number // APPLICATION}", "name": f"data-{number}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}},
        },
        "status": {"phase": "Bound"},
    }


def _budget(number: int) -> Json:
    return {
        "metadata": {"namespace": f"app-{number}", "name": "data"},
        "spec": {"selector": {"matchLabels": {"app": "data"}}, "maxUnavailable": 1},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 20, "desiredHealthy": 19, "expectedPods": 20},
    }


def _pages(items: list[Json]) -> list[str]:
    return [json.dumps({"items": items[start : start + PAGE]}) for start in range(0, max(1, len(items)), PAGE)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
