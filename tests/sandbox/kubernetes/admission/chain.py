"""The plugins of admission that every API server has switched on, in its order, as far as pods and claims meet them.

Server source, pkg/kubeapiserver/options/plugins.go: those that change a pod come before its validation, those that only
refuse after it, and quotas are the last.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.admission import expansion, limits, quotas, references, security
from tests.sandbox.kubernetes.kinds import CLAIMS, NAMESPACES, PODS
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, details_of
from tests.sandbox.kubernetes.store import Store


def change(store: Store, kind: Kind, item: Json) -> None:
    """Fill in what the plugins fill in. Raises Refused (403)."""
    if kind != PODS:
        return
    namespace = item["metadata"]["namespace"]
    limits.fill(store, namespace, item)
    _forbid(item, references.account(store, namespace, item["spec"]))
    _forbid(item, references.priority(store, item["spec"]))


def validate(store: Store, kind: Kind, item: Json) -> None:
    """Raises Refused (403) where a plugin does not let an object in."""
    if kind == CLAIMS:
        _forbid(item, quotas.exceeded(store, kind, item), kind)
    if kind != PODS:
        return
    namespace = item["metadata"]["namespace"]
    _forbid(item, limits.broken(store, namespace, item))
    labels = (store.kept(NAMESPACES, "", namespace) or {}).get("metadata", {}).get("labels", {})
    _forbid(item, security.violated(labels, item["spec"]))
    _forbid(item, quotas.exceeded(store, kind, item))


def expand(store: Store, kind: Kind, item: Json, before: Json) -> None:
    """Raises Refused (403) where a plugin does not let a claim grow."""
    if kind == CLAIMS:
        _forbid(item, expansion.fixed(store, item, before), CLAIMS)
        _forbid(item, quotas.exceeded(store, kind, item, before), CLAIMS)


def charge(store: Store, kind: Kind, item: Json, before: Json | None = None) -> None:
    """Note what was let in, and is no dry run."""
    if kind == CLAIMS or (kind == PODS and before is None):
        quotas.charge(store, kind, item, before)


def _forbid(item: Json, why: str, kind: Kind = PODS) -> None:
    if why:
        name = item["metadata"]["name"]
        raise Refused(403, "Forbidden", f'{kind.resource} "{name}" is forbidden: {why}', details_of(kind, name))
