"""The places in which the request of an upgrade is kept, and in which its state is noted.

The state is noted by an annotation, or by a file next to the request: a tool that takes the document from Git would
revert a change of its content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from ...common.errors import Unreachable, refusal
from ...common.reading import part, text
from ...common.verdict import Verdict, remark
from ...common.web import PASSING, NoAnswer, fetch
from ...kubernetes.answers import reading_object
from ...kubernetes.client import Json, KubernetesClient
from ...kubernetes.paths import CORE, in_namespace
from ..record.record import Record
from .request import LONGEST, Request

CONFIG_MAP = "configmap/"
"""How a source starts that is a ConfigMap, as kubectl writes it."""
KEY = "request.yml"
"""The key of the ConfigMap that holds the document."""
STATE = "upgrade.stateful/request-state"
"""The annotation of the ConfigMap in which its state is noted."""
STATUS = "upgrade.stateful/request-status"
"""The annotation of the ConfigMap with the progress of each member, if its request is for members that it names."""
STATE_SUFFIX = ".state.json"
"""The suffix of the file next to a request in which its state is noted."""
SECONDS = 20.0
"""The time for an answer of a URL."""


def place_of(given: str, beginning: str, options: Mapping[str, Any]) -> tuple[str, str]:
    """Namespace and name of the object that a source names after `beginning`: `NAME`, or `NAMESPACE/NAME`.

    Raises:
        Refusal: no namespace is given.
    """
    namespace, _slash, name = given.removeprefix(beginning).rpartition("/")
    namespace = namespace or options.get("namespace") or ""
    if not namespace:
        said = f"The request is in {given}, but no namespace is given."
        raise refusal("request_unusable", said, f"Give upgrade_namespace, or {beginning}NAMESPACE/NAME.")
    return namespace, name


class Source(Protocol):
    """A place that holds a request."""

    @property
    def where(self) -> str:
        """The place, for people."""

    def read(self) -> str | Request | None:
        """The document, or the request itself if the source has another form; None if there is none."""

    def note(self, state: str) -> bool:
        """Note the state, a JSON text, where the requester looks. False if this kind of place cannot have one."""

    def judge(self) -> Verdict:
        """A remark if others could change the request on its way, or if a part of it has no effect."""


class AnsweredSource(Source, Protocol):
    """A place that also shows the progress of the upgrade."""

    def answer(self, record: Record) -> None:
        """Write the progress, unless it is there already.

        Raises:
            Refusal: it cannot be written.
        """


@runtime_checkable
class ClaimingSource(Protocol):
    """A place whose request supersedes those of others. If it is withdrawn, the upgrade is aborted, not paused."""

    def claim(self) -> tuple[str, ...]:
        """Have the upgrades that it supersedes aborted. The result names them.

        Raises:
            Refusal: that is not possible.
        """

    def replaced(self) -> tuple[str, ...]:
        """The runs of the upgrades that it supersedes, which alone are asked to stop. Empty if it supersedes none.

        Raises:
            Refusal: they cannot be had.
        """


RequestKind = Callable[[str, Any, Mapping[str, Any]], AnsweredSource]
"""Makes the source for a kind of object, from the arguments of `source_of`."""


@dataclass(frozen=True)
class RequestFile:
    """A file of the controller."""

    path: Path

    @property
    def where(self) -> str:
        """Its path."""
        return f"the file {self.path}"

    def read(self) -> str | None:
        """Its text."""
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read(LONGEST + 1)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            cause = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
            remedy = "Give a file that can be read (upgrade_request)."
            raise refusal("request_unreadable", f"{self.path} cannot be read: {cause}.", remedy) from error

    def note(self, state: str) -> bool:
        """Next to it, in a file of the same name with `.state.json`."""
        place = self.path.with_name(self.path.name + STATE_SUFFIX)
        new = place.with_name(f".{place.name}.new")
        try:
            new.write_text(state + "\n", encoding="utf-8")
            os.replace(new, place)
        except OSError:
            return False
        return True

    def judge(self) -> Verdict:
        """No one else can change it on its way."""
        return Verdict()


@dataclass(frozen=True)
class RequestConfigMap:
    """A ConfigMap in the namespace of the pods."""

    client: KubernetesClient
    namespace: str
    name: str

    @property
    def where(self) -> str:
        """Its name."""
        return f"ConfigMap {self.name} in namespace {self.namespace}"

    def read(self) -> str | None:
        """The text of its key `request.yml`."""
        found = self.client.get(self._path)
        if found is None:
            return None
        with reading_object("ConfigMap", found):
            document = text(part(found, "data", {}), KEY, "")
        if not document:
            said = f"{self.where} has no key {KEY}, or nothing in it."
            raise refusal("request_unreadable", said, f"Put the document into the key {KEY}.")
        return document

    def note(self, state: str) -> bool:
        """In an annotation, which leaves its data alone."""
        self._annotate(STATE, state)
        return True

    def report(self, status: str) -> None:
        """Note the progress, a JSON text, in an annotation of its own. A request that is gone needs no answer.

        Raises:
            Refusal: it cannot be written.
        """
        if self.client.get(self._path) is not None:
            self._annotate(STATUS, status)

    def judge(self) -> Verdict:
        """The connection to Kubernetes is judged elsewhere."""
        return Verdict()

    def _annotate(self, name: str, text: str) -> None:
        body: Json = {"metadata": {"annotations": {name: text}}}
        self.client.patch(self._path, body, "merge")

    @property
    def _path(self) -> str:
        return in_namespace(CORE, self.namespace, "configmaps", self.name)


@dataclass(frozen=True)
class RequestUrl:
    """A document on a web server. Redirections are not followed."""

    url: str

    @property
    def where(self) -> str:
        """The URL without its query, which may hold a secret."""
        return self.url.partition("?")[0]

    def read(self) -> str | None:
        """The document; None for a page that is not found or gone, because the request was withdrawn."""
        try:
            answer = fetch(self.url, SECONDS, LONGEST + 1, {"Accept": "application/yaml, text/plain, */*"})
        except NoAnswer as error:
            raise self._unreachable(str(error)) from error
        if answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            return None
        if answer.status in PASSING:
            raise self._unreachable(f"the server answers {answer.status}")
        if answer.status != HTTPStatus.OK:
            said = f"The server of {self.where} answers {answer.status} to a request for the document."
            raise refusal("request_unreadable", said, "Give a URL that can be read without a login or a redirection.")
        return answer.content

    def note(self, state: str) -> bool:
        """A URL is only read."""
        return False

    def judge(self) -> Verdict:
        """A remark on a connection without TLS."""
        if urlsplit(self.url).scheme == "https":
            return Verdict()
        said = f"The request comes from {self.where} without TLS, so others on the network could change it."
        return Verdict((remark("request_unprotected", said, "Give an https URL (upgrade_request)."),))

    def _unreachable(self, cause: str) -> Unreachable:
        said = f"The request cannot be read from {self.where}: {cause}."
        return Unreachable.because("request_unreachable", said, "Check the URL (upgrade_request) and its server.")


def source_of(given: str, connect: Any, options: Mapping[str, Any], kinds: Mapping[str, RequestKind]) -> Source:
    """The place that `upgrade_request` names: a URL, `configmap/NAME`, an object of a system, or the path of a file.

    `connect` makes a client from the options of the connection to Kubernetes, and `kinds` are those of
    `Task.request_kinds`.

    Raises:
        Refusal: the place cannot be used.
    """
    if given.startswith(("https://", "http://")):
        try:
            place = urlsplit(given).netloc
        except ValueError as error:
            said = "The request is to be at a URL that cannot be read."
            raise refusal("request_unusable", said, "Correct upgrade_request.") from error
        if "@" in place:
            said = "The URL of the request holds a user name, which would be shown with it."
            raise refusal("request_unusable", said, "Take the user name and the password out of upgrade_request.")
        return RequestUrl(given)
    if given.startswith(CONFIG_MAP):
        if not options.get("namespace"):
            said = f"The request is in {given}, but no namespace is given."
            raise refusal("request_unusable", said, "Give upgrade_namespace, or the request as a file or a URL.")
        return RequestConfigMap(connect(options["kubernetes"]), options["namespace"], given.removeprefix(CONFIG_MAP))
    for beginning, kind in kinds.items():
        if given.startswith(beginning):
            return kind(given, connect, options)
    try:
        return RequestFile(Path(given).expanduser())
    except RuntimeError as error:
        said = f"The request is in {given}, and it is not known which home that is."
        raise refusal("request_unusable", said, "Set HOME, or give a whole path (upgrade_request).") from error
