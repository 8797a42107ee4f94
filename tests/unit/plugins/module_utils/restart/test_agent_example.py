"""The example of a pool with the agent is one that takes new configurations in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.pod_spec import (
    Mounted,
    how_mounted,
    judge_from_pod,
    judge_probes,
    judge_signal,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.pod_spec import (
    from_pod,
    mounts_of,
    probes_of,
    shares_processes,
)

EXAMPLE = Path(__file__).resolve().parents[5] / "docs" / "examples" / "restart-agent.yml"
SERVER, FILE = "opensearch", "/usr/share/opensearch/config/opensearch.yml"


@pytest.fixture(name="spec")
def _spec() -> dict[str, Any]:
    items = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["items"]
    (pool,) = [each for each in items if each["kind"] == "StatefulSet"]
    spec: dict[str, Any] = pool["spec"]["template"]["spec"]
    return spec


def test_its_configuration_follows_the_secret(spec: dict[str, Any]) -> None:
    assert how_mounted(mounts_of(spec, SERVER, ("data",)), FILE, "data-configuration") == Mounted("/configuration")


def test_its_server_reads_the_key_of_its_pod(spec: dict[str, Any]) -> None:
    (server,) = spec["containers"]
    assert "--config=/configuration/$(POD_NAME)" in server["command"]
    assert f"ln -sfn /configuration/$(POD_NAME) {FILE}" in server["command"][-1]


def test_nothing_stands_against_a_restart_in_place(spec: dict[str, Any]) -> None:
    assert not judge_from_pod("data", from_pod(spec, SERVER)).reasons
    assert not judge_probes("data", SERVER, probes_of(spec, SERVER), 9443).reasons
    assert not judge_signal("data", shares_processes(spec)).reasons
