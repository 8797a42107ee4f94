# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rights: all missing ones are named in one sentence before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..common.reading import flag, within
from ..common.verdict import Verdict, combine, refused, remark
from .answers import reading, role_rule
from .client import KubernetesClient

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


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
"""The rights for running commands in containers. A websocket begins with a GET, so older servers ask for `get` alone,
and newer ones for both."""


def missing_rights(client: KubernetesClient, namespace: str, needed: Iterable[Right]) -> Verdict:
    """A refusal with one reason that names every missing right of the user in the namespace, and a remark that names
    the missing optional ones.

    An empty namespace stands for the whole cluster. Every user that is logged in may ask for its own rights.

    Raises:
        Refusal: the API does not answer the question.
    """
    missing = [right for right in dict.fromkeys(needed) if not _has(client, namespace, right)]
    verdicts = (
        _judge([right for right in missing if right.explains is explains], namespace) for explains in (False, True)
    )
    return combine(verdicts)


def _has(client: KubernetesClient, namespace: str, right: Right) -> bool:
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


def _judge(missing: Sequence[Right], namespace: str) -> Verdict:
    """The verdict for missing rights, of which either all are optional or none is."""
    if not missing:
        return Verdict()
    resources: dict[tuple[str, str], list[str]] = {}
    for right in missing:
        resources.setdefault((right.group, right.resource), []).append(right.verb)
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    kind = f"Role in namespace {namespace}" if namespace else "ClusterRole"
    said = ", ".join(f"{'/'.join(verbs)} {resource}" for (_group, resource), verbs in resources.items())
    rules = ", ".join(role_rule(verbs, group, resource) for (group, resource), verbs in resources.items())
    message = f"The user of the Kubernetes API may not {said} {where}"
    remedy = f"Add to a {kind} bound to it: {rules}."
    if missing[0].explains:
        message += ". An upgrade without this right explains less of a stuck pod, or respects no PodDisruptionBudgets"
        return Verdict((remark("kubernetes_rights", f"{message}.", remedy),))
    return Verdict((refused("kubernetes_rights", f"{message}.", remedy),))
