# SPDX-License-Identifier: GPL-3.0-or-later
"""ResourceQuotas: how many pods a namespace may have. It changes nothing."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import PODS, QUOTAS
from tests.sandbox.kubernetes.objects import Kind, Refused, details_of
from tests.sandbox.kubernetes.store import Store

_ENDED = frozenset({"Succeeded", "Failed"})
_COUNTED = ("pods", "count/pods")


def check(store: Store, kind: Kind, namespace: str, name: str) -> None:
    """Raises Refused (403) where a quota has no room for another pod."""
    if kind != PODS:
        return
    used = sum(pod["status"].get("phase") not in _ENDED for pod in store.each(PODS, namespace))
    for quota in store.each(QUOTAS, namespace):
        hard = quota.get("spec", {}).get("hard", {})
        for resource in _COUNTED:
            if resource in hard and used + 1 > int(hard[resource]):
                counts = f"requested: {resource}=1, used: {resource}={used}, limited: {resource}={hard[resource]}"
                why = f"exceeded quota: {quota['metadata']['name']}, {counts}"
                message = f'{kind.resource} "{name}" is forbidden: {why}'
                raise Refused(403, "Forbidden", message, details_of(kind, name))
