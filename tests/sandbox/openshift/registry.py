"""A registry of release images: manifests by tag or digest, and their configurations, all made of the version.

The answers are those of the HTTP API of registries ("Pulling manifests" and "Pulling blobs" of its specification).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.web import Answer, CutOff, Request

HOST = "registry.openshift.test"
REPOSITORY = "ocp/release"
LABEL = "io.openshift.release"
"""The label of a release image with its version."""
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIGURATION = "application/vnd.docker.container.image.v1+json"
_PATH = re.compile(r"^/v2/(?P<name>.+)/(?P<what>manifests|blobs)/(?P<reference>[^/]+)$")


def _bytes(content: Json) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def configuration_of(version: str) -> bytes:
    """The configuration of the image of a release."""
    labels = {LABEL: version, "io.openshift.release.base-image-digest": _digest(b"base")}
    return _bytes({"architecture": "amd64", "os": "linux", "config": {"Labels": labels}})


def manifest_of(version: str) -> bytes:
    """The manifest of the image of a release."""
    configuration = configuration_of(version)
    config = {"mediaType": CONFIGURATION, "size": len(configuration), "digest": _digest(configuration)}
    return _bytes({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": []})


def image_of(version: str) -> str:
    """The image of a release, by digest."""
    return f"{HOST}/{REPOSITORY}@{_digest(manifest_of(version))}"


class Registry:
    """A `Handler`. It has the images of some releases, tagged `<version>-x86_64`."""

    def __init__(self, versions: Callable[[], Iterable[str]]) -> None:
        self._versions = versions
        self.away = False
        """Whether no connection comes about."""
        self.status = 200
        """Another one is answered to everything."""
        self.other_labels: dict[str, str] = {}
        """By version: the version that the label of its image says instead."""

    def __call__(self, request: Request) -> Answer:
        """The answer. Raises CutOff."""
        if self.away:
            raise CutOff(made=False)
        if self.status != 200:
            return _error(self.status, "UNAVAILABLE", "the registry is not available")
        if request.path.rstrip("/") == "/v2":
            return Answer(200, {}, {"Docker-Distribution-Api-Version": "registry/2.0"})
        found = _PATH.match(request.path)
        if found is None or found["name"] != REPOSITORY:
            return _error(404, "NAME_UNKNOWN", "repository name not known to registry")
        if found["what"] == "blobs":
            return _given(self._blobs(), found["reference"], CONFIGURATION, "BLOB_UNKNOWN")
        return _given(self._manifests(), found["reference"], MANIFEST, "MANIFEST_UNKNOWN")

    def has(self, image: str) -> str | None:
        """The version of an image, if it is here."""
        return next((each for each in self._versions() if image_of(each) == image), None)

    def _blobs(self) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        for each in self._versions():
            # A label that lies is behind the digest of the true configuration: so do broken mirrors.
            content = configuration_of(self.other_labels.get(each, each))
            found[_digest(configuration_of(each))] = content
        return found

    def _manifests(self) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        for each in self._versions():
            content = manifest_of(each)
            found |= {_digest(content): content, f"{each}-x86_64": content}
        return found


def _given(known: Mapping[str, bytes], reference: str, media_type: str, code: str) -> Answer:
    content = known.get(reference)
    if content is None:
        return _error(404, code, f"{code.lower().replace('_', ' ')} to registry")
    return Answer(200, content.decode(), {"Content-Type": media_type, "Docker-Content-Digest": _digest(content)})


def _error(status: int, code: str, message: str) -> Answer:
    return Answer(status, {"errors": [{"code": code, "message": message}]})
