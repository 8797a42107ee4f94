"""Rights: all missing ones are named in one sentence before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..common.errors import Refusal
from ..common.reading import flag, text, within
from ..common.verdict import Verdict, combine, refused, remark
from .answers import reading, role_rule
from .client import KubernetesClient
from .paths import CORE, in_namespace

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@dataclass(frozen=True)
class Right:
    """One verb on one resource of one API group ("" is the core group); a subresource is written `pods/log`."""

    verb: str
    group: str
    resource: str
    explains: bool = False
    """Optional: without it only explanations suffer, or PodDisruptionBudgets are not respected."""


PORT_FORWARD = (
    Right("get", "", "services"),
    Right("get", "", "pods/portforward"),
    Right("create", "", "pods/portforward"),
)
"""The further rights for reaching OpenSearch through the Kubernetes API."""
EXECUTE = (Right("get", "", "pods/exec"), Right("create", "", "pods/exec"))
"""The rights for running commands in containers. A websocket starts with a GET, so older servers ask for `get` alone,
and newer ones for both."""


RECORD = tuple(Right(verb, "", "configmaps") for verb in ("get", "list", "create", "patch"))
"""The rights to the record of a run, in its namespace."""
LOCK_AND_RECORD = (
    *(Right(verb, "coordination.k8s.io", "leases") for verb in ("get", "list", "create", "patch", "delete")),
    *RECORD,
)
"""The rights to the lock and the record of a run."""


def of_lock_and_record(*, records: bool) -> tuple[Right, ...]:
    """Those that a run needs: without ConfigMaps if its record is kept elsewhere."""
    return tuple(right for right in LOCK_AND_RECORD if records or right not in RECORD)


def missing_rights(client: KubernetesClient, namespace: str, needed: Iterable[Right], *, seen: bool = False) -> Verdict:
    """A refusal with one reason that names every missing right of the user in the namespace, and a remark that names
    the missing optional ones.

    An empty namespace stands for the whole cluster; one of which an object was `seen` exists. Every user that is logged
    in may ask for its own rights.

    Raises:
        Refusal: the API does not answer the question.
    """
    wanted = list(dict.fromkeys(needed))
    missing = [right for right in wanted if not may(client, namespace, right)]
    if not missing:
        return Verdict()
    # A Role is in a namespace that exists. Without any right, the name of the namespace may be misspelt.
    there = not namespace or seen or len(missing) < len(wanted) or _exists(client, namespace)
    if there is False:
        return _no_namespace(client, namespace)
    asked = _RightsQuestion(_who(client), namespace, misspelt=there is None)
    return combine(
        _judge([right for right in missing if right.explains is explains], asked) for explains in (False, True)
    )


@dataclass(frozen=True)
class _RightsQuestion:
    """The user and the namespace that rights were asked for."""

    user: str
    """Empty if the API server does not report it, as before Kubernetes 1.28."""
    namespace: str
    misspelt: bool
    """Whether the user cannot see if there is such a namespace."""

    @property
    def who(self) -> str:
        return f"The user {self.user} of the Kubernetes API" if self.user else "The user of the Kubernetes API"


def _who(client: KubernetesClient) -> str:
    """The name of the user, which every user that is logged in may ask for; empty if it is not reported."""
    try:
        answer = client.post(_WHO, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
        with reading("to create selfsubjectreviews"):
            return within(answer, "status.userInfo", lambda user: text(user, "username", ""), {})
    except Refusal:
        return ""


def _exists(client: KubernetesClient, namespace: str) -> bool | None:
    """Whether there is such a namespace; None if the user may not see it."""
    try:
        return client.get(in_namespace(CORE, namespace).rstrip("/")) is not None
    except Refusal:
        return None


def judge_namespace(client: KubernetesClient, namespace: str) -> Verdict:
    """A refusal if there is no such namespace. A user who may not see that passes."""
    return _no_namespace(client, namespace) if _exists(client, namespace) is False else Verdict()


def _no_namespace(client: KubernetesClient, namespace: str) -> Verdict:
    reason = refused(
        "namespace_missing",
        f"There is no namespace {namespace} in the Kubernetes cluster at {client.host}.",
        "Correct the name of the namespace, or choose another cluster with kubernetes.context or kubernetes.host.",
    )
    return Verdict((reason,))


def may(client: KubernetesClient, namespace: str, right: Right) -> bool:
    """Whether the user has a right in a namespace; an empty one stands for the whole cluster.

    Raises:
        Refusal: the API does not answer the question.
    """
    resource, _slash, subresource = right.resource.partition("/")
    attributes = {"verb": right.verb, "group": right.group, "resource": resource}
    if namespace:
        attributes["namespace"] = namespace
    if subresource:
        attributes["subresource"] = subresource
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = client.post(_REVIEWS, review)
    with reading("to create selfsubjectaccessreviews"):
        return within(answer, "status", lambda status: flag(status, "allowed", default=False), {})


def _judge(missing: Sequence[Right], asked: _RightsQuestion) -> Verdict:
    """The verdict for missing rights, of which either all are optional or none is."""
    if not missing:
        return Verdict()
    resources: dict[tuple[str, str], list[str]] = {}
    for right in missing:
        resources.setdefault((right.group, right.resource), []).append(right.verb)
    namespace = asked.namespace
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    kind = f"Role in namespace {namespace}" if namespace else "ClusterRole"
    said = ", ".join(f"{'/'.join(verbs)} {resource}" for (_group, resource), verbs in resources.items())
    rules = ", ".join(role_rule(verbs, group, resource) for (group, resource), verbs in resources.items())
    message = f"{asked.who} may not {said} {where}"
    remedy = f"Add to a {kind} bound to it: {rules}."
    if asked.misspelt and not missing[0].explains:
        message += ". Whether there is such a namespace is not shown to this user"
        remedy = f"Check the name of the namespace. {remedy}"
    if missing[0].explains:
        message += ". An upgrade without this right explains less of a stuck pod, or respects no PodDisruptionBudgets"
        return Verdict((remark("kubernetes_rights", f"{message}.", remedy),))
    return Verdict((refused("kubernetes_rights", f"{message}.", remedy),))
