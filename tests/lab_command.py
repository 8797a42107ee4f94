"""The common parts of demo and benchmark: options, a lab, an environment for Ansible, and an end by signal."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from tests.checks.tree import linked_project
from tests.lab.control_plane.build import ensure_built
from tests.lab.errors import LabError
from tests.lab.lab import Lab
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.layouts import seven_members, three_combined
from tests.lab.opensearch.locks import locked_versions, read_lock

OPEN = [version for version in locked_versions() if not read_lock(version).secured]
"""The versions that serve everyone."""
LAYOUTS = {"three": three_combined, "seven": seven_members}


def parser(target: str, description: str | None) -> argparse.ArgumentParser:
    """The options that say which cluster is upgraded, for the Makefile's target of this name."""
    options = argparse.ArgumentParser(prog=f"make {target} ARGS=…", description=description)
    options.add_argument("--members", choices=sorted(LAYOUTS), default="three", help="size of the cluster")
    options.add_argument("--from", dest="origin", choices=OPEN, default="2.19.6", help="version before (%(default)s)")
    options.add_argument("--to", dest="target", choices=OPEN, default="3.8.0", help="version after (%(default)s)")
    options.add_argument("--documents", type=int, default=20_000, help="their number at the beginning (%(default)s)")
    return options


def perform(name: str, work: Callable[[Path], int]) -> int:
    """Do the work in a folder of its own, which goes afterwards; give its exit code, 1 after an error or a signal."""
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        with tempfile.TemporaryDirectory(prefix=f"stateful-upgrade-{name}-") as folder:
            directory = Path(folder)
            directory.chmod(0o755)
            return work(directory)
    except (LabError, KeyboardInterrupt) as error:
        print(f"\n{error or 'interrupted'}; everything has been taken down", file=sys.stderr)
        return 1


def _interrupted(*_signal: object) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def raised(name: str, directory: Path, *versions: str, in_memory: bool = False) -> Iterator[Lab]:
    """A lab in which these versions of OpenSearch can run, for the length of the block.

    The real control plane is built, where this machine has none, while the servers are fetched.
    """
    with ThreadPoolExecutor(1) as pool:
        coming = {version: pool.submit(fetch_home, version) for version in versions}
        if not in_memory:
            ensure_built(_tell)
        for version, home in coming.items():
            with step(f"OpenSearch {version}"):
                home.result()
    kubernetes = "a Kubernetes API in memory" if in_memory else "a Kubernetes control plane"
    with step(f"{kubernetes} with one Kubernetes node in each of three zones"):
        lab = Lab.up(name, directory / "lab", in_memory=in_memory, tell=_tell)
    with lab:
        yield lab


@contextmanager
def fetching(version: str) -> Iterator[Future[Path]]:
    """Fetch a version of OpenSearch while something else is done in the block; it has to wait for the result."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(fetch_home, version)


def _tell(line: str) -> None:
    print(f"  {line}", flush=True)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print what is done in the block, and how long it took."""
    print(f"· {what}", flush=True)
    began = time.monotonic()
    yield
    print(f"  ready after {time.monotonic() - began:.1f} s", flush=True)


def environment() -> dict[str, str]:
    """The environment for ansible-playbook: this collection, and nothing of the user's.

    Python keeps compiled files, as it does by default: to compile the collection at each start takes half a second.
    """
    others = ("ANSIBLE_", "K8S_AUTH_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    wanted: dict[str, Any] = {
        "ANSIBLE_COLLECTIONS_PATH": str(linked_project()),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
    }
    if sys.stdout.isatty():
        wanted["ANSIBLE_FORCE_COLOR"] = "true"
    return {**kept, **wanted}
