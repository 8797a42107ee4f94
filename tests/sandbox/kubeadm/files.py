"""The files of a machine that show how far its upgrade is: manifests, kubelet configuration, certificates, backups."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from tests.sandbox.kubeadm.upgrading import OnMachine

MANIFESTS, KUBELET = "/etc/kubernetes/manifests", "/var/lib/kubelet"


def files_of(machine: OnMachine, images: Mapping[str, str]) -> dict[str, str]:
    """The content of each file that kubeadm writes, by path."""
    found = {f"{MANIFESTS}/{component}.yaml": image for component, image in images.items()}
    found[f"{KUBELET}/config.yaml"] = machine.kubelet_configuration
    if images:
        found["/etc/kubernetes/pki/apiserver.crt"] = str(machine.renewed)
    return found


def checksum(content: str) -> str:
    """The checksum of a file, as the modules give it."""
    return hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()
