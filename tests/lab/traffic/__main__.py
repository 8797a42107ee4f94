"""``python -m tests.lab.traffic seed|run|check``: fill a cluster, load it until SIGTERM, and read everything back."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.traffic.generator import Generator
from tests.lab.traffic.members import Members, Target
from tests.lab.traffic.records import Health, Operation, read
from tests.lab.traffic.report import Report, summarize
from tests.lab.traffic.traffic import DOCUMENTS, RATE, TIMEOUT, check, seed


async def _run(target: Target, directory: Path, rate: float, timeout: float) -> Report:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Members(target) as members:
        began, ended = await Generator(members, directory, rate, timeout).run(stop)
    return summarize(read(directory, Operation), read(directory, Health), began, ended)


def _arguments() -> argparse.Namespace:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--kubeconfig", type=Path, default=Path())
    common.add_argument("--namespace", default="")
    common.add_argument("--selector", default="", help="labels of the pods to send to, as for a Service")
    common.add_argument("--port", type=int, default=9200)
    common.add_argument(
        "--hosts", default="", help="addresses of members that are not pods, instead of the first three"
    )
    common.add_argument("--directory", type=Path, required=True, help="where the records and the report are kept")
    parser = argparse.ArgumentParser(prog="python -m tests.lab.traffic", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    filled = commands.add_parser("seed", parents=[common], help="make four indices and fill them")
    filled.add_argument("--documents", type=int, default=DOCUMENTS)
    run = commands.add_parser("run", parents=[common], help="write and search until SIGTERM")
    run.add_argument("--rate", type=float, default=RATE, help="operations a second, half of them writes")
    run.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds that an operation may take")
    commands.add_parser("check", parents=[common], help="read every acknowledged document back")
    return parser.parse_args()


def main() -> int:
    """Runs the command line and gives the exit code: 1 for an error, 2 when the check finds documents missing."""
    arguments = _arguments()
    hosts = tuple(filter(None, arguments.hosts.split(",")))
    target = Target(arguments.kubeconfig, arguments.namespace, arguments.selector, arguments.port, hosts)
    directory: Path = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.command == "seed":
            seed(target, directory, arguments.documents)
            return 0
        if arguments.command == "run":
            report = asyncio.run(_run(target, directory, arguments.rate, arguments.timeout))
            report.write(directory)
        else:
            report = check(target, directory)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    print(report.table())
    return 2 if report.loss and report.loss.count else 0


if __name__ == "__main__":
    sys.exit(main())
