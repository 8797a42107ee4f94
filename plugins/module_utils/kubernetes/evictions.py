"""Evicting a pod by the Eviction API, and what its refusals mean."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ..common.errors import Refusal
from ..common.reading import Json, listed, part, text
from .answers import api_request_of, reading, refusal_of
from .client import KubernetesClient
from .pods import pod_path

_BUDGET = "DisruptionBudget"
"""The cause by which a server says that a budget keeps a pod (policy/v1, `DisruptionBudgetCause`)."""
_SEVERAL = "more than one PodDisruptionBudget"
"""Words of the answer for a pod that several budgets cover (`pkg/registry/core/pod/storage/eviction.go`)."""
_WEBHOOK = "admission webhook"
"""Words of every refusal of a webhook. That of KubeVirt answers 429 while it moves the virtual machine of a pod."""


class EvictionKept(Refusal):
    """A budget, or a webhook that acts as one, keeps the pod now. The eviction is asked for again later."""

    said = ""
    """The words of the server."""
    covered_twice = False
    """Whether several budgets cover the pod, so that the server never evicts it."""


class PodGone(Refusal):
    """There is no such pod any more."""


def evict(client: KubernetesClient, namespace: str, name: str, uid: str, dry_run: bool = False) -> None:
    """Ask the API server to delete exactly this pod as its budgets allow, with the grace period of the pod.

    Raises:
        EvictionKept: a budget keeps it.
        PodGone: it is gone.
        Conflict: another pod has its name by now, or the pod has changed since.
        NotAdmitted: a webhook or another rule of the server forbids it.
        Denied: the user lacks the right.
        Unreachable: no answer, or one that says to come back later.
    """
    path = f"{pod_path(namespace, name)}/eviction"
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}},
    }
    status, answer = client.post_once(path, body, dry_run=dry_run)
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        raise _refusal_of(client, path, status, answer)


def _refusal_of(client: KubernetesClient, path: str, status: int, answer: Mapping[str, Any]) -> Refusal:
    request = api_request_of("POST", path)
    found = refusal_of(client.host, request, status, answer or None, retry=False)
    with reading(f"to {request.sentence()}"):
        said, details = text(answer, "message", ""), part(answer, "details", {})
        causes = listed(details, "causes", _cause, ())
    several = status == HTTPStatus.INTERNAL_SERVER_ERROR and _SEVERAL in said
    if several or (status == HTTPStatus.TOO_MANY_REQUESTS and (_BUDGET in dict(causes) or _WEBHOOK in said)):
        kept = EvictionKept(*found.verdict.reasons)
        kept.said = " ".join(filter(None, (said, *(message for _reason, message in causes))))
        kept.covered_twice = several
        return kept
    if status == HTTPStatus.NOT_FOUND and details.get("kind") == "pods":
        return PodGone(*found.verdict.reasons)
    return found


def _cause(each: Json) -> tuple[str, str]:
    return text(each, "reason", ""), text(each, "message", "")
