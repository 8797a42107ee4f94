"""The registry of a release image: its metadata through the HTTP API, each content compared with its digest.

The API is that of the OCI distribution specification ("Pulling manifests", "Pulling blobs"), and a registry that asks
for a token says where to get one ("Token Authentication Specification" of the distribution project).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from ...common.errors import NotUnderstood, Unreachable, refusal
from ...common.reading import optional_text, parsed, understood
from ...common.web import PASSING, Answer, NoAnswer, Trust, fetch
from .release_image import (
    ACCEPTED,
    ImageReference,
    ReleaseImage,
    configuration_of,
    digest_of,
    manifests_in,
    release_in,
)

SECONDS = 20.0
"""The time for an answer, as that of the managed-upgrade-operator (`runHTTP` in `pkg/validation`)."""
LONGEST = 10_000_000
"""Bytes of a manifest or a configuration that are read; registries allow manifests of 4 MB."""
MOST_REDIRECTIONS = 5
REDIRECTIONS = (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND, HTTPStatus.SEE_OTHER, 307, 308)
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


class Registry:
    """The registry of one image. A release is asked for once, since a digest names one content."""

    def __init__(self, image: ImageReference, given: Mapping[str, Any] | None) -> None:
        """Nothing is asked yet. `given` is the option `registry`."""
        given = given or {}
        self._image, self._host = image, image.registry
        self._user = (str(given["username"]), str(given.get("password") or "")) if given.get("username") else None
        self._trust = Trust(given.get("ca_cert"), given.get("validate_certs", True) is not False)
        self._credentials = ""
        self._found: dict[str, ReleaseImage] = {}

    def release(self, architecture: str) -> ReleaseImage:
        """The release in the image, for this architecture if it is for several.

        Raises:
            Unreachable: there is no answer, or one that cannot be used now.
            Refusal: the registry refuses the request, or a content is not that of its digest.
        """
        if architecture not in self._found:
            self._found[architecture] = self._asked(architecture)
        return self._found[architecture]

    def _asked(self, architecture: str) -> ReleaseImage:
        manifest = self._content("manifests", self._image.digest)
        with understood(self._not_understood):
            several = manifests_in(manifest)
        if several is not None:
            if architecture not in several:
                raise refusal(
                    "release_image_mismatch",
                    f"The release image {self._image.digest} is made for {', '.join(sorted(several)) or 'nothing'}, and"
                    f" the control plane is {architecture}.",
                    "Give the image of a release for this architecture (release_image).",
                )
            manifest = self._content("manifests", several[architecture])
        with understood(self._not_understood):
            configuration = configuration_of(manifest)
        content = self._content("blobs", configuration)
        with understood(self._not_understood):
            return release_in(content)

    def _content(self, kind: str, digest: str) -> str:
        url = f"https://{self._host}/v2/{self._image.repository}/{kind}/{digest}"
        answer = self._get(url)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._credentials = self._authorization(answer.headers.get("www-authenticate", ""))
            answer = self._get(url)
        if answer.status in PASSING:
            raise self._away(f"it answers {answer.status}")
        if answer.status != HTTPStatus.OK:
            raise refusal(
                "release_image_refused",
                f"The registry {self._host} answers {answer.status} for the {kind[:-1]} {digest} of"
                f" {self._image.repository}{_cause(answer)}.",
                "Correct release_image, or give the credentials of a user who may pull it (upgrade_registry).",
            )
        if digest_of(answer.content) != digest:
            raise refusal(
                "release_image_mismatch",
                f"The registry {self._host} gives another content for the {kind[:-1]} {digest} of"
                f" {self._image.repository}: its digest is {digest_of(answer.content)}.",
                "Do not use this registry until that is explained: it, or something in between, changes images.",
            )
        return answer.content

    def _get(self, url: str) -> Answer:
        """The answer, after redirections. Another host gets no credentials, because blobs often come from a store."""
        first = urlsplit(url).netloc
        for _turn in range(MOST_REDIRECTIONS):
            own = {"Authorization": self._credentials} if self._credentials and urlsplit(url).netloc == first else {}
            answer = self._fetched(url, {"Accept": ACCEPTED, **own})
            place = answer.headers.get("location", "")
            if answer.status not in REDIRECTIONS or not place:
                return answer
            url = urljoin(url, place)
            self._encrypted(url, "sends to")
        raise self._away(f"it redirects more than {MOST_REDIRECTIONS} times")

    def _authorization(self, asked: str) -> str:
        """The header that the registry asks for: the credentials themselves, or a token."""
        kind, _space, rest = asked.partition(" ")
        if kind.lower() == "basic":
            return self._basic()
        said = dict(_PARAMETER.findall(rest))
        if kind.lower() != "bearer" or not said.get("realm"):
            return ""
        realm = urljoin(f"https://{self._host}/", said["realm"])
        self._encrypted(realm, "has its tokens at")
        query = {"scope": said.get("scope") or f"repository:{self._image.repository}:pull"}
        query |= {"service": said["service"]} if "service" in said else {}
        basic = self._basic()
        whole = f"{realm}{'&' if urlsplit(realm).query else '?'}{urlencode(query)}"
        answer = self._fetched(whole, {"Authorization": basic} if basic else {})
        if answer.status in PASSING:
            raise self._away(f"its tokens cannot be had: {urlsplit(realm).netloc} answers {answer.status}")
        if answer.status != HTTPStatus.OK:
            raise refusal(
                "release_image_refused",
                f"The registry {self._host} gives {'this user' if basic else 'a user without a name'} no token for"
                f" {self._image.repository}: it answers {answer.status}{_cause(answer)}.",
                "Give the credentials of a user who may pull it (upgrade_registry).",
            )
        with understood(self._not_understood):
            found = parsed(answer.content)
            token = optional_text(found, "token") or optional_text(found, "access_token") or ""
        return f"Bearer {token}" if token else ""

    def _basic(self) -> str:
        if self._user is None:
            return ""
        return f"Basic {base64.b64encode(':'.join(self._user).encode()).decode()}"

    def _encrypted(self, url: str, does: str) -> None:
        if urlsplit(url).scheme != "https":
            said = f"The registry {self._host} {does} {urlsplit(url).netloc} without TLS."
            raise refusal("release_image_refused", said, "Use a registry that keeps to https.")

    def _fetched(self, url: str, headers: Mapping[str, str]) -> Answer:
        try:
            return fetch(url, SECONDS, LONGEST, headers, self._trust)
        except NoAnswer as error:
            raise self._away(str(error)) from error

    def _away(self, cause: str) -> Unreachable:
        return Unreachable.because(
            "registry_unreachable",
            f"The registry {self._host} gives no answer about the release image: {cause}.",
            "See whether it can be reached from here, through a proxy if need be (HTTPS_PROXY).",
        )

    def _not_understood(self, fault: str) -> NotUnderstood:
        said = f"The answer of the registry {self._host} about {self._image.repository} cannot be read: {fault}."
        return NotUnderstood.because(
            "registry_not_understood", said, "See that release_image is a release of OpenShift."
        )


def _cause(answer: Answer) -> str:
    """The messages of an answer that is an error, in brackets."""
    try:
        found = [str(each.get("message") or each.get("code")) for each in json.loads(answer.content)["errors"]]
    except (AttributeError, LookupError, TypeError, ValueError):
        return ""
    return f" ({', '.join(found)[:200]})" if found else ""
