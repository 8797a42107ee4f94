"""The APIs that a later version of Kubernetes has no more, and who still asks for them, as the API server counts it."""

from __future__ import annotations

from collections import Counter

from ...common.reading import Json, listed, part, text, whole, within
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from .state import ApiUser, RemovedApi

COUNTS = "/apis/apiserver.openshift.io/v1/apirequestcounts"
IGNORED = frozenset(
    {
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
        "system:kube-controller-manager",
        "system:cluster-policy-controller",
    }
)
"""The users that ask for every API there is, so that they can be ignored (OpenShift, "Preparing to update", "Reviewing
alerts to identify uses of removed APIs"; the alerts leave the last two out as well, `bindata/assets/alerts` of
cluster-kube-apiserver-operator). Others of the platform count: what is in a namespace `openshift-…` need not be part
of the release."""


def removed_apis(client: KubernetesClient) -> tuple[RemovedApi, ...]:
    """The APIs that any later version has no more, if they were asked for.

    Raises:
        Refusal: the user may not list them, the server does not count them, or an answer is not understood.
    """
    return tuple(each for each in client.list_as(COUNTS, removed_api) if each is not None and each.requests > 0)


def removed_api(item: Json) -> RemovedApi | None:
    """An APIRequestCount (`apiserver/v1/types_apirequestcount.go` of openshift/api); None if its API stays."""
    with reading_object("APIRequestCount", item):
        status = part(item, "status", {})
        minor = text(status, "removedInRelease", "")
        if not minor:
            return None
        # The current hour is one of these as well.
        hours = listed(status, "last24h", _hour, ())
        asked: Counter[tuple[str, str]] = Counter()
        for hour in hours:
            asked.update(hour)
        ignored = sum(count for (name, _program), count in asked.items() if name in IGNORED)
        major, _dot, number = minor.partition(".")
        return RemovedApi(
            name=within(item, "metadata", lambda data: text(data, "name")),
            removed_in=(int(major), int(number)),
            requests=whole(status, "requestCount", 0) - ignored,
            users=tuple(
                ApiUser(name, program, count)
                for (name, program), count in sorted(asked.items(), key=lambda each: (-each[1], each[0]))
                if name not in IGNORED
            ),
        )


def _hour(item: Json) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for users in listed(item, "byNode", lambda node: listed(node, "byUser", _user, ()), ()):
        for name, program, count in users:
            found[name, program] += count
    return found


def _user(item: Json) -> tuple[str, str, int]:
    return text(item, "username", ""), text(item, "userAgent", ""), whole(item, "requestCount", 0)
