"""A registry of release images: manifests by tag or digest, and their configurations, all made of the version.

The answers are those of the HTTP API of registries ("Pulling manifests" and "Pulling blobs" of its specification), and
of the "Token Authentication Specification" of the distribution project. By default it does what most public ones do:
it gives nothing without a token, which anyone gets, and sends to a store for each blob. That store refuses a request
that carries the token (Amazon S3: "Only one auth mechanism allowed").
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.web import Answer, CutOff, Request

HOST = "registry.openshift.test"
STORE = "store.openshift.test"
"""The host that has the blobs. It is served by the same handler."""
TOKEN = "a-token-for-pulling"
REPOSITORY = "ocp/release"
LABEL = "io.openshift.release"
"""The label of a release image with its version."""
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
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


def list_of(version: str) -> bytes:
    """The list of manifests of a release for several architectures, which is behind no tag here."""
    there = {"mediaType": MANIFEST, "size": 1, "digest": _digest(manifest_of(version))}
    others = [("windows", "amd64", {**there, "digest": _digest(b"other")}), ("linux", "amd64", there)]
    listed = [{**each, "platform": {"os": os, "architecture": name}} for os, name, each in others]
    return _bytes({"schemaVersion": 2, "mediaType": LIST, "manifests": listed})


def image_for_several(version: str) -> str:
    """The image of a release for several architectures, by digest."""
    return f"{HOST}/{REPOSITORY}@{_digest(list_of(version))}"


def image_of(version: str, host: str = HOST) -> str:
    """The image of a release in a registry, by digest."""
    return f"{host}/{REPOSITORY}@{_digest(manifest_of(version))}"


class Registry:
    """A `Handler`. It has the images of some releases, tagged `<version>-x86_64`."""

    def __init__(self, versions: Callable[[], Iterable[str]]) -> None:
        self._versions = versions
        self.host = HOST
        """Its own name, with its port if it has one."""
        self.away = False
        """Whether no connection is possible."""
        self.status = 200
        """The status of the answers; any other one answers every request."""
        self.other_labels: dict[str, str] = {}
        """By version: the version that the label of its image says instead."""
        self.asks_token = True
        """Whether nothing is given without a token."""
        self.user: tuple[str, str] | None = None
        """The name and the password of the one user who gets a token; None: anyone does."""
        self.has_store = True
        """Whether the blobs are in a store."""
        self.changed: set[str] = set()
        """The digests of contents that were changed on the way."""
        self._more: dict[str, bytes] = {}
        self.asked: list[Request] = []

    def add(self, configuration: Json) -> str:
        """Have one more image, with this configuration; gives its reference."""
        content = _bytes(configuration)
        config = {"mediaType": CONFIGURATION, "size": len(content), "digest": _digest(content)}
        manifest = _bytes({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": []})
        self._more |= {_digest(content): content, _digest(manifest): manifest}
        return f"{HOST}/{REPOSITORY}@{_digest(manifest)}"

    def __call__(self, request: Request) -> Answer:
        """The answer. Raises CutOff."""
        self.asked.append(request)
        if self.away:
            raise CutOff(made=False)
        if self.status != 200:
            return _error(self.status, "UNAVAILABLE", "the registry is not available")
        headers = {name.lower(): value for name, value in request.headers.items()}
        sent = headers.get("authorization", "")
        if request.path == "/token":
            return self._token(sent)
        if request.path.startswith("/store/"):
            if sent:
                return Answer(400, "Only one auth mechanism allowed")
            return _given(self._blobs(), request.path.rpartition("/")[2], "binary/octet-stream", "NoSuchKey")
        if self.asks_token and sent != f"Bearer {TOKEN}":
            whole = f'service="{self.host}",scope="repository:{REPOSITORY}:pull"'
            asked = f'Bearer realm="https://{self.host}/token",{whole}'
            refused = _error(401, "UNAUTHORIZED", "access to the requested resource is not authorized")
            return Answer(401, refused.body, {"WWW-Authenticate": asked})
        return self._of_images(request.path)

    def _of_images(self, path: str) -> Answer:
        if path.rstrip("/") == "/v2":
            return Answer(200, {}, {"Docker-Distribution-Api-Version": "registry/2.0"})
        found = _PATH.match(path)
        if found is None or found["name"] != REPOSITORY:
            return _error(404, "NAME_UNKNOWN", "repository name not known to registry")
        reference = found["reference"]
        if found["what"] == "manifests":
            lists = {_digest(list_of(each)) for each in self._versions()}
            return _given(self._manifests(), reference, LIST if reference in lists else MANIFEST, "MANIFEST_UNKNOWN")
        if self.has_store and reference in self._blobs():
            return Answer(307, "", {"Location": f"https://{STORE}/store/{reference}"})
        return _given(self._blobs(), reference, CONFIGURATION, "BLOB_UNKNOWN")

    def has(self, image: str) -> str | None:
        """The version of an image, if it is here."""
        images = ((each, (image_of(each), image_for_several(each))) for each in self._versions())
        return next((each for each, names in images if image in names), None)

    def _token(self, sent: str) -> Answer:
        wanted = self.user and f"Basic {base64.b64encode(':'.join(self.user).encode()).decode()}"
        if sent not in {wanted, ""} or (wanted and not sent):
            return _error(401, "UNAUTHORIZED", "invalid username or password")
        return Answer(200, {"token": TOKEN, "expires_in": 300})

    def _blobs(self) -> Mapping[str, bytes]:
        found = dict(self._more)
        for each in self._versions():
            # A label that lies is behind the digest of the true configuration: so do broken mirrors.
            content = configuration_of(self.other_labels.get(each, each))
            found[_digest(configuration_of(each))] = content
        return self._as_given(found)

    def _as_given(self, found: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return {name: content + b" " if name in self.changed else content for name, content in found.items()}

    def _manifests(self) -> Mapping[str, bytes]:
        found = dict(self._more)
        for each in self._versions():
            content, several = manifest_of(each), list_of(each)
            found |= {_digest(content): content, f"{each}-x86_64": content, _digest(several): several}
        return self._as_given(found)


def _given(known: Mapping[str, bytes], reference: str, media_type: str, code: str) -> Answer:
    content = known.get(reference)
    if content is None:
        return _error(404, code, f"{code.lower().replace('_', ' ')} to registry")
    return Answer(200, content.decode(), {"Content-Type": media_type, "Docker-Content-Digest": _digest(content)})


def _error(status: int, code: str, message: str) -> Answer:
    return Answer(status, {"errors": [{"code": code, "message": message}]})
