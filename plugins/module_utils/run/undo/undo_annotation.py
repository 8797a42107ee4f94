"""The undo that a Kubernetes object of any kind carries in an annotation.

It is written in the same patch as the change, and removed in the patch that puts it back. Both patches fail if the
object was changed since it was read. A system provides the paths of the values, and `is_known`: whether its runs make
such a change. An undo with any other change is refused. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...common.errors import refusal
from .undo import UNREADABLE, Change, Path, Undo, document_of, undo_in, value_at

UNDO = "upgrade.stateful/undo"

Json = dict[str, Any]
Known = Callable[[Change], bool]


def carried_undo(found: Json, is_known: Known, annotation: str = UNDO) -> Undo | None:
    """The undo that an object carries in this annotation, if any.

    Raises:
        Refusal: it carries one that cannot be read, or that names a change which no run makes.
    """
    text = value_at(found, ("metadata", "annotations", annotation))
    if text is None:
        return None
    try:
        undo = undo_in(text, is_known)
        if undo.foreign or not undo.changes:
            raise ValueError("no run makes these changes")
    except UNREADABLE as error:
        raise refusal(
            "undo_not_readable",
            f"The annotation {annotation} of {named(found)} is not what this collection writes.",
            "Read the annotation, set by hand what it names to what it should be, and remove the annotation.",
        ) from error
    return undo


def patch_of(found: Json, undo: Undo | None, values: Mapping[Path, Any], annotation: str = UNDO) -> Json:
    """The merge patch that sets these values together with the undo (None removes it)."""
    present = value_at(found, ("metadata", "annotations", annotation))
    text = undo.text() if undo else None
    exact = {path: _replacing(value_at(found, path), value) for path, value in values.items()}
    guard: dict[Path, Any] = {("metadata", "resourceVersion"): found["metadata"]["resourceVersion"]}
    note: dict[Path, Any] = {} if text == present else {("metadata", "annotations", annotation): text}
    return document_of({**guard, **note, **exact})


def dotted(path: Path) -> str:
    """A path as people write it."""
    return ".".join(path)


def named(found: Json) -> str:
    """The kind and the name of an object."""
    return f"{found.get('kind') or 'object'} {value_at(found, ('metadata', 'name'))}"


def _replacing(present: Any, wanted: Any) -> Any:
    """The merge patch that turns `present` into exactly `wanted`."""
    if not isinstance(present, Mapping) or not isinstance(wanted, Mapping):
        return wanted
    return {
        **{name: None for name in present if name not in wanted},
        **{name: _replacing(present.get(name), value) for name, value in wanted.items()},
    }
