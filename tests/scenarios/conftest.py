# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab for all scenarios of a process, and clusters that several tests share."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.fixtures import lab
from tests.lab.lab import Lab
from tests.lab.opensearch.archive import make_archive
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.layouts import three_combined
from tests.lab.opensearch.locks import locked_versions
from tests.scenarios.cluster import Cluster

__all__ = ["lab", "standing"]


LONGEST = ("test_interrupted", "test_meanwhile", "test_hand_over", "test_upgrade", "test_runs")
"""Modules that take minutes come first, or one process would work on one of them while the other has nothing left."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest modules first; each process takes the next module in this order."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONGEST)))


OFTEN = ("2.19.6", "3.8.0")
"""What members boot a hundred times; the archive of its classes takes 20 s, and takes 2 of 4 s off each boot."""


@pytest.fixture(scope="session", autouse=True)
def images() -> None:
    """The servers, which the lab's Kubernetes nodes do not fetch themselves; made once for all processes."""
    for version in locked_versions():
        fetch_home(version)
    with ThreadPoolExecutor() as pool:
        list(pool.map(make_archive, OFTEN))


@pytest.fixture(scope="module")
def standing(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Cluster]:
    """One cluster of three members on 2.19.6 for all tests of a module, each of which leaves it as it was."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    cluster = Cluster.start(lab, name, three_combined, "2.19.6")
    yield cluster
    cluster.remove()
