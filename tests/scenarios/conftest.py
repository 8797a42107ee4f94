# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab for all scenarios, and clusters that several tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.lab.fixtures import lab
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster

__all__ = ["lab", "standing"]


@pytest.fixture(scope="session", autouse=True)
def hang_up_ends_a_process() -> Iterator[None]:
    """Also where the tests were started under nohup, whose children would inherit that they ignore it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def standing(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Cluster]:
    """One cluster of three members on 2.19.6 for all tests of a module, each of which leaves it as it was."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    cluster = Cluster.start(lab, name, three_combined, "2.19.6")
    yield cluster
    cluster.remove()
