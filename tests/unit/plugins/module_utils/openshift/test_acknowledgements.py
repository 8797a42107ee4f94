"""The acknowledgements that are asked for, and not given."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.acknowledgements import (
    ACKS,
    GATES,
    open_gates,
)

from tests.sandbox.kubernetes.in_process import InProcess

GATE = "ack-4.18-kube-1.32-api-removals"


def names(gates: dict[str, str], acks: dict[str, str] | None) -> list[str]:
    """The gates that are open in 4.18."""
    api = InProcess(namespaces=("openshift-config", "openshift-config-managed"))
    api.put_there(GATES, {"metadata": {}, "data": gates})
    if acks is not None:
        api.put_there(ACKS, {"metadata": {}, "data": acks})
    return [each.name for each in open_gates(api.client(), Release.parse("4.18.2"))]


@pytest.mark.parametrize(
    ("acks", "found"),
    [(None, [GATE]), ({}, [GATE]), ({GATE: "True"}, [GATE]), ({GATE: "true"}, []), ({f"{GATE}-x": "true"}, [GATE])],
)
def test_only_true_acknowledges(acks: dict[str, str] | None, found: list[str]) -> None:
    assert names({GATE: "APIs are removed."}, acks) == found


@pytest.mark.parametrize(
    "name", ["ack-4.17-kube", "ack-4.180-kube", "ack-5.18-kube", "ack-4.18--kube", "ack-4.18", "x"]
)
def test_gates_of_other_versions_and_what_is_none_are_left_out(name: str) -> None:
    assert names({name: "Of something else."}, {}) == []


def test_a_cluster_without_gates_asks_for_nothing() -> None:
    assert open_gates(InProcess().client(), Release.parse("4.18.2")) == ()
