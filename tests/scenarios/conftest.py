# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab for all scenarios of a process, and clusters that several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.fixtures import lab
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.stock import stock_servers
from tests.scenarios.cluster import Cluster

__all__ = ["lab", "standing"]


LONGEST = ("test_interrupted", "test_meanwhile", "test_hand_over", "test_upgrade", "test_runs", "test_helm")
"""Modules that take minutes come first, or one process would work on one of them while the other has nothing left."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest modules first; each process takes the next module in this order."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def images() -> None:
    """The servers, which the lab's Kubernetes nodes do not fetch themselves; made once for all processes."""
    stock_servers()


@pytest.fixture(scope="module")
def standing(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Cluster]:
    """One cluster of three members on 2.19.6 for all tests of a module, each of which leaves it as it was."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    cluster = Cluster.start(lab, name, three_combined, "2.19.6")
    yield cluster
    cluster.remove()
