"""`python -m tests.benchmarks.restart`: a restart of each process against a new pod for each, in one cluster.

The same playbook brings a changed setting to the same three members, in their pods and with new ones by turns, under
the same traffic. The seconds are those of the whole run after its plan was confirmed, divided by the members. A first
run with new pods warms up and is not counted. Since each restart comes after new pods, the back-off of the kubelet
never counts.

A new pod costs nothing here: no scheduling by a busy cluster, no image, no volume that is attached anew. A user's
cluster takes these seconds in addition; the last line says how many of them a new pod must take to meet the goal.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client

from tests.lab.errors import LabError
from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic import Report, Traffic, check, seed
from tests.lab.traffic.budgets import RESTARTED
from tests.lab_command import environment, perform, raised
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.playbook import digest_of, play
from tests.scenarios.preconditions import POOL

RESTART = "stateful.upgrade.restart"
SETTING = "indices.query.bool.max_clause_count"
REPLACED = {"process": "never", "pod": "always"}
WAYS = tuple(REPLACED)
GOAL = 0.8
"""The ratio that a restart of the process is to stay below."""


@dataclass(frozen=True)
class Restarted:
    """One run, with what its traffic has seen."""

    by: str
    seconds_a_member: float
    report: Report


def main(argv: list[str]) -> int:
    """Compare, and give the exit code: 0 only if nothing was lost and the traffic kept within its error budget."""
    options = argparse.ArgumentParser(prog="benchmark-restart", description=__doc__)
    options.add_argument("--version", default="2.19.6", help="the version of the members")
    options.add_argument("--documents", type=int, default=5_000, help="documents before the first run")
    options.add_argument("--repeat", type=int, default=1, help="how often each way is gone and counted")
    chosen = options.parse_args(argv)
    return perform("benchmark-restart", lambda directory: _compare(chosen, directory))


def _compare(options: argparse.Namespace, directory: Path) -> int:
    results: list[Restarted] = []
    with _cluster(options.version, directory) as cluster:
        seed(cluster.target, directory, documents=options.documents)
        for number, by in enumerate(("pod", *WAYS * options.repeat)):
            done = _run(cluster, by, 2_000 + number, directory)
            print(_row(done) + ("   (not counted)" if number == 0 else ""), flush=True)
            results += [done] if number else []
    process, pod = (_mean(results, by) for by in WAYS)
    print(f"ratio: {process / pod:.2f} (a restart of the process against a replacement of the pod; goal: below {GOAL})")
    print(f"The goal is met if a new pod takes {max(0.0, process / GOAL - pod):.1f} s more than here.")
    for each in results:
        print(each.report.beside(RESTARTED), *each.report.harm(RESTARTED), sep="\n")
    return 1 if any(each.report.harm(RESTARTED) for each in results) else 0


def _mean(results: Sequence[Restarted], by: str) -> float:
    """The seconds a member of one way, on average."""
    took = [each.seconds_a_member for each in results if each.by == by]
    return sum(took) / len(took)


@contextmanager
def _cluster(version: str, directory: Path) -> Iterator[Cluster]:
    with raised("benchmark-restart", directory, version, in_memory=True) as lab:
        cluster = Cluster.start(lab, "restart", three_combined, version, configured=True)
        lab.apply(bound(RESTART_ROLE, cluster.namespace))
        yield cluster


def _run(cluster: Cluster, by: str, value: int, directory: Path) -> Restarted:
    """One run that brings the setting with this value, once all its members are Ready."""
    cluster.until_ready()
    given = {name: each for name, each in cluster.variables("").items() if name != "target_version"}
    given |= {
        "upgrade_replace_pods": REPLACED[by],
        "upgrade_configuration": [{"pool": POOL, "contents": _wanted(cluster, value)}],
    }
    around = environment()
    given["upgrade_confirm"] = digest_of({**given, "upgrade_system": RESTART}, around)
    with Traffic.start(cluster.target, directory) as traffic:
        began = time.monotonic()
        played = play(RESTART, given, around)
        took = time.monotonic() - began
        traffic.stop()
    if played.code != 0:
        raise LabError(f"the run by {by} has failed: {played.message}")
    return Restarted(by, took / len(cluster.versions()), check(cluster.target, directory))


def _wanted(cluster: Cluster, value: int) -> Mapping[str, str]:
    with cluster.platform.client() as api:
        found: Any = client.CoreV1Api(api).read_namespaced_secret(f"{POOL}-configuration", cluster.namespace)
    lines = {name: base64.b64decode(text).decode().splitlines() for name, text in found.data.items()}
    kept = {name: [line for line in each if not line.startswith(SETTING)] for name, each in lines.items()}
    return {name: "\n".join([*each, f"{SETTING}: {json.dumps(value)}", ""]) for name, each in kept.items()}


def _row(one: Restarted) -> str:
    loss, health = one.report.loss, one.report.health
    missing = loss.count if loss else "unknown"
    return f"{one.by:<8} {one.seconds_a_member:6.2f} s a member   {missing} missing, red {health['red']:.1f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
