# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rights: everything that is missing, at once, before anything is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..common.verdict import Reason, Verdict, refused, remark
from .answers import role_rule
from .client import KubernetesClient

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True)
class Right:
    """One verb on one resource of one API group ("" is the core group); a subresource is written `pods/log`."""

    verb: str
    group: str
    resource: str
    explains: bool = False
    """Whether it is only used to name the cause where a pod is stuck."""

    def rule(self) -> str:
        """The line of a Role that gives it."""
        return role_rule(self.verb, self.group, self.resource)


ROLE = (
    Right("get", "apps", "statefulsets"),
    Right("list", "apps", "statefulsets"),
    Right("patch", "apps", "statefulsets"),
    Right("list", "", "pods"),
    Right("create", "", "pods"),
    Right("delete", "", "pods"),
    Right("get", "", "pods/log", explains=True),
    Right("list", "", "events", explains=True),
)
"""All that the modules of this collection ask of a namespace."""


def missing_rights(client: KubernetesClient, namespace: str, needed: Iterable[Right]) -> Verdict:
    """Refused with one reason for each right that the user does not have in the namespace; a remark where it explains.

    An empty namespace asks for the right in the whole cluster. Any user that is logged in may ask this of itself.

    Raises:
        Refusal: the API does not answer the question.
    """
    rights = dict.fromkeys(needed)
    return Verdict(tuple(_missing(right, namespace) for right in rights if not _has(client, namespace, right)))


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
    return (client.post(_REVIEWS, review).get("status") or {}).get("allowed") is True


def _missing(right: Right, namespace: str) -> Reason:
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    kind = f"the Role of namespace {namespace}" if namespace else "a ClusterRole"
    message = f"The user of the Kubernetes API may not {right.verb} {right.resource} {where}"
    remedy = f"Add to {kind}: {right.rule()}."
    if right.explains:
        return remark("kubernetes_rights", f"{message}, so the cause of a stuck pod is named less well.", remedy)
    return refused("kubernetes_rights", f"{message}.", remedy)
