"""One platform for all scenarios of a process, and clusters that several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.fixtures import lab
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.stock import stock_servers
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform

__all__ = ["lab", "platform", "servers", "standing"]


LONGEST = (
    "test_template_changed",
    "test_capacity",
    "test_fleet",
    "test_meanwhile",
    "test_pages",
    "test_steps",
    "test_interrupted",
    "test_restart_hosts",
    "test_runs",
    "test_killed_at_steps",
    "test_schedule",
    "test_awx",
    "test_stuck_member",
    "test_seven_members",
    "test_left_behind",
    "test_new_configuration",
    "test_killed_at_random",
    "test_refusals",
    "test_doors",
    "test_disturbed",
    "test_monitoring",
    "test_request",
    "test_pipelines",
    "test_readme",
    "test_modules",
    "test_notices",
    "test_canary",
    "test_passes",
    "test_molecule",
    "test_longhorn",
    "test_openshift_database",
    "test_openshift",
    "test_openshift_passes",
    "test_kubeadm",
    "test_openshift_machines",
    "test_hosts",
    "test_secured",
    "test_restart",
    "test_helm",
    "test_gate_checks",
    "test_run_engine",
    "test_gitops",
    "test_upgrade",
    "test_member_roles",
    "test_elasticsearch",
    "test_remote_store",
    "test_demo",
    "test_hand_over",
)
"""Modules that take minutes come first, or one process would work on one of them while the other has nothing left."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest modules first; each process takes the next module in this order."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="session")
def servers() -> None:
    """The servers, which the lab's Kubernetes nodes do not fetch themselves; made once for all processes."""
    stock_servers()


@pytest.fixture(scope="session", autouse=True)
def images(servers: None) -> None:
    """Every scenario in this folder needs them."""


@pytest.fixture(scope="session")
def platform(lab: Lab) -> Platform:
    """The lab."""
    return lab


@pytest.fixture(scope="module")
def standing(request: pytest.FixtureRequest, platform: Platform) -> Iterator[Cluster]:
    """One cluster of three members on 2.19.6 for all tests of a module, each of which leaves it as it was."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    cluster = Cluster.start(platform, name, three_combined, "2.19.6")
    yield cluster
    cluster.remove()
