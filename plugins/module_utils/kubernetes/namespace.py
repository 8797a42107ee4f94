# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole namespace in two calls: its StatefulSets, and its pods of any owner."""

from __future__ import annotations

from ..common.errors import NotUnderstood
from .client import Json, KubernetesClient
from .pods import name_in, pod, pod_path
from .state import Namespace, Pod, Unread
from .stateful_sets import list_stateful_sets


def observe_namespace(client: KubernetesClient, namespace: str, label_selector: str | None = None) -> Namespace:
    """The StatefulSets and pods of a namespace now; the label selector is for StatefulSets only.

    Pods are asked for after the sets: a pod that names a set of this look as its owner then belongs to that set. Most
    pods may be strangers, so one that cannot be read is kept apart; the judging code says which ones matter.

    Raises:
        Refusal: an answer cannot be had.
    """
    sets = list_stateful_sets(client, namespace, label_selector)
    read: list[Pod] = []
    unread: list[Unread] = []
    for item in client.list(pod_path(namespace)):
        try:
            read.append(pod(item))
        except NotUnderstood as error:
            unread.append(_unread(item, error))
    return Namespace(namespace, sets, tuple(read), tuple(unread))


def _unread(item: Json, error: NotUnderstood) -> Unread:
    """The pod with its name, its address and the error. A pod without a name may be any, so the error is raised."""
    name, status = name_in(item), item.get("status")
    address = status.get("podIP") if isinstance(status, dict) else None
    if not name:
        raise error
    return Unread(name, address if isinstance(address, str) else "", error)
