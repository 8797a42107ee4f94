"""Failed answers of the Kubernetes API as sentences: the server, the user, the request, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus
from socket import gaierror
from typing import Any, TypeVar

from ..common.errors import (
    HANDSHAKE_BROKEN_OFF,
    Conflict,
    Denied,
    NoConnection,
    NotUnderstood,
    Refusal,
    Unreachable,
    causes,
    refusal,
    root_cause,
)
from ..common.reading import Json, listed, text, understood, within
from ..common.tls_faults import certificate_fix, is_of_caller
from ..common.verdict import refused

Read = TypeVar("Read")
Kept = dict[Any, dict[str, tuple[str, Any]]]
"""By the function that reads, and by the UID of an object: its resource version, and what was read of it."""

UNREACHABLE = "kubernetes_unreachable"

_PATH = re.compile(
    r"^/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[^/]+))?$"
)
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}
_NO_RIGHT = re.compile(r'User "(?P<user>[^"]*)" cannot |is forbidden:\s*$')
"""The words about a missing right. Those about the right to create a websocket name neither user nor cause."""
_NO_IMPERSONATION = re.compile(r'User "(?P<user>[^"]*)" cannot impersonate(?P<on>\S*) resource "(?P<resource>[^"]*)"')
"""The words about a user who may not act in the place of another (server source, withImpersonation). A server with
constrained impersonation names the verb `impersonate-on:user-info:list` and what was asked for (seen on 1.36)."""
_WEBSOCKETS = frozenset({"pods/exec", "pods/portforward"})


class Expired(Unreachable):
    """The server no longer has the state that a list in pages is read from (410), so the list has to start again."""


class NotAdmitted(Refusal):
    """The server does not admit an object: its admission, a quota or its validation refuses it."""

    said = ""
    """The sentence of the server."""


class NameTaken(Conflict):
    """An object was not made because another one has its name, which is compared after all of admission."""


@dataclass(frozen=True)
class ApiRequest:
    """One request, in the words of an RBAC rule."""

    method: str
    group: str
    resource: str
    namespace: str
    name: str

    @property
    def verb(self) -> str:
        """The RBAC verb."""
        return _VERBS.get(self.method) or ("get" if self.name else "list")

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs of the rule that allows it. A websocket starts with a GET, and newer servers ask for both."""
        return ("get", "create") if self.resource in _WEBSOCKETS else (self.verb,)

    def sentence(self) -> str:
        """The request in words for people: `patch statefulsets/data in namespace search`."""
        target = f"{self.resource}/{self.name}" if self.name else self.resource
        return f"{self.verb} {target}" + (f" in namespace {self.namespace}" if self.namespace else "")


def api_request_of(method: str, path: str) -> ApiRequest:
    """The request behind an HTTP method and an API path (without its query)."""
    match = _PATH.match(path)
    if match is None:
        return ApiRequest(method, "", path, "", "")
    found = match.groupdict(default="")
    resource = found["resource"] + (f"/{found['subresource']}" if found["subresource"] else "")
    return ApiRequest(method, found["group"], resource, found["namespace"], found["name"])


def role_rule(verbs: Iterable[str], group: str, resource: str) -> str:
    """A line of a Role's `rules` that gives these rights."""
    said = '", "'.join(verbs)
    return f'{{apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{said}"]}}'


def not_understood(where: str, what: str) -> NotUnderstood:
    """The refusal for an answer that is not understood; `where` says to which request, or about which object."""
    return NotUnderstood.because(
        "kubernetes_not_understood",
        f"The answer of the Kubernetes API {where} is not understood: {what}.",
        "If this does not pass, check that kubernetes.host, or the server of the kubeconfig, is the API server.",
    )


def reading(where: str) -> AbstractContextManager[None]:
    """A block that reads an answer; its refusals say `where`."""
    return understood(lambda what: not_understood(where, what))


def reading_object(kind: str, item: Mapping[str, Any]) -> AbstractContextManager[None]:
    """The same for one object, named if it has a name."""
    name = name_in(item)
    return reading(f"about {kind} {name}" if name else f"about a {kind}")


def all_of(
    kind: str, items: Iterable[Json], read: Callable[[str, Json], Read], kept: Kept | None = None
) -> tuple[Read, ...]:
    """The observations of these objects. `read` gets the name of the object and the object.

    With `kept`, an object is read again only once it has changed. `read` may then look at nothing but the object.

    Raises:
        NotUnderstood: a part of one of them is not as expected.
    """
    found, before = [], {} if kept is None else kept.setdefault(read, {})
    for item in items:
        uid, version = _version_in(item)
        if version and before.get(uid, ("",))[0] == version:
            found.append(before[uid][1])
            continue
        with reading_object(kind, item):
            found.append(read(within(item, "metadata", lambda data: text(data, "name")), item))
        before[uid] = version, found[-1]
    return tuple(found)


def _version_in(item: Mapping[str, Any]) -> tuple[str, str]:
    """The UID of an object, and the resource version that each change of it replaces (Kubernetes API conventions,
    "Concurrency control and consistency"); empty if the object does not say."""
    return _in_metadata(item, "uid"), _in_metadata(item, "resourceVersion")


def name_in(item: Mapping[str, Any]) -> str:
    """The name of an object whose other parts may be unreadable; empty if it has none."""
    return _in_metadata(item, "name")


def _in_metadata(item: Mapping[str, Any], key: str) -> str:
    """A text of the metadata of an object; empty if there is none."""
    metadata = item.get("metadata")
    found = metadata.get(key) if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""


def images_of(spec: Json, name: str) -> dict[str, str]:
    """The image of each of the containers in a list of a pod's spec, by the container's name."""
    return dict(listed(spec, name, lambda each: (text(each, "name"), text(each, "image", "")), ()))


def is_not_found(error: Refusal) -> bool:
    """Whether a server has said in plain words that it does not know an object, or its kind."""
    return error.verdict.reasons[0].code == "kubernetes_not_found"


def refusal_of(host: str, request: ApiRequest, status: int, answer: Mapping[str, Any] | None, retry: bool) -> Refusal:
    """The refusal for an answer that is not a success. `retry` says whether the request was repeated."""
    message = (answer or {}).get("message")
    said = (message if isinstance(message, str) and message else f"HTTP status {status} without a reason").rstrip(".")
    if status == HTTPStatus.UNAUTHORIZED:
        return refusal(
            "kubernetes_credentials",
            f"The Kubernetes API at {host} did not accept the credentials (401) when asked to {request.sentence()}.",
            "Renew the token or certificate of the kubeconfig (or kubernetes.api_key, or the environment variable"
            " K8S_AUTH_API_KEY), and check kubernetes.context.",
        )
    if status == HTTPStatus.FORBIDDEN:
        return _forbidden(host, request, said)
    gone = status == HTTPStatus.NOT_FOUND and request.method == "PATCH" and (answer or {}).get("kind") == "Status"
    if status == HTTPStatus.NOT_FOUND and not gone:
        return refusal(
            "kubernetes_not_found",
            f"The Kubernetes API at {host} found nothing when asked to {request.sentence()}: {said}.",
            "Check the name, the namespace and kubernetes.context.",
        )
    if status == HTTPStatus.CONFLICT or gone:
        # A webhook may refuse with this code, too.
        taken = request.method == "POST" and (answer or {}).get("reason") == "AlreadyExists"
        return (NameTaken if taken else Conflict).because(
            "kubernetes_conflict",
            f"The Kubernetes API at {host} did not {request.sentence()}: {said}.",
            "Something else changed it at the same time; run again.",
        )
    if status in {HTTPStatus.GONE, HTTPStatus.TOO_MANY_REQUESTS} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _passing(host, request, status, said, retry)
    if status < HTTPStatus.BAD_REQUEST:
        return not_understood(f"to {request.sentence()}", f"the server at {host} redirects the request ({status})")
    return _not_admitted(
        said,
        f"The Kubernetes API at {host} refused to {request.sentence()} ({status}): {said}.",
        "Fix the cause it names and run again.",
    )


def _not_admitted(said: str, message: str, remedy: str) -> NotAdmitted:
    found = NotAdmitted.because("kubernetes_refused", message, remedy)
    found.said = said
    return found


def _passing(host: str, request: ApiRequest, status: int, said: str, retry: bool) -> Refusal:
    """The refusal for an answer that may be different when the request is made again."""
    if status == HTTPStatus.GONE:
        return Expired(
            refused(
                UNREACHABLE,
                f"The Kubernetes API at {host} forgot its answer to {request.sentence()} before all of it was read:"
                f" {said}.",
                "Run again; if this lasts, see whether the API server or the network is overloaded.",
            )
        )
    again = ", even when asked again" if retry else ""
    return Unreachable.because(
        UNREACHABLE,
        f"The Kubernetes API at {host} answered {status} to {request.sentence()}{again}: {said}.",
        "Wait until the control plane is healthy and run again.",
    )


def _forbidden(host: str, request: ApiRequest, said: str) -> Refusal:
    if found := _NO_IMPERSONATION.search(said):
        resource = "users" if found["on"] else found["resource"]
        group = "authentication.k8s.io" if "/" in resource or resource == "uids" else ""
        return Denied.because(
            "kubernetes_impersonation",
            f"The Kubernetes API at {host} does not let {found['user']} act in the place of another user: {said}.",
            f"Add to a ClusterRole bound to {found['user']} the rule"
            f" {role_rule(['impersonate'], group, resource)}; or leave as, as-groups, as-uid and as-user-extra"
            " out of the kubeconfig, and K8S_AUTH_IMPERSONATE_USER out of the environment.",
        )
    match = _NO_RIGHT.search(said)
    if match is None:
        # Admission and quotas answer 403, too, and no role would help against that.
        return _not_admitted(
            said,
            f"The Kubernetes API at {host} refused to {request.sentence()}: {said}.",
            "Fix the cause it names (a quota, an admission policy) and run again.",
        )
    user = match["user"] or ""
    if user == "system:anonymous":
        return refusal(
            "kubernetes_credentials",
            f"The Kubernetes API at {host} was asked to {request.sentence()} without credentials.",
            "Give kubernetes.api_key, or a kubeconfig whose user has a token, a certificate or a working plugin.",
        )
    # The answer is the same where no such namespace exists.
    role = f"Check the name of the namespace. Add to a Role in namespace {request.namespace}"
    add = role if request.namespace else "Add to a ClusterRole"
    rule = role_rule(request.verbs, request.group, request.resource)
    return Denied.because(
        "kubernetes_rights",
        f"{user or 'The user of the Kubernetes API'} is not allowed to {request.sentence()} at {host}.",
        f"{add}{f' bound to {user}' if user else ''} the rule {rule}.",
    )


def unreachable(host: str, request: ApiRequest, error: BaseException, seconds: float) -> Refusal:
    """The refusal for a request that got no answer at all, or none within these seconds."""
    if any(type(each).__name__ == "ReadTimeoutError" for each in causes(error)):
        return Unreachable.because(
            UNREACHABLE,
            f"The Kubernetes API at {host} did not answer within {seconds:g} s when asked to {request.sentence()}.",
            "If this does not pass, see whether the API server hangs or is overloaded; kubernetes.request_timeout"
            " gives it more time.",
        )
    cause = root_cause(error)
    of_tls = any(word in cause.lower() for word in ("certificate", "ssl", "tls"))
    if of_tls and is_of_caller(cause):
        return refusal(
            "kubernetes_certificate",
            f"The Kubernetes API at {host} refuses the TLS connection: {cause}.",
            "If it asks for a client certificate, give in the kubeconfig one that it accepts, and that has not"
            " expired.",
        )
    if of_tls and HANDSHAKE_BROKEN_OFF not in cause:
        return refusal(
            "kubernetes_certificate",
            f"A trusted TLS connection to the Kubernetes API at {host} cannot be made: {cause}.",
            certificate_fix(cause, "kubernetes.host or the kubeconfig")
            or "Set kubernetes.ca_cert to the CA that signed its certificate, and check the host name; "
            "kubernetes.validate_certs=false turns the check off.",
        )
    no_connection = any(isinstance(each, (ConnectionRefusedError, gaierror)) for each in causes(error))
    return (NoConnection if no_connection else Unreachable).because(
        UNREACHABLE,
        f"The Kubernetes API at {host} cannot be reached to {request.sentence()}: {cause}.",
        "Check kubernetes.host or the kubeconfig, and the network path from where Ansible runs.",
    )
