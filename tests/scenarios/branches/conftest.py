"""Every branch, fault and kill on servers in memory; on real ones with `STATEFUL_UPGRADE_PLATFORM=lab`.

In a process that was prepared (`make runs`) each run is a call, and time is virtual. A test that needs the real
ansible-playbook is marked with `own_process` (`make branches`).
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.sandbox.sandbox import Sandbox
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import UpgradeRuns
from tests.scenarios.platforms import Platform
from tests.scenarios.refusing import refuse, run

__all__ = ["ansible_environment", "images", "platform", "refuse", "run", "upgrade_runs"]

NUMBERS = itertools.count(1)
REAL = os.environ.get("STATEFUL_UPGRADE_PLATFORM") == "lab"
PREPARED = "tests.runs.prepared" in sys.modules
"""Whether runs are calls in this process, on a virtual clock."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that needs processes of its own would find no server in one that was prepared."""
    if PREPARED and item.get_closest_marker("own_process"):
        pytest.fail("It needs the real ansible-playbook: run it with `make branches`.", pytrace=False)


@pytest.fixture(scope="session")
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    """The servers in memory, or the lab."""
    if REAL:
        yield request.getfixturevalue("lab")
        return
    # The driver needs a process that was prepared.
    with import_module("tests.runs.driver").platform_here() if PREPARED else Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def ansible_environment(ansible_environment: Mapping[str, str]) -> Mapping[str, str]:
    """The environment of ansible-playbook; in a process that was prepared it has one already."""
    return {} if PREPARED else ansible_environment


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
