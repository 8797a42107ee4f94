"""All that is made once per machine, in the cache, before anything runs in the lab: `python -m tests.lab.stock`.

Most of it is made of one long build and many short downloads, so it is made side by side.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.lab.control_plane.build import ensure_built
from tests.lab.elasticsearch.homes import STOCKED
from tests.lab.elasticsearch.homes import fetch_home as fetch_elasticsearch
from tests.lab.errors import exit_code
from tests.lab.machines import operating_system
from tests.lab.machines.build import INSTALLED, NEXT, programs_of
from tests.lab.monitoring.debian import ensure_unpacked
from tests.lab.opensearch.archive import make_archive
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.locks import locked_versions
from tests.lab.openshift.build import VERSION_OPERATOR
from tests.lab.openshift.definitions import DEFINITIONS
from tests.sandbox.longhorn.definitions import LONGHORN
from tests.sandbox.machines.definitions import CLUSTER_API
from tests.sandbox.openshift.definitions import OPENSHIFT

OFTEN = ("2.19.6", "3.8.0")
"""The versions that members boot a hundred times. An archive of classes takes 20 s, and saves 2 of 4 s at each boot."""


def stock_servers() -> None:
    """Fetch the servers of all locked versions, and archive the classes of those that are booted often.

    Raises:
        LabError: one of them is not available.
    """
    for version in locked_versions():
        fetch_home(version)
    for version in STOCKED:
        fetch_elasticsearch(version)
    with ThreadPoolExecutor() as pool:
        list(pool.map(make_archive, OFTEN))


def main() -> int:
    """Makes all of it; gives the exit code."""
    return exit_code(_stock)


def _stock() -> None:
    with ThreadPoolExecutor() as pool:
        built = pool.submit(ensure_built, _tell)
        operator = pool.submit(VERSION_OPERATOR.ensure_built, _tell)
        definitions = (LONGHORN, CLUSTER_API, OPENSHIFT, DEFINITIONS)
        fetched = [pool.submit(each.ensure_fetched, _tell) for each in definitions]
        unpacked = pool.submit(ensure_unpacked, _tell)
        machine = pool.submit(_stock_machines)
        stock_servers()
        for each in fetched:
            each.result()
        unpacked.result()
        operator.result()
        built.result()
        machine.result()
        # They share most of what the control plane is compiled of.
        for version in (INSTALLED, NEXT):
            programs_of(version).ensure_built(_tell)


def _stock_machines() -> None:
    if not operating_system.why_not():
        operating_system.ensure_made(_tell)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
