"""`python -m tests.benchmarks`: upgrades the same kind of cluster in several ways under traffic, compares the cost."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from kubernetes.client.exceptions import ApiException

from tests.benchmarks.phases import Course, Look, course
from tests.benchmarks.precedence import first_served
from tests.benchmarks.rest import Rest, poll
from tests.benchmarks.results import Result, document, heading, passed, table, task_table
from tests.benchmarks.tasks import seconds_by_task
from tests.benchmarks.watch import Watch
from tests.benchmarks.ways import LOG, WAYS, Work, with_cpu_limit, without_archive
from tests.figures import member_times
from tests.lab.errors import LabError
from tests.lab.kubelet.limits import millicores, obstacle
from tests.lab.lab import Lab
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.records import Health, read
from tests.lab_command import LAYOUTS, parser, perform, raised, step
from tests.scenarios.cluster import Cluster

NUMBERS = {"three": 3, "seven": 7}
"""Members of each layout."""
STEP = 50
"""Thousandths of a core to which limits are rounded."""


def main(argv: list[str]) -> int:
    """Compare, and give the exit code: 0 only when this collection lost nothing and the cluster was never red."""
    options = _options(argv)
    return perform("benchmark", lambda directory: _compare(options, directory))


def _options(argv: list[str]) -> argparse.Namespace:
    options = parser("benchmark", __doc__)
    options.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="what is compared, in order")
    options.add_argument("--rate", type=float, default=10, help="operations of the traffic a second")
    options.add_argument("--repeat", type=int, default=1, help="how often each way is gone")
    options.add_argument("--cpu", type=_limit, metavar="LIMIT|none", help="CPU limit of every member, as 400m")
    options.add_argument("--json", type=Path, metavar="PATH", help="write everything there, too")
    parsed = options.parse_args(argv)
    if parsed.cpu is None:
        usual = share(NUMBERS[parsed.members], len(os.sched_getaffinity(0)))
        parsed.cpu = "" if obstacle(usual) else usual
    elif parsed.cpu and (why_not := obstacle(parsed.cpu)):
        options.error(f"argument --cpu: a limit of {parsed.cpu} cannot be enforced on this machine: {why_not}")
    return parsed


def share(members: int, cores: int) -> str:
    """The limit that shares the machine's cores out among the members, so that none slows the others down."""
    return f"{round(1000 * cores / members / STEP) * STEP}m"


def _limit(text: str) -> str:
    if text == "none":
        return ""
    try:
        if millicores(text) > 0:
            return text
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    raise argparse.ArgumentTypeError(f"{text!r} is no limit; it must be more than 0")


def _compare(options: argparse.Namespace, directory: Path) -> int:
    names = ("members", "origin", "target", "documents", "rate", "repeat", "cpu")
    settings = {name: getattr(options, name) for name in names}
    print(heading(settings), flush=True)
    results: dict[str, list[Result]] = {way: [] for way in dict.fromkeys(options.ways)}
    for number in range(options.repeat):
        for way, found in results.items():
            # A lab of its own: one in which clusters have come and gone is slower.
            place = directory / f"{way}-{number}"
            place.mkdir()
            with raised("benchmark", place, options.origin, options.target) as lab:
                found.append(_measure(lab, way, options, place))
            print(f"  {found[-1].done:.1f} s\n{found[-1].report.table()}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(document(results, settings), indent=2) + "\n", encoding="utf-8")
    shown = table(results, {name: way.title for name, way in WAYS.items()})
    print(f"\n{heading(settings)}\n\n{shown}\n\n{task_table(results)}")
    return 0 if passed(results) else 1


def _measure(lab: Lab, name: str, options: argparse.Namespace, directory: Path) -> Result:
    """One way, on a cluster of its own."""
    way = WAYS[name]
    with step(f"a cluster of OpenSearch {options.origin} for: {way.title}"):
        layout = without_archive(way.layout(LAYOUTS[options.members]))
        if options.cpu:
            layout = with_cpu_limit(layout, options.cpu)
        cluster = Cluster.start(lab, directory.name, layout, options.origin)
        seed(cluster.target, directory, documents=options.documents)
        work = way.prepare(cluster, options.target, directory)
    print(f"· {way.title}", flush=True)
    with Traffic.start(cluster.target, directory, rate=options.rate) as traffic, Watch(Rest(cluster.url)) as watch:
        began = time.monotonic()
        with first_served():
            failure = _failure(work)
        done = time.monotonic()
        whole = _whole(cluster, options.target)
        report = traffic.stop()
    result = Result(
        way=name,
        failure=failure,
        done=done - began,
        whole=whole and whole - began,
        course=_course(lab.events(), cluster.namespace, directory, watch.looks, began, max(done, whole or done)),
        report=report,
        tasks=_tasks(directory / LOG),
    )
    cluster.remove()
    return result


def _failure(work: Work) -> str:
    """The reason why the work failed, or nothing."""
    try:
        work()
    except (LabError, ApiException) as error:
        return str(error)
    return ""


def _whole(cluster: Cluster, version: str) -> float | None:
    """The time at which the cluster is green with every member on the version; None if it never is."""
    rest = Rest(cluster.url)

    def look() -> bool:
        versions = {node["version"] for node in rest.ask("/_nodes/_all/_none")["nodes"].values()}
        return versions == {version} and bool(rest.ask("/_cluster/health")["status"] == "green")

    try:
        poll("A whole cluster", look)
    except LabError:
        return None
    return time.monotonic()


def _course(
    events: list[dict[str, Any]], namespace: str, directory: Path, looks: list[Look], began: float, ended: float
) -> Course:
    events = [event for event in events if began <= event["monotonic"] <= ended]
    to_monotonic = time.monotonic() - time.time()
    samples = [Health(sample.at + to_monotonic, sample.status) for sample in read(directory, Health)]
    return course(member_times(events, namespace), looks, samples, began, ended)


def _tasks(log: Path) -> dict[str, float]:
    return seconds_by_task(log.read_text(encoding="utf-8")) if log.exists() else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
