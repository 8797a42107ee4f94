"""`python -m tests.demo.cluster up|down`: real members without a control plane, which run until they are stopped.

`up` writes how the playbooks reach them to `cluster.yml` in the directory, for `ansible-playbook -e @cluster.yml`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from tests.lab.errors import exit_code
from tests.lab.lab import Lab, default_directory
from tests.lab.opensearch.homes import fetch_home
from tests.lab.teardown import tear_down
from tests.lab.traffic import seed
from tests.lab_command import LAYOUTS, OPEN
from tests.scenarios.cluster import Cluster

NAME, FILE = "cluster", "cluster.yml"


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    where = "a new or empty folder (default: below the temp directory)"
    common.add_argument("--directory", type=Path, default=default_directory(NAME), help=where)
    parser = argparse.ArgumentParser(prog="python -m tests.demo.cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", parents=[common], help="start a cluster, and write how it is reached")
    up.add_argument("--members", choices=sorted(LAYOUTS), default="three", help="size of the cluster")
    up.add_argument("--version", choices=OPEN, default="2.19.6", help="of OpenSearch (%(default)s)")
    up.add_argument("--namespace", default="search", help="of its pods (%(default)s)")
    up.add_argument("--documents", type=int, default=500, help="their number (%(default)s)")
    up.add_argument("--control-plane", action="store_true", help="the real control plane, built once per machine")
    commands.add_parser("down", parents=[common], help="end the cluster and remove the folder")
    return parser


def main(argv: list[str]) -> int:
    """Run one command; 0 is success, 1 an error that was reported in one sentence."""
    options = _parser().parse_args(argv)
    directory = options.directory.absolute()
    command = {"up": lambda: _up(options, directory), "down": lambda: _down(directory)}[options.command]
    return exit_code(command, "error: ")


def _up(options: argparse.Namespace, directory: Path) -> None:
    fetch_home(options.version)
    lab = Lab.up(NAME, directory, owner=None, in_memory=not options.control_plane)
    try:
        cluster = Cluster.start(lab, options.namespace, LAYOUTS[options.members], options.version)
        if options.documents:
            seed(cluster.target, directory, documents=options.documents)
        reached = {name: value for name, value in cluster.variables("").items() if name != "target_version"}
        (directory / FILE).write_text(yaml.safe_dump(reached), encoding="utf-8")
    except BaseException:
        tear_down(directory)
        raise
    print(f"OpenSearch {options.version} is at {cluster.url}, its pods are in the namespace {cluster.namespace}")
    print(f"export KUBECONFIG={lab.kubeconfig()}")
    print(f"ansible-playbook stateful.upgrade.plan -e @{directory / FILE} -e target_version=…")


def _down(directory: Path) -> None:
    done = tear_down(directory)
    print(f"the cluster in {directory} is down; {len(done.recorded)} processes ended")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
