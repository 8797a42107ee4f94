"""The templates from which pods were made, as the controller of StatefulSets keeps them (ControllerRevision)."""

from __future__ import annotations

from typing import Any

from ...common.errors import Denied
from ...common.reading import part, text_map, within
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.paths import in_namespace
from ...kubernetes.state import StatefulSet


def fields_of(pool: StatefulSet) -> dict[str, Any]:
    """The fields of the template that a pool has now."""
    return _with_marks(pool.template, pool.template_marks)


def former_fields(client: KubernetesClient, namespace: str, revision: str) -> dict[str, Any] | None:
    """The fields of the template of a revision; None if it is gone, or the user may not read it.

    Raises:
        Refusal: the answer is missing or unreadable.
    """
    try:
        item = client.get(in_namespace("/apis/apps/v1", namespace, "controllerrevisions", revision))
    except Denied:
        return None
    if item is None:
        return None
    with reading_object("ControllerRevision", item):
        return within(
            item, "data.spec.template", lambda template: _with_marks(part(template, "spec"), _marks(template))
        )


def _marks(template: Any) -> dict[str, dict[str, str]]:
    metadata = part(template, "metadata", {})
    return {key: text_map(metadata, key) for key in ("labels", "annotations")}


def _with_marks(spec: Any, marks: Any) -> dict[str, Any]:
    """The fields of the spec, and one for each label and annotation."""
    words = {"labels": "label", "annotations": "annotation"}
    named = {f"{words[kind]} {key}": value for kind, found in marks.items() for key, value in found.items()}
    return {**spec, **named}
