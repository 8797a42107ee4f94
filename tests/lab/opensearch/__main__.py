"""``python -m tests.lab.opensearch fetch|archive [versions]`` and, for developers with Maven, ``lock <version>``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.errors import exit_code
from tests.lab.opensearch.archive import make_archive
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.locks import Lock, locked_versions
from tests.lab.opensearch.maven import fetch_jar, resolve, security_plugin, sha256


def _each(make: Callable[[str], Path], versions: list[str]) -> None:
    for version in versions or locked_versions():
        started = time.monotonic()
        path = make(version)
        print(f"OpenSearch {version}: {path} ({time.monotonic() - started:.1f} s)")


def _lock(version: str, *, security: bool) -> None:
    coordinates = resolve(version) + (security_plugin(version) if security else [])
    with tempfile.TemporaryDirectory(prefix="opensearch-lock-") as directory, ThreadPoolExecutor(6) as pool:
        digests = list(pool.map(lambda one: sha256(fetch_jar(one, Path(directory))), coordinates))
    path = Lock(version, dict(zip(coordinates, digests, strict=True))).write()
    print(f"OpenSearch {version}: {len(coordinates)} files in {path}")


def main() -> int:
    """Runs the command line and gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.opensearch", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    several = argparse.ArgumentParser(add_help=False)
    several.add_argument("versions", nargs="*", help="all locked ones when none is given")
    commands.add_parser("fetch", parents=[several], help="fetch what the locks name and assemble the homes")
    commands.add_parser("archive", parents=[several], help="fetch, and make the archives that halve a member's boot")
    lock = commands.add_parser("lock", help="make the lock of a version again (needs Maven)")
    lock.add_argument("version")
    lock.add_argument("--security", action="store_true", help="with the security plugin, which clusters then ask for")
    arguments = parser.parse_args()
    if arguments.command == "lock":
        return exit_code(lambda: _lock(arguments.version, security=arguments.security))
    each = {"fetch": fetch_home, "archive": make_archive}[arguments.command]
    return exit_code(lambda: _each(each, arguments.versions))


if __name__ == "__main__":
    sys.exit(main())
