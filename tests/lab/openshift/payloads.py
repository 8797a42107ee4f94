"""Small releases: directories as a release image has them, with signatures by a key that is made for them."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.lab.errors import LabError
from tests.lab.openshift.build import VERSION_OPERATOR
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.description import Described
from tests.sandbox.openshift.kinds import GATES, GATES_NAMESPACE, OPERATORS

NAMESPACE = "openshift-cluster-version"
DEPLOYED = "cluster-version-operator"
"""The ConfigMap that stands for the Deployment of the version operator: it names the image to run."""
_INCLUDED = {"include.release.openshift.io/self-managed-high-availability": "true"}
_VERIFIES = {"release.openshift.io/verification-config-map": ""}
_SIGNATURES = "release.openshift.io/verification-signatures"


def deployed(operator: str) -> str:
    """The name of the ConfigMap that stands for the Deployment of an operator: it names the version to come to."""
    return f"{operator}-operator"


class Payloads:
    """The releases of a description in a folder."""

    def __init__(self, folder: Path, described: Described) -> None:
        self.folder, self._described = folder, described
        self._digests = {each.version: each.image.rpartition("@")[2] for each in described.graph.releases}
        self._signed = _signed(sorted(self._digests.values()))

    def place(self, image: str) -> Path:
        """The folder of an image, as the operator looks for it (`targetUpdatePayloadDir` in `updatepayload.go`)."""
        digest = hashlib.md5(image.encode(), usedforsecurity=False).digest()
        return self.folder / base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def write(self) -> None:
        """Write all of them."""
        for release in self._described.graph.releases:
            self.write_image(release.version, release.image)

    def write_image(self, version: str, image: str) -> None:
        """Write the release of a version as this image, which names itself in its manifests."""
        place = self.place(image)
        (place / "manifests").mkdir(parents=True)
        for name, content in self._files(version, image).items():
            file = place / "release-manifests" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")

    def signature(self, version: str) -> Json:
        """The ConfigMap with the signature of a release (`GetSignaturesAsConfigmap` in `pkg/verify/configmap.go`)."""
        digest = self._digests[version]
        name = digest.replace(":", "-")
        metadata = {"name": name, "namespace": GATES_NAMESPACE, "labels": {_SIGNATURES: ""}}
        data = {f"{name}-1": self._signed["signatures"][digest]}
        return {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": metadata, "binaryData": data}

    def _files(self, version: str, image: str) -> dict[str, Any]:
        metadata = {"url": f"https://errata.test/{version}"}
        about = {"kind": "cincinnati-metadata-v0", "version": version, "metadata": metadata}
        images = {"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": {"name": version}}
        found: dict[str, Any] = {"release-metadata": json.dumps(about), "image-references": json.dumps(images)}
        found["0000_00_cluster-version-operator_03_deployment.yaml"] = _map(
            NAMESPACE, DEPLOYED, {"image": image, "version": version}
        )
        for place, name in enumerate(self._described.operators):
            level = f"0000_{20 + 5 * place:02}_{name}"
            found[f"{level}_03_deployment.yaml"] = _map(NAMESPACE, deployed(name), {"version": version})
            found[f"{level}_07_clusteroperator.yaml"] = {
                "apiVersion": OPERATORS.api_version,
                "kind": OPERATORS.kind,
                "metadata": {"name": name, "annotations": _INCLUDED},
                "spec": {},
                "status": {"versions": [{"name": "operator", "version": version}]},
            }
        found["0000_00_cluster-version-operator_04_admin-gates.yaml"] = _map(
            GATES_NAMESPACE, GATES, self._described.gates_of(version)
        )
        # A store has to be named. It has none: the signatures are in ConfigMaps, as in a cluster without a network.
        trusted = {"verifier-public-key-lab": self._signed["key"], "store-lab": f"file://{self.folder}/signatures"}
        keys = _map(GATES_NAMESPACE, "release-verification", trusted)
        keys["metadata"]["annotations"].update(_VERIFIES)
        found["0000_90_cluster-update-keys_configmap.yaml"] = keys
        return found


def _map(namespace: str, name: str, data: dict[str, str]) -> Json:
    metadata = {"name": name, "namespace": namespace, "annotations": {**_INCLUDED}}
    return {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": metadata, "data": data}


def _signed(digests: list[str]) -> Json:
    argv = [str(VERSION_OPERATOR.ensure_built()), "sign", *digests]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise LabError(f"The releases could not be signed: {result.stderr.strip()}.")
    found: Json = json.loads(result.stdout)
    return found
