# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m tests.demo`: sets everything up, upgrades a real cluster under traffic, prints what it cost, cleans up."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from tests.checks.tree import linked_project
from tests.demo.figures import Figures, member_times
from tests.lab.errors import LabError
from tests.lab.lab import Lab
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.layouts import seven_members, three_combined
from tests.lab.opensearch.locks import locked_versions
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import play

LAYOUTS = {"three": three_combined, "seven": seven_members}
PLAYBOOK = "stateful.upgrade.opensearch"


def main(argv: list[str]) -> int:
    """Run the demo and give its exit code: 0 only when the upgrade succeeded and nothing is missing."""
    options = _options(argv)
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        with tempfile.TemporaryDirectory(prefix="stateful-upgrade-demo-") as folder:
            directory = Path(folder)
            directory.chmod(0o755)
            return _demonstrate(options, directory)
    except (LabError, KeyboardInterrupt) as error:
        print(f"\n{error or 'interrupted'}; everything has been taken down", file=sys.stderr)
        return 1


def _interrupted(*_signal: object) -> NoReturn:
    raise KeyboardInterrupt


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo ARGS=…", description=__doc__)
    parser.add_argument("--members", choices=sorted(LAYOUTS), default="three", help="size of the cluster")
    parser.add_argument("--from", dest="origin", choices=locked_versions(), default="2.19.6")
    parser.add_argument("--to", dest="target", choices=locked_versions(), default="3.8.0")
    parser.add_argument("--documents", type=int, default=20_000)
    return parser.parse_args(argv)


def _demonstrate(options: argparse.Namespace, directory: Path) -> int:
    for version in (options.origin, options.target):
        with _step(f"OpenSearch {version}"):
            fetch_home(version)
    with _step("a Kubernetes control plane with one Kubernetes node in each of three zones"):
        lab = Lab.up("demo", directory / "lab", tell=lambda line: print(f"  {line}", flush=True))
    with lab:
        with _step(f"an OpenSearch {options.origin} cluster ({options.members} members)"):
            cluster = Cluster.start(lab, "search", LAYOUTS[options.members], options.origin)
        figures = _upgrade(cluster, options, directory)
    print(figures.table())
    return 0 if figures.good else 1


def _upgrade(cluster: Cluster, options: argparse.Namespace, directory: Path) -> Figures:
    with _step(f"{options.documents} documents"):
        seed(cluster.target, directory, documents=options.documents)
    variables = cluster.variables(options.target)
    print(
        f"\n$ ansible-playbook {PLAYBOOK} -e target_version={options.target} …   (writes and searches run all along)\n"
    )
    with Traffic.start(cluster.target, directory) as traffic:
        began = time.monotonic()
        played = play(PLAYBOOK, variables, _environment(), live=True)
        ended = time.monotonic()
        traffic.stop()
    events = [event for event in cluster.lab.events() if began <= event["monotonic"] <= ended]
    return Figures(
        code=played.code,
        seconds=ended - began,
        members=member_times(events, cluster.namespace),
        report=check(cluster.target, directory),
        versions=cluster.versions(),
        health=cluster.health()["status"],
        target=options.target,
    )


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "K8S_AUTH_"))}
    wanted: dict[str, Any] = {
        "ANSIBLE_COLLECTIONS_PATH": str(linked_project()),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
    }
    if sys.stdout.isatty():
        wanted["ANSIBLE_FORCE_COLOR"] = "true"
    return {**kept, **wanted}


@contextmanager
def _step(what: str) -> Iterator[None]:
    print(f"· {what}", flush=True)
    began = time.monotonic()
    yield
    print(f"  ready after {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
