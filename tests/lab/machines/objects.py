"""The objects that kubeadm keeps in a cluster, as its `init` leaves them."""

from __future__ import annotations

from typing import Any

import yaml

SOCKET = "unix:///run/containerd/containerd.sock"
ENDPOINT = "kubernetes.lab:6443"
"""The endpoint of the control plane in the configuration."""
VERSION = "kubeadm.k8s.io/v1beta4"
LABEL = "node-role.kubernetes.io/control-plane"
_RBAC = "rbac.authorization.k8s.io"
Json = dict[str, Any]


def cluster_configuration(version: str, etcd: str, services: str) -> Json:
    """The ClusterConfiguration, with an external etcd."""
    return {
        "apiVersion": VERSION,
        "kind": "ClusterConfiguration",
        "clusterName": "kubernetes",
        "kubernetesVersion": f"v{version}",
        "controlPlaneEndpoint": ENDPOINT,
        "certificatesDir": "/etc/kubernetes/pki",
        "imageRepository": "registry.test",
        "networking": {"serviceSubnet": services, "podSubnet": "10.1.0.0/16", "dnsDomain": "cluster.local"},
        "etcd": {"external": {"endpoints": [etcd], "caFile": "", "certFile": "", "keyFile": ""}},
    }


def objects_of_kubeadm(described: Json) -> list[Json]:
    """The two ConfigMaps, and the roles by which machines read them."""
    kubelet = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    found = []
    for name, key, content in (
        ("kubeadm-config", "ClusterConfiguration", described),
        ("kubelet-config", "kubelet", {**kubelet, "staticPodPath": "/etc/kubernetes/manifests"}),
    ):
        found += [_map(name, {key: yaml.safe_dump(content)}), *_readable(name)]
    read = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    found.append(_admins())
    return [*found, *_role_and_binding("Cluster", "kubeadm:get-nodes", read)]


def node_object(name: str, of_control_plane: bool) -> Json:
    """The Kubernetes node of a machine, as its kubelet and kubeadm make it."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    taint = {"key": LABEL, "effect": "NoSchedule"}
    metadata: Json = {"name": name, "labels": {**labels, **({LABEL: ""} if of_control_plane else {})}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {"taints": [taint]} if of_control_plane else {},
    }


def _map(name: str, data: dict[str, str]) -> Json:
    metadata = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _readable(name: str) -> list[Json]:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": ["get"]}
    return _role_and_binding("", f"kubeadm:{name}", rule)


def _admins() -> Json:
    """The group of admin.conf."""
    return _binding("Cluster", "kubeadm:cluster-admins", "cluster-admin", "kubeadm:cluster-admins")


def _role_and_binding(kind: str, name: str, rule: Json) -> list[Json]:
    metadata = {"name": name, **({} if kind else {"namespace": "kube-system"})}
    role = {"apiVersion": f"{_RBAC}/v1", "kind": f"{kind}Role", "metadata": metadata, "rules": [rule]}
    return [role, _binding(kind, name, name, "system:nodes")]


def _binding(kind: str, name: str, role: str, group: str) -> Json:
    metadata = {"name": name, **({} if kind else {"namespace": "kube-system"})}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": f"{kind}Role", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group}],
    }
