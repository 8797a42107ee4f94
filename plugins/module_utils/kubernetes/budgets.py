# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the PodDisruptionBudgets of a namespace."""

from __future__ import annotations

from ..common.errors import Denied
from ..common.reading import Json as Part
from ..common.reading import listed, one_of, part, text, text_map, texts, whole, within
from .answers import reading_object
from .client import Json, KubernetesClient
from .paths import in_namespace
from .state import Budget


def list_budgets(client: KubernetesClient, namespace: str) -> tuple[Budget, ...]:
    """The budgets of a namespace; none if the user may not list them, which the plan remarks."""
    try:
        found = client.list(in_namespace("/apis/policy/v1", namespace, "poddisruptionbudgets"))
    except Denied:
        return ()
    return tuple(_budget(item) for item in found)


def _budget(item: Json) -> Budget:
    with reading_object("PodDisruptionBudget", item):
        status, spec = part(item, "status", {}), part(item, "spec", {})
        selector = part(spec, "selector") if spec.get("selector") is not None else None
        text_map(selector or {}, "matchLabels")
        listed(selector or {}, "matchExpressions", _requirement, ())
        return Budget(
            name=within(item, "metadata", lambda metadata: text(metadata, "name")),
            selector=selector,
            allowed=whole(status, "disruptionsAllowed", 0),
            healthy=whole(status, "currentHealthy", 0),
            desired=whole(status, "desiredHealthy", 0),
            expected=whole(status, "expectedPods", 0),
        )


def _requirement(each: Part) -> None:
    text(each, "key")
    texts(each, "values", ())
    one_of(each, "operator", ("In", "NotIn", "Exists", "DoesNotExist"))
