# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole namespace in two calls: its StatefulSets, and its pods whoever owns them."""

from __future__ import annotations

from .client import KubernetesClient
from .pods import list_pods
from .state import Namespace
from .stateful_sets import list_stateful_sets


def observe_namespace(client: KubernetesClient, namespace: str, label_selector: str | None = None) -> Namespace:
    """What the namespace holds now; the label selector is for StatefulSets only.

    Pods are asked for after the sets: one that a set of this look owns is then of this set, or has gone meanwhile.

    Raises:
        Refusal: an answer cannot be had.
    """
    sets = list_stateful_sets(client, namespace, label_selector)
    return Namespace(namespace, sets, list_pods(client, namespace))
