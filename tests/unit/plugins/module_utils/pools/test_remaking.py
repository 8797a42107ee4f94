"""A StatefulSet is only deleted if its pods show that it may be made again from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.growing import judge_growing, look_at_volumes
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.remaking import remake
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.volume_sizes import wanted_sizes

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import PODS, STATEFUL_SETS
from tests.sandbox.kubernetes.kubelet.behaviour import Behaviour
from tests.sandbox.kubernetes.objects import Json, Kind

HERE, POOL = "search", "data"
WANTED = wanted_sizes([{"pool": POOL, "claim": "disk", "size": "2Gi"}])


def manifest(replicas: int) -> list[Json]:
    """A namespace, a StorageClass whose claims may grow, and a set of pods with a claim each."""
    labels = {"app": POOL}
    claim: Json = {
        "metadata": {"name": "disk"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "lab",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    storage_class: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "lab"},
        "provisioner": "stateful.upgrade/sandbox",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }
    spec: Json = {
        "serviceName": POOL,
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "server", "image": "a:1"}]}},
        "volumeClaimTemplates": [claim],
    }
    metadata = {"name": POOL, "namespace": HERE}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HERE}},
        storage_class,
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec},
    ]


class Here:
    """A Kubernetes in memory, whose pods get the containers that a webhook gives them."""

    def __init__(self, replicas: int = 2, injected: str = "") -> None:
        self.clock, self._injected = Clock(), injected
        self.kubernetes = Kubernetes(self.clock, Behaviour())
        self.kubernetes.server.resources.admission.append(self._inject)
        self.kubernetes.apply(manifest(replicas))
        self.clock.advance(30.0)
        self.client = InProcess(self.kubernetes.server, TOKENS["admin"]).client()
        self.before = self.uid()

    def _inject(self, kind: Kind, before: Json | None, after: Json | None) -> None:
        if kind == PODS and before is None and after is not None and self._injected:
            first, *_others = after["spec"]["containers"]
            after["spec"]["containers"].append({**first, "name": self._injected, "image": "proxy:1"})

    def uid(self) -> str:
        """The UID of the set; empty if there is none."""
        found = self.kubernetes.server.store.get(STATEFUL_SETS, HERE, POOL)
        return str(found["metadata"]["uid"]) if found else ""

    def change(self, **spec: Any) -> None:
        """Change the pod template."""
        found = self.kubernetes.server.store.get(STATEFUL_SETS, HERE, POOL)
        assert found is not None
        found["spec"]["template"]["spec"].update(spec)
        self.kubernetes.server.resources.replace(STATEFUL_SETS, HERE, POOL, found)
        self.clock.advance(5.0)

    def partition(self, partition: int) -> None:
        """A person has only the pods above this one replaced, and changes their image."""
        found = self.kubernetes.server.store.get(STATEFUL_SETS, HERE, POOL)
        assert found is not None
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
        found["spec"] = {**found["spec"], "updateStrategy": rolling}
        self.kubernetes.server.resources.replace(STATEFUL_SETS, HERE, POOL, found)
        self.change(containers=[{"name": "server", "image": "a:2"}])
        self.clock.advance(30.0)

    def planned(self) -> list[str]:
        """The codes of what the plan refuses."""
        return codes(judge_growing(self.client, HERE, look_at_volumes(self.client, HERE, WANTED)))

    def remake(self) -> list[str]:
        """The codes of what stops it."""
        lock = {"run": "night", "name": "lock", "kept_in": "kubernetes", "namespace": HERE, "lease_duration": 60}
        params: Mapping[str, Any] = {"wait": True, "wait_timeout": 60, "wait_sleep": 1.0, "lock": lock}
        task = Task(params=params, clock=self.clock)
        try:
            verdict = remake(task, self.client, HERE, POOL, WANTED)
        except Refusal as error:
            verdict = error.verdict
        return codes(verdict)


def codes(verdict: Verdict) -> list[str]:
    return [each.code for each in verdict.reasons if each.state is not State.PASSED]


def test_pods_that_a_webhook_gave_a_container_are_those_of_the_set() -> None:
    here = Here(injected="proxy")
    assert here.planned() == []
    assert here.remake() == []
    assert here.uid() not in {"", here.before}


def test_a_set_stays_whose_pods_lack_a_container_of_its_template() -> None:
    here = Here()
    here.change(containers=[{"name": "server", "image": "a:1"}, {"name": "exporter", "image": "e:1"}])
    assert here.planned() == ["volume_set_without_pods"]
    assert here.remake() == ["volume_set_without_pods"]
    assert here.uid() == here.before


def test_a_set_without_pods_stays() -> None:
    here = Here(replicas=0)
    assert here.planned() == ["volume_set_without_pods"]
    assert here.remake() == ["volume_set_without_pods"]
    assert here.uid() == here.before


def test_a_set_stays_whose_partition_keeps_pods_on_a_revision_that_only_its_status_knows() -> None:
    here = Here()
    here.partition(1)
    assert here.planned() == ["volume_set_partition"]
    assert here.remake() == ["volume_set_partition"]
    assert here.uid() == here.before


def test_a_set_is_made_again_whose_pods_are_all_of_its_revision() -> None:
    here = Here()
    here.partition(0)
    assert (here.planned(), here.remake()) == ([], [])
    assert here.uid() not in {"", here.before}
