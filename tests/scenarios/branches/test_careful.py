"""The checks of a careful operator in the plan of a whole cluster in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.sandbox.sandbox import Sandbox
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.preconditions import POOL
from tests.scenarios.tasks import Result, Tasks, step

FROM, TO = "2.19.6", "3.8.0"
ICU, KNN = "analysis-icu", "opensearch-knn"
MEMBERS = [f"{POOL}-{ordinal}" for ordinal in range(3)]


@pytest.fixture
def sandbox(platform: Platform) -> Sandbox:
    if not isinstance(platform, Sandbox):
        pytest.skip("the images of real servers have no such plugins")
    return platform


@pytest.fixture
def tasks(sandbox: Sandbox, tmp_path: Path, ansible_environment: Mapping[str, str]) -> Iterator[Tasks]:
    """Plays tasks against a cluster whose members have two plugins."""
    sandbox.members.plugins = {FROM: {ICU: FROM, KNN: FROM}}
    cluster = Cluster.start(sandbox, "careful", three_combined, FROM)
    yield Tasks(cluster, tmp_path, ansible_environment)
    cluster.remove()
    sandbox.members.plugins = {}


def said(result: Result) -> dict[str, str]:
    """Code and sentence of the reasons."""
    return {reason["code"]: reason["message"] for reason in result["verdict"]["reasons"]}


def test_an_image_without_a_plugin_of_its_members_is_refused_in_the_plan(sandbox: Sandbox, tasks: Tasks) -> None:
    options: dict[str, Any] = {"target_version": TO, "namespace": tasks.cluster.namespace}
    sandbox.members.plugins[TO] = {KNN: "3.7.0"}
    refuses, skips = tasks.play(
        step("upgrade_plan", **options), step("upgrade_plan", **options, skip_checks=["plugins"])
    )
    found = said(refuses)
    assert refuses["failed"]
    assert f"opensearch:{TO} does not hold plugin {ICU}" in found["plugin_missing"]
    assert ", ".join(MEMBERS) in found["plugin_missing"]
    assert "built for OpenSearch 3.7.0" in found["plugin_of_another_version"]
    assert skips["verdict"]["state"] == "passed"
    assert "plugins" in said(skips)["check_skipped"]
    sandbox.members.plugins[TO] = {ICU: TO, KNN: TO}
    passes = tasks.one("upgrade_plan", **options)
    assert (passes["verdict"]["state"], "plugin_missing" in said(passes)) == ("passed", False)
