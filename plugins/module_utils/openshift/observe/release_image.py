"""The metadata of a release image: its reference, manifests and configuration, read strictly. Pure: no client.

They are those of "Image Manifest V 2, Schema 2" and of the OCI image specification.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...common.reading import Json, Unreadable, listed, parsed, part, text, text_map, within

LABEL = "io.openshift.release"
"""The label of a release image with its version (managed-upgrade-operator, `fetchImageVersion`)."""
_DOCKER, _OCI = "application/vnd.docker.distribution.manifest", "application/vnd.oci.image"
LISTS = (f"{_DOCKER}.list.v2+json", f"{_OCI}.index.v1+json")
MANIFESTS = (f"{_DOCKER}.v2+json", f"{_OCI}.manifest.v1+json")
ACCEPTED = ", ".join((*MANIFESTS, *LISTS))
_REFERENCE = re.compile(
    r"(?P<registry>(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:))(?::\d+)?)"
    r"/(?P<repository>[a-z0-9._-]+(?:/[a-z0-9._-]+)+)@(?P<digest>sha256:[0-9a-f]{64})"
)


@dataclass(frozen=True)
class ImageReference:
    """An image by its digest."""

    registry: str
    """The host, with its port if it has one."""
    repository: str
    digest: str

    @classmethod
    def parse(cls, given: str) -> ImageReference:
        """The reference in a text. Raises ValueError: it is none by digest."""
        found = _REFERENCE.fullmatch(given)
        if found is None:
            raise ValueError(given)
        return cls(**found.groupdict())

    def __str__(self) -> str:
        return f"{self.registry}/{self.repository}@{self.digest}"


@dataclass(frozen=True)
class ReleaseImage:
    """The configuration of a release image."""

    version: str
    """The version that its label names; empty: it has no such label."""
    architecture: str
    """The one for which it is made; empty if it does not say."""


def digest_of(content: str) -> str:
    """The digest of a content, as a registry names it."""
    return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"


def manifests_in(content: str) -> Mapping[str, str] | None:
    """The digests of a list of manifests, by architecture; None if the content is no list. Raises Unreadable."""
    found = parsed(content)
    if "manifests" not in found:
        return None
    return dict(reversed([each for each in listed(found, "manifests", _listed) if each[0]]))


def _listed(item: Json) -> tuple[str, str]:
    platform = part(item, "platform", {})
    is_linux = text(platform, "os", "") == "linux"
    return text(platform, "architecture", "") if is_linux else "", _digest(item)


def configuration_of(content: str) -> str:
    """The digest of the configuration in a manifest. Raises Unreadable."""
    return within(parsed(content), "config", _digest)


def _digest(item: Json) -> str:
    found = text(item, "digest")
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
        raise Unreadable("is no digest of SHA-256", "digest")
    return found


def release_in(content: str) -> ReleaseImage:
    """The release in a configuration. Raises Unreadable."""
    found = parsed(content)
    labels = within(found, "config", lambda item: text_map(item, "Labels"), {})
    return ReleaseImage(labels.get(LABEL, ""), text(found, "architecture", ""))
