"""`python -m tests.lab up|status|break|mend|down`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from tests.lab import control
from tests.lab.errors import exit_code
from tests.lab.faults import TIMED
from tests.lab.lab import Lab, default_directory
from tests.lab.teardown import tear_down


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", default="lab", help="the lab's name (default: lab)")
    common.add_argument("--directory", type=Path, help="where it lives (default: by its name under the temp directory)")
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab",
        description="A real Kubernetes control plane and a process kubelet, without containers.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", parents=[common], help="start a lab")
    up.add_argument("--zones", default="a,b,c", help="comma-separated zones (default: a,b,c)")
    up.add_argument("--nodes-per-zone", type=int, default=1, help="Kubernetes nodes in each zone (default: 1)")
    up.add_argument("--in-memory", action="store_true", help="API server and controllers in memory, without a build")
    up.add_argument("--with-parent", action="store_true", help="end the lab when the calling process ends")
    commands.add_parser("status", parents=[common], help="show Kubernetes nodes, pods and faults")
    down = commands.add_parser("down", parents=[common], help="end a lab and remove its directory")
    down.add_argument("--keep", action="store_true", help="leave the directory with all logs")
    _add_faults(commands.add_parser("break", parents=[common], help="switch a fault on"))
    mend = commands.add_parser(
        "mend", parents=[common], help="switch faults off: of a pod, of a Kubernetes node, or all"
    )
    mend.add_argument("what", nargs="?", help="NAMESPACE/POD or the name of a Kubernetes node")
    return parser


def _add_faults(parser: argparse.ArgumentParser) -> None:
    faults = parser.add_subparsers(dest="fault", required=True)
    texts = {
        "never-ready": "the pod never gets Ready",
        "crash-loop": "the pod's processes are killed as soon as they start",
        "slow-stop": "the pod takes SECONDS to stop",
        "slow-mounts": "changes of Secrets and ConfigMaps take SECONDS to arrive in the pod's files",
        "back-off": "the pod's containers wait for at most SECONDS before they are started again",
        "kill": "SIGKILL the pod's processes, once",
    }
    for fault, text in texts.items():
        one = faults.add_parser(fault, help=text)
        one.add_argument("pod", metavar="NAMESPACE/POD")
        if fault in TIMED:
            one.add_argument("seconds", type=float)
    away = faults.add_parser("api-server-away", help="the API server is killed, and started again after SECONDS")
    away.add_argument("seconds", type=float)
    dead = faults.add_parser("node-dead", help="a Kubernetes node loses its power")
    dead.add_argument("node")


def main(argv: Sequence[str]) -> int:
    """Run one command; 0 is success, 1 an error that was reported in one sentence."""
    options = _parser().parse_args(argv)
    directory = (options.directory or default_directory(options.name)).absolute()
    commands = {"up": _up, "status": _status, "break": _break, "mend": _mend, "down": _down}
    return exit_code(lambda: commands[options.command](options, directory), "error: ")


def _up(options: argparse.Namespace, directory: Path) -> None:
    begun = time.monotonic()
    lab = Lab.up(
        options.name,
        directory,
        nodes_per_zone=options.nodes_per_zone,
        zones=options.zones.split(","),
        owner=os.getppid() if options.with_parent else None,
        in_memory=options.in_memory,
        tell=lambda line: print(line, flush=True),
    )
    nodes = ", ".join(f"{node['name']} (zone {node['zone']})" for node in lab.status()["nodes"])
    print(f"lab {options.name} is up after {time.monotonic() - begun:.1f} s on {lab.address_range}")
    print(f"Kubernetes nodes: {nodes}")
    print(f"export KUBECONFIG={lab.kubeconfig()}")


def _status(_options: argparse.Namespace, directory: Path) -> None:
    status = Lab.attach(directory).status()
    print(f"lab {status['name']} on {status['network']}, API server {status['server']}, directory {directory}")
    rows = [["KUBERNETES NODE", "ZONE", "ADDRESS", "STATE"]]
    for node in status["nodes"]:
        rows.append([node["name"], node["zone"], node["address"], "alive" if node["alive"] else "dead"])
    _table(rows)
    rows = [["POD", "KUBERNETES NODE", "ADDRESS", "STATE", "READY", "RESTARTS"]]
    for pod in status["pods"]:
        state = pod["reason"] or pod["phase"]
        name = f"{pod['namespace']}/{pod['name']}"
        rows.append([name, pod["node"], pod["address"], state, "yes" if pod["ready"] else "no", str(pod["restarts"])])
    _table(rows)
    for fault in status["faults"]:
        target = fault.get("node") or f"{fault['namespace']}/{fault['pod']}"
        print(f"broken: {fault['fault']} {target}{' ' + str(fault['seconds']) + ' s' if 'seconds' in fault else ''}")


def _table(rows: list[list[str]]) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _pod(name: str) -> dict[str, str]:
    namespace, _slash, pod = name.rpartition("/")
    return {"namespace": namespace or "default", "pod": pod}


def _break(options: argparse.Namespace, directory: Path) -> None:
    about: dict[str, object] = {}
    if options.fault == "node-dead":
        about["node"] = options.node
    elif options.fault != "api-server-away":
        about.update(_pod(options.pod))
    if "seconds" in options:
        about["seconds"] = options.seconds
    control.ask(directory, "break", fault=options.fault, **about)
    print(f"broken: {options.fault} {' '.join(str(value) for value in about.values())}")


def _mend(options: argparse.Namespace, directory: Path) -> None:
    lab = Lab.attach(directory)
    names = {node["name"] for node in lab.status()["nodes"]}
    if options.what is None:
        lab.faults.mend_all()
    elif options.what in names:
        lab.faults.mend_node(options.what)
    else:
        lab.faults.mend(**_pod(options.what))
    print(f"mended: {options.what or 'everything'}")


def _down(options: argparse.Namespace, directory: Path) -> None:
    done = tear_down(directory, keep=options.keep)
    left = f", {len(done.killed)} of them by force" if done.killed else ""
    kept = f"; its files are in {directory}" if options.keep else ""
    print(f"lab in {directory} is down; {len(done.recorded)} processes ended{left}{kept}")
