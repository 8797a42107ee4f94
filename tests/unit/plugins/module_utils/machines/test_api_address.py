"""Whether the API stays reachable at its address."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.api_address import judge_api_address
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading import cluster_configuration
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import KubeadmMachine

from tests.unit.plugins.module_utils.machines.seen import CONTROL_PLANE, WORKERS, cluster, machine

BEHIND, CONNECTED = "api_behind_one_machine", "connected_to_one_machine"
ADDRESSES = {"cp-0": ("10.0.0.1", "fd00::1"), "cp-1": ("10.0.0.2", "cp-1.example.com"), "w-0": ("10.0.0.9",)}


def addressed() -> list[KubeadmMachine]:
    return [machine(name, addresses=addresses) for name, addresses in ADDRESSES.items()]


@pytest.mark.parametrize(
    ("endpoint", "server", "expected"),
    [
        ("10.0.0.100:6443", "https://10.0.0.100:6443", []),
        ("api.example.com:6443", "https://api.example.com:6443", []),
        ("10.0.0.1:6443", "https://10.0.0.1:6443", [BEHIND]),
        ("[fd00:0::1]:6443", "https://[fd00::1]:6443", [BEHIND]),
        ("CP-1.example.com:6443", "https://api.example.com", [BEHIND]),
        ("cp-2", "https://api.example.com", [BEHIND]),
        ("api.example.com:6443", "https://10.0.0.2:6443", [CONNECTED]),
        ("10.0.0.1:6443", "https://10.0.0.2:6443/path", [BEHIND, CONNECTED]),
        ("", "https://10.0.0.2:6443", [CONNECTED]),
        ("10.0.0.9:6443", "https://[broken", []),
        ("", "", []),
    ],
)
def test_an_address_of_one_machine_is_named(endpoint: str, server: str, expected: list[str]) -> None:
    seen = cluster(*addressed(), endpoint=endpoint, server=server)
    assert [each.code for each in judge_api_address(seen, CONTROL_PLANE).reasons] == expected
    assert judge_api_address(seen, CONTROL_PLANE).passed
    assert judge_api_address(seen, WORKERS).reasons == (), "only machines that are upgraded take it away"


def test_a_single_machine_takes_consent_elsewhere() -> None:
    workers = [machine(name, control_plane=False) for name in CONTROL_PLANE[1:]]
    seen = cluster(*addressed()[:1], *workers, endpoint="10.0.0.1:6443", server="https://10.0.0.1:6443")
    assert judge_api_address(seen, CONTROL_PLANE).reasons == ()


@pytest.mark.parametrize(("line", "endpoint"), [("controlPlaneEndpoint: 'a:6443'", "a:6443"), ("apiServer: {}", "")])
def test_the_endpoint_is_that_of_kubeadm(line: str, endpoint: str) -> None:
    item: dict[str, Any] = {"data": {"ClusterConfiguration": f"kubernetesVersion: v1.35.1\n{line}\n"}}
    assert cluster_configuration(item) == ("1.35.1", endpoint)
