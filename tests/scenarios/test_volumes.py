"""Larger volume claims on a real API server, with the real controllers of StatefulSets and garbage.

No driver with a resizer runs in the lab, so a small stand-in plays it: it gives each claim the capacity that it asks
for. Admission, the deletion that leaves the pods, and their new owner are real.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import OPTIONAL_ROLE, Cluster, bound
from tests.scenarios.playbook import PLAN, play, upgrade

pytestmark = pytest.mark.soak
FROM, TO = "2.19.6", "3.8.0"
LARGE = "3Gi"


@pytest.fixture
def cluster(lab: Lab) -> Iterator[Cluster]:
    """Three members with a claim each."""
    made = Cluster.start(lab, "volumes", three_combined, FROM)
    lab.apply(bound(OPTIONAL_ROLE, made.namespace))
    yield made
    made.remove()


@contextmanager
def expanding(lab: Lab) -> Iterator[None]:
    """The StorageClass lets claims grow until the block ends."""

    def expands(value: bool | None) -> None:
        with lab.client() as api:
            storage: Any = client.StorageV1Api(api)
            storage.patch_storage_class("lab", {"allowVolumeExpansion": value})

    expands(True)
    try:
        yield
    finally:
        expands(None)


@contextmanager
def resizer(lab: Lab, namespace: str) -> Iterator[None]:
    """The stand-in for a resizer, until the block ends."""
    done = threading.Event()

    def work() -> None:
        with lab.client() as api:
            core: Any = client.CoreV1Api(api)
            while not done.wait(0.5):
                for claim in core.list_namespaced_persistent_volume_claim(namespace).items:
                    asked, has = claim.spec.resources.requests["storage"], claim.status.capacity["storage"]
                    if asked != has:
                        body = {"status": {"capacity": {"storage": asked}}}
                        core.patch_namespaced_persistent_volume_claim_status(claim.metadata.name, namespace, body)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        yield
    finally:
        done.set()
        worker.join()


def seen(cluster: Cluster) -> dict[str, Any]:
    """The set, its pods with their owners, and the claims."""
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        apps: Any = client.AppsV1Api(api)
        (pool,) = apps.list_namespaced_stateful_set(cluster.namespace).items
        pods = core.list_namespaced_pod(cluster.namespace).items
        claims = core.list_namespaced_persistent_volume_claim(cluster.namespace).items
        maps = core.list_namespaced_config_map(cluster.namespace).items
    return {
        "set": pool.metadata.uid,
        "strategy": pool.spec.update_strategy.to_dict(),
        "revision": pool.status.update_revision,
        "template": pool.spec.volume_claim_templates[0].spec.resources.requests["storage"],
        "pods": {pod.metadata.name: pod.metadata.uid for pod in pods},
        "owners": {owner.uid for pod in pods for owner in pod.metadata.owner_references or []},
        "claims": {(each.spec.resources.requests["storage"], each.status.capacity["storage"]) for each in claims},
        "managers": sorted({each.manager for each in pool.metadata.managed_fields if not each.subresource}),
        "kept": [each.metadata.name for each in maps if "-set-" in each.metadata.name],
    }


def test_a_set_is_made_again_and_its_pods_stay(
    lab: Lab, cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    before = seen(cluster)
    stops = tmp_path / "stops.yml"
    stops.write_text("---\n- name: Stop\n  ansible.builtin.fail:\n    msg: It stops here.\n", encoding="utf-8")
    wanted = [{"pool": f"{cluster.name}-members", "claim": "data", "size": LARGE}]
    steps = [{"name": "stops", "after_step": "volumes", "tasks": str(stops)}]
    given = cluster.variables(TO, upgrade_volumes=wanted, upgrade_steps=steps, upgrade_skip_checks=["images"])
    refused = play(PLAN, given, ansible_environment)
    assert refused.code != 0
    assert "does not let volume claim data-opensearch-members-0 grow from 1Gi to 3Gi" in refused.message
    assert "only dynamically provisioned pvc can be resized" in refused.message
    assert seen(cluster) == before
    with expanding(lab), resizer(lab, cluster.namespace):
        stopped = upgrade(given, ansible_environment)
    assert "It stops here." in stopped.output
    after = seen(cluster)
    assert after["set"] != before["set"]
    assert after["owners"] == {after["set"]}
    assert after["claims"] == {(LARGE, LARGE)}
    same = ("pods", "revision", "strategy", "kept", "managers")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert after["template"] == LARGE
    assert cluster.health()["status"] == "green"
