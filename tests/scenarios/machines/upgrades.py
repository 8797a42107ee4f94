"""Upgrades of a kubeadm cluster on machines, as a user with exactly the shipped roles, and the workload on it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from tests.lab.fixtures import lab_directory
from tests.lab.machines.build import NEXT
from tests.lab.machines.cluster import CONTROL_PLANE, WORKERS, KubeadmCluster, kubeadm_cluster
from tests.lab.machines.operating_system import why_not
from tests.lab.waiting import until
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, Playing, digest_in, play

FILES = Path(__file__).parents[3] / "roles" / "machines" / "files"
PLAYBOOK, NAMESPACE = "stateful.upgrade.machines", "upgrades"
SHOP = "shop"
"""The namespace and the name of the workload."""
READY = 60.0
_RBAC = "rbac.authorization.k8s.io"
Json = dict[str, Any]


@dataclass(frozen=True)
class Upgrades:
    """The upgrades of one cluster."""

    cluster: KubeadmCluster
    environment: Mapping[str, str]
    target: str = NEXT

    def prepare(self) -> None:
        """Give the user the shipped roles, and the workers a workload that a budget keeps."""
        self.cluster.lab.apply(shipped_rights())
        self.cluster.lab.apply(workload())
        until("The workload to be Ready", lambda: len(self.pods()) == 2, READY)

    def variables(self, **more: Any) -> Json:
        """The variables of the playbook."""
        return {
            "target_version": self.target,
            "upgrade_groups": [CONTROL_PLANE, WORKERS],
            "upgrade_namespace": NAMESPACE,
            "upgrade_kubernetes": {"kubeconfig": str(self.cluster.lab.kubeconfig(USER))},
            **more,
        }

    @property
    def _arguments(self) -> tuple[str, str]:
        return "-i", str(self.cluster.inventory())

    def agreed(self, **more: Any) -> Json:
        """The variables with consent to the present plan, which the check mode shows."""
        given = self.variables(**more)
        shown = {**self.environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
        return {**given, "upgrade_confirm": digest_in(play(PLAYBOOK, given, shown, *self._arguments, "--check"))}

    def run(self, variables: Mapping[str, Any]) -> Played:
        """One run to its end."""
        played = play(PLAYBOOK, variables, self.environment, *self._arguments)
        print(played.output)
        return played

    def start(self, variables: Mapping[str, Any]) -> Playing:
        """One run, which goes on while the test does something else."""
        return Playing(PLAYBOOK, variables, self.environment, *self._arguments)

    def pods(self) -> dict[str, str]:
        """The Ready pods of the workload: UID → Kubernetes node."""
        with self.cluster.lab.client() as api:
            core: Any = client.CoreV1Api(api)
            found = core.list_namespaced_pod(SHOP).items
        return {
            pod.metadata.uid: pod.spec.node_name
            for pod in found
            if any((each.type, each.status) == ("Ready", "True") for each in pod.status.conditions or [])
        }

    def is_whole(self) -> None:
        """All is on the target, and nothing of a run is left. Raises AssertionError."""
        cluster = self.cluster
        assert cluster.versions() == dict.fromkeys(cluster.machines, self.target)
        images = cluster.images_of_control_plane()
        assert len(images) == 3 * len(cluster.groups[CONTROL_PLANE])
        assert {image.partition(":")[2] for image in images.values()} == {f"v{self.target}"}
        for name, node in cluster.nodes().items():
            assert not node.spec.unschedulable, name
            assert not [each for each in node.metadata.annotations or {} if "upgrade" in each], name
        with cluster.lab.client() as api:
            core: Any = client.CoreV1Api(api)
            apps: Any = client.AppsV1Api(api)
            leases: Any = client.CoordinationV1Api(api)
            kept = core.read_namespaced_config_map("kubeadm-config", "kube-system").data
            proxy = apps.read_namespaced_daemon_set("kube-proxy", "kube-system")
            locks = leases.list_namespaced_lease(NAMESPACE).items
        assert yaml.safe_load(kept["ClusterConfiguration"])["kubernetesVersion"] == f"v{self.target}"
        assert proxy.spec.template.spec.containers[0].image.endswith(f":v{self.target}")
        assert not [lock.metadata.name for lock in locks if lock.spec.holder_identity]
        for machine in cluster.machines.values():
            assert machine.run("apt-mark", "showhold").split() == ["kubeadm", "kubectl", "kubelet"]
            assert machine.run("kubeadm", "version", "-o", "short").strip() == f"v{self.target}"


@contextmanager
def upgrading(
    environment: Mapping[str, str], control_plane: Sequence[str], workers: Sequence[str], **how: str
) -> Iterator[Upgrades]:
    """A cluster of these machines, see `kubeadm_cluster`, for the length of the block. Where no machines can be made,
    the test is skipped."""
    if reason := why_not():
        pytest.skip(reason)
    directory = lab_directory()
    try:
        with kubeadm_cluster(directory, control_plane, workers, **how) as cluster:
            made = Upgrades(cluster, {**environment, "ANSIBLE_PIPELINING": "true"}, how.get("target", NEXT))
            made.prepare()
            yield made
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def shipped_rights() -> list[Json]:
    """The shipped roles, bound to the user."""
    found: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    for file, namespace in (("cluster_role", ""), ("system_role", "kube-system"), ("role", NAMESPACE)):
        role = yaml.safe_load((FILES / f"{file}.yml").read_text(encoding="utf-8"))
        kind, name = role["kind"], role["metadata"]["name"]
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        binding = {"apiVersion": role["apiVersion"], "kind": f"{kind}Binding", "metadata": metadata}
        binding["roleRef"] = {"apiGroup": _RBAC, "kind": kind, "name": name}
        binding["subjects"] = [{"apiGroup": _RBAC, "kind": "User", "name": USER}]
        found += [{**role, "metadata": metadata}, binding]
    return found


def workload() -> list[Json]:
    """Two pods of a Deployment, one of which a budget keeps."""
    labels = {"app": SHOP}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    pod = {"topologySpreadConstraints": [spread], "containers": [{"name": SHOP, "image": f"{SHOP}:1"}]}
    deployment = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    metadata = {"name": SHOP, "namespace": SHOP}
    budget = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SHOP}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": deployment},
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget},
    ]
