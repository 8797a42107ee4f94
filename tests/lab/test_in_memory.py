"""A lab whose control plane is in memory: its pods are processes as real as in the other, and need no build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.control_plane.in_memory import forget, users_of
from tests.lab.errors import LabError
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.namespace import Namespace, probe_set
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.kinds import NAMESPACES
from tests.sandbox.kubernetes.store import Store


@pytest.fixture(scope="module")
def in_memory() -> Iterator[Lab]:
    with Lab.up("in-memory", lab_directory() / "lab", in_memory=True) as lab:
        yield lab


def test_members_of_a_set_are_replaced_and_find_their_volumes_again(in_memory: Lab) -> None:
    namespace = Namespace(in_memory, "replaced")
    namespace.apply(probe_set("probe"))
    pods = [namespace.until_ready(f"probe-{ordinal}") for ordinal in range(3)]
    assert {pod.spec.node_name for pod in pods} == {"node-a1", "node-b1", "node-c1"}
    namespace.put("probe-1", "/files/data/kept", "as it was")

    namespace.apply(probe_set("probe", tag="2"))
    old = namespace.delete_pod("probe-1")
    namespace.until_ready("probe-1", not_uid=old)

    assert namespace.get("probe-1", "/version") == "2"
    assert namespace.get("probe-0", "/version") == "1"
    assert namespace.get("probe-1", "/files/data/kept") == "as it was"
    assert "probe 2 of probe-1 listens" in namespace.core.read_namespaced_pod_log("probe-1", namespace.name)
    assert "Scheduled" in namespace.reasons_of("probe-1")
    namespace.remove()


def test_a_fault_that_it_cannot_show_is_refused(in_memory: Lab) -> None:
    with pytest.raises(LabError, match="node-dead needs the real control plane"):
        in_memory.faults.node_dead("node-a1")
    assert all(node["alive"] for node in in_memory.status()["nodes"])


def test_a_user_has_the_groups_of_its_token(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('one,admin,admin,"system:masters"\ntwo,upgrader,upgrader,""\n')
    users = users_of(tokens)
    assert users["one"].groups == ("system:masters", "system:authenticated")
    assert users["two"].groups == ("system:authenticated",)


def test_old_changes_are_forgotten_and_the_newest_stay() -> None:
    store = Store(Clock())
    for number in range(6):
        store.put(NAMESPACES, {"metadata": {"name": f"n{number}"}})
        forget(store, kept=3)
    assert [change.item["metadata"]["name"] for change in store.history] == ["n3", "n4", "n5"]
    assert store.compacted == store.history[0].version - 1
