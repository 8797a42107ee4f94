"""The objects that kubeadm makes in a new cluster."""

from __future__ import annotations

import json

from tests.sandbox.kubeadm.description import COMPONENTS, DNS, ETCD, PROXY, REGISTRY, image_of
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Kind, owner_of

SYSTEM = "kube-system"
ROLE = "node-role.kubernetes.io/control-plane"
CONFIGURATION = "kubeadm-config"
MIRROR = "kubernetes.io/config.mirror"
DAEMON_SETS = Kind("apps", "v1", "daemonsets", "DaemonSet", status=True, generations=True)
DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment", status=True, scale=True, generations=True)
REPLICA_SETS = Kind("apps", "v1", "replicasets", "ReplicaSet", status=True, scale=True, generations=True)
_EVERYWHERE = [{"operator": "Exists"}]
_DNS_TOLERATIONS = [{"key": ROLE, "effect": "NoSchedule"}, {"key": "CriticalAddonsOnly", "operator": "Exists"}]


def join_control_plane(node: Json) -> None:
    """Add the label and the taint of a Kubernetes node of the control plane."""
    node["metadata"]["labels"] |= {ROLE: "", "node.kubernetes.io/exclude-from-external-load-balancers": ""}
    node["spec"]["taints"] = [{"key": ROLE, "effect": "NoSchedule"}]


def static_pod(component: str, image: str, node: Json) -> Json:
    """The mirror pod of a static pod."""
    name = node["metadata"]["name"]
    # A digest of the manifest, in which the image is all that changes here.
    annotations = {MIRROR: image, "kubernetes.io/config.hash": image, "kubernetes.io/config.source": "file"}
    return {
        "metadata": {
            "name": f"{component}-{name}",
            "labels": {"component": component, "tier": "control-plane"},
            "annotations": annotations,
            "ownerReferences": [{**owner_of(NODES, node), "blockOwnerDeletion": False}],
        },
        "spec": {
            "nodeName": name,
            "hostNetwork": True,
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
            "containers": [{"name": component, "image": image}],
        },
    }


def configuration(version: str, endpoint: str) -> Json:
    """The ConfigMap from which kubeadm reads what it has installed."""
    lines = (
        "apiServer: {}",
        "apiVersion: kubeadm.k8s.io/v1beta4",
        "certificatesDir: /etc/kubernetes/pki",
        "clusterName: kubernetes",
        f"controlPlaneEndpoint: {endpoint}",
        "etcd:",
        "  local:",
        "    dataDir: /var/lib/etcd",
        f"imageRepository: {REGISTRY}",
        "kind: ClusterConfiguration",
        f"kubernetesVersion: v{version}",
        "networking:",
        "  dnsDomain: cluster.local",
        "",
    )
    return {"metadata": {"name": CONFIGURATION}, "data": {"ClusterConfiguration": "\n".join(lines)}}


def kube_proxy(version: str) -> Json:
    """The DaemonSet of kube-proxy."""
    return {
        "metadata": {"name": PROXY, "labels": {"k8s-app": PROXY}},
        "spec": {
            "selector": {"matchLabels": {"k8s-app": PROXY}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": _template(PROXY, image_of(PROXY, version), {"k8s-app": PROXY}, _EVERYWHERE),
        },
    }


def coredns(version: str) -> Json:
    """The Deployment of CoreDNS."""
    return {
        "metadata": {"name": DNS, "labels": {"k8s-app": "kube-dns"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"k8s-app": "kube-dns"}},
            "template": _template(DNS, image_of(DNS, version), {"k8s-app": "kube-dns"}, _DNS_TOLERATIONS),
        },
    }


def replica_set(deployment: Json) -> Json:
    """The ReplicaSet of a Deployment, for its present template."""
    spec = deployment["spec"]
    image = spec["template"]["spec"]["containers"][0]["image"]
    digest = f"{abs(hash_of(image)):x}"
    labels = {**spec["template"]["metadata"]["labels"], "pod-template-hash": digest}
    template = {**spec["template"], "metadata": {"labels": labels}}
    return {
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{digest}",
            "labels": labels,
            "ownerReferences": [owner_of(DEPLOYMENTS, deployment)],
        },
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template},
    }


def hash_of(text: str) -> int:
    """A number that is the same in each process."""
    return sum((place + 1) * ord(letter) for place, letter in enumerate(text))


def pod_of(kind: Kind, owner: Json, node: str = "") -> Json:
    """A pod of a set, on a Kubernetes node or not yet on one."""
    template = json.loads(json.dumps(owner["spec"]["template"]))
    metadata = {**template["metadata"], "generateName": f"{owner['metadata']['name']}-"}
    metadata["ownerReferences"] = [owner_of(kind, owner)]
    return {"metadata": metadata, "spec": {**template["spec"], **({"nodeName": node} if node else {})}}


def _template(name: str, image: str, labels: Json, tolerations: list[Json]) -> Json:
    return {
        "metadata": {"labels": labels},
        "spec": {"tolerations": tolerations, "containers": [{"name": name, "image": image}]},
    }


def all_components(version: str, *, external_etcd: bool) -> dict[str, str]:
    """The images of the static pods of a version."""
    return {each: image_of(each, version) for each in COMPONENTS if each != ETCD or not external_etcd}
