"""Reading the objects of a kubeadm cluster strictly, from JSON to observations."""

from __future__ import annotations

from typing import Any

from ...common.errors import refusal
from ...common.packages import needed
from ...common.reading import Json, Unreadable, flag, listed, part, text, text_map, within
from ...kubernetes.conditions import UNKNOWN, conditions
from ...kubernetes.node_fitness import PRESSURES
from ...run.undo.undo_annotation import UNDO
from .ready_before import NOTE
from .state import Component, KubeadmMachine, machine_id_in, plain

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
"""The label that kubeadm gives the Kubernetes nodes of the control plane."""
ZONE = "topology.kubernetes.io/zone"
CANARY = "upgrade.stateful/canary"
"""The annotation of a Kubernetes node that is to go first; its value does not matter."""
OPERATION = "upgrade.stateful/operation"
"""The annotation of a Kubernetes node with the operation of its agent whose end no run has read yet."""
OWNER = "cluster.x-k8s.io/owner-kind"
"""The annotation by which Cluster API names the owner of the machine (`core/v1beta2/common_types.go`)."""
CLUSTER = ("cluster.x-k8s.io/cluster-namespace", "cluster.x-k8s.io/cluster-name")
"""The annotations by which it names the Cluster."""


def machine(name: str, item: Json) -> KubeadmMachine:
    """A machine from its Kubernetes node."""
    metadata, spec, status = part(item, "metadata"), part(item, "spec", {}), part(item, "status", {})
    labels, notes, found = text_map(metadata, "labels"), text_map(metadata, "annotations"), conditions(status)
    return KubeadmMachine(
        name=name,
        kubelet=plain(within(status, "nodeInfo", lambda info: text(info, "kubeletVersion", ""), {})),
        system=within(status, "nodeInfo", lambda info: text(info, "systemUUID", ""), {}),
        machine_id=machine_id_in(within(status, "nodeInfo", lambda info: text(info, "machineID", ""), {})),
        ready=found.get("Ready", UNKNOWN).true,
        closed=flag(spec, "unschedulable", default=False),
        carries_undo=UNDO in notes,
        control_plane=CONTROL_PLANE in labels,
        zone=labels.get(ZONE, ""),
        created=text(metadata, "creationTimestamp", ""),
        leaving=bool(text(metadata, "deletionTimestamp", "")),
        canary=CANARY in notes,
        operation=notes.get(OPERATION, ""),
        pods_before=notes.get(NOTE, ""),
        owner=notes.get(OWNER, ""),
        cluster="/".join(notes[each] for each in CLUSTER) if all(notes.get(each) for each in CLUSTER) else "",
        addresses=listed(status, "addresses", lambda each: text(each, "address", ""), ()),
        pressures=tuple(said for kind, said in PRESSURES.items() if found.get(kind, UNKNOWN).true),
    )


def component(_name: str, item: Json) -> Component:
    """A static pod of the control plane. The kubelet names it and its container after the component."""
    metadata, spec, status = part(item, "metadata"), part(item, "spec", {}), part(item, "status", {})
    name = text(text_map(metadata, "labels"), "component", "")
    return Component(
        name=name,
        machine=text(spec, "nodeName", ""),
        version=tag_of(_image(spec, name)),
        ready=conditions(status).get("Ready", UNKNOWN).true,
    )


def image_of(item: Json, container: str) -> str:
    """The image of a container of a DaemonSet or a Deployment."""
    return _image(part(part(part(item, "spec"), "template"), "spec"), container)


def _image(spec: Json, container: str) -> str:
    """The image of the container with this name, which may have others next to it in any order, such as the plugin that
    encrypts for an API server; that of the first one if none has the name, and empty without any."""
    found = listed(spec, "containers", lambda each: (text(each, "name", ""), text(each, "image", "")))
    return next((image for name, image in found if name == container), found[0][1] if found else "")


def tag_of(image: str) -> str:
    """The version in the tag of an image; empty for one without a tag.

    A tag has no plus sign, so kubeadm writes an underscore before the build (`KubernetesVersionToImageTag`).
    """
    name, _at, _digest = image.partition("@")
    last = name.rpartition("/")[2]
    return plain(last.partition(":")[2]).replace("_", "+", 1)


def cluster_configuration(item: Json) -> tuple[str, str]:
    """The version of the ClusterConfiguration that a ConfigMap holds, and its endpoint.

    Raises:
        Unreadable: it holds none that can be read.
        Refusal: the Python package that reads it is missing.
    """
    found = _parsed(text(part(item, "data"), "ClusterConfiguration"))
    return plain(text(found, "kubernetesVersion")), text(found, "controlPlaneEndpoint", "")


def _parsed(written: str) -> Json:
    yaml = needed("yaml", "PyYAML")
    try:
        found: Any = yaml.load(written, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise Unreadable("is no YAML", "ClusterConfiguration") from error
    if not isinstance(found, dict):
        raise Unreadable("is no object", "ClusterConfiguration")
    return found


def no_cluster(path: str) -> Exception:
    """The refusal of a cluster that kubeadm has not made."""
    return refusal(
        "kubeadm_missing",
        f"The Kubernetes API has no {path}, so kubeadm has not made this cluster.",
        "Correct kubernetes (upgrade_kubernetes), or upgrade the cluster by the tool that has made it.",
    )
