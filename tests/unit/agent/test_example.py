"""The example of a pool with the agent: its options exist, its files are mounted, its probes let it stop a process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.agent.agents import PROGRAM

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(scope="module")
def pod() -> dict[str, Any]:
    items = yaml.safe_load((DOCS / "examples/restart-agent.yml").read_text())["items"]
    (pool,) = [item for item in items if item["kind"] == "StatefulSet"]
    spec: dict[str, Any] = pool["spec"]["template"]["spec"]
    return spec


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The options that the agent has."""
    done = subprocess.run([sys.executable, str(PROGRAM), "--help"], check=True, capture_output=True, text=True)
    return set(re.findall(r"--[a-z-]+", done.stdout)) - {"--help", "--"}


def test_the_options_of_the_example_and_of_the_page_are_those_of_the_agent(
    pod: dict[str, Any], known: set[str]
) -> None:
    command = pod["containers"][0]["command"]
    used = {part.partition("=")[0] for part in command[2 : command.index("--")]}
    assert used <= known
    rows = re.findall(r"^\| `--.*?\|", (DOCS / "restart_agent.md").read_text(), re.M)
    assert set(re.findall(r"--[a-z-]+", " ".join(rows))) == known


def test_every_file_is_mounted_as_part_of_a_directory(pod: dict[str, Any]) -> None:
    container = pod["containers"][0]
    command = container["command"]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    options = [part.partition("=")[2] for part in command[2 : command.index("--")]]
    paths = [*command[:2], *(each for each in options if each.startswith("/"))]
    for path in paths:
        assert any(path == place or path.startswith(f"{place}/") for place in mounts), path
    assert not any("subPath" in mount for mount in mounts.values())
    claimed = {"data"}
    assert {mount["name"] for mount in mounts.values()} == {volume["name"] for volume in pod["volumes"]} | claimed


def test_no_probe_but_that_of_readiness_asks_the_server(pod: dict[str, Any]) -> None:
    container = pod["containers"][0]
    probes = {name: container[name]["tcpSocket"]["port"] for name in container if name.endswith("Probe")}
    assert probes == {"startupProbe": "agent", "livenessProbe": "agent", "readinessProbe": "http"}
