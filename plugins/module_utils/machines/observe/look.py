"""One look at a kubeadm cluster: every object that a judgement needs, asked for side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ...common.reading import Json
from ...kubernetes.answers import all_of, reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.kubernetes_nodes import PATH as NODES
from . import reading
from .state import KubeadmCluster

SYSTEM_NAMESPACE = "kube-system"
_SYSTEM = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}"
CONFIGURATION = f"{_SYSTEM}/configmaps/kubeadm-config"
COMPONENTS = f"{_SYSTEM}/pods"
TIER = "tier=control-plane"
"""The label of the static pods that kubeadm makes (`cmd/kubeadm/app/util/staticpod/utils.go`)."""
DNS = f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/deployments/coredns"
PROXY = f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/daemonsets/kube-proxy"


def look(client: KubernetesClient) -> KubeadmCluster:
    """The cluster now.

    Raises:
        Refusal: an answer cannot be had or understood, or kubeadm has not made this cluster.
    """
    with ThreadPoolExecutor(max_workers=5) as pool:
        nodes = pool.submit(client.list, NODES)
        components = pool.submit(client.list, COMPONENTS, TIER)
        configuration, proxy = pool.submit(client.get, CONFIGURATION), pool.submit(client.get, PROXY)
        dns = pool.submit(client.get, DNS)
        configured, endpoint = _configured(configuration.result())
        machines = all_of("Node", nodes.result(), reading.machine, client.kept)
        return KubeadmCluster(
            configured=configured,
            machines={each.name: each for each in machines},
            components=all_of("Pod", components.result(), reading.component, client.kept),
            proxy=_version("DaemonSet", proxy.result(), "kube-proxy"),
            endpoint=endpoint,
            server=client.host,
            dns=_version("Deployment", dns.result(), "coredns"),
        )


def _configured(item: Json | None) -> tuple[str, str]:
    if item is None:
        raise reading.no_cluster(f"ConfigMap {SYSTEM_NAMESPACE}/kubeadm-config")
    with reading_object("ConfigMap", item):
        return reading.cluster_configuration(item)


def _version(kind: str, item: Json | None, container: str) -> str:
    if item is None:
        return ""
    with reading_object(kind, item):
        return reading.tag_of(reading.image_of(item, container))
