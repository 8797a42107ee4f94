"""Every branch, fault and kill on servers in memory; on real ones with `STATEFUL_UPGRADE_PLATFORM=lab`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.sandbox.sandbox import Sandbox
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import UpgradeRuns
from tests.scenarios.platforms import Platform

NUMBERS = itertools.count(1)
REAL = os.environ.get("STATEFUL_UPGRADE_PLATFORM") == "lab"


@pytest.fixture(scope="session")
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    """The servers in memory, or the lab."""
    if REAL:
        yield request.getfixturevalue("lab")
        return
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="session", autouse=True)
def images(request: pytest.FixtureRequest) -> None:
    """The servers, which only the lab needs."""
    if REAL:
        request.getfixturevalue("servers")


@pytest.fixture
def upgrade_runs(platform: Platform, ansible_environment: Mapping[str, str]) -> Iterator[UpgradeRuns]:
    """A cluster of three members on 2.19.6, which is to come to 3.8.0."""
    cluster = Cluster.start(platform, f"runs-{next(NUMBERS)}", three_combined, "2.19.6")
    yield UpgradeRuns.begin(cluster, "3.8.0", ansible_environment)
    cluster.remove()
