"""The indices that index state management (ISM) manages, and what it does with each. Pure.

The fields are those of its answer to `_plugins/_ism/explain` (plugin source, ManagedIndexMetaData and ExplainResponse).
An index whose policy is completed, or that is between two states, has no action.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...common.reading import Json, flag, named, optional_text, part, text, whole

TOTAL = "total_managed_indices"
"""The one field of the answer that is not an index."""
CONFIGURATION = ".opendistro-ism-config"
"""The index that has the policies and the managed indices; without it no index is managed (plugin source)."""
FIELDS = (
    TOTAL,
    *(f"*.{name}" for name in ("index", "enabled", "action.name", "action.failed", "step.name", "step.step_status")),
    *("*.retry_info.failed", "*.info.message"),
)
"""The fields of the answer that are read."""


@dataclass(frozen=True)
class ManagedIndex:
    """An index with a policy: the action and step that it is at, whether they have failed, and what ISM says of it."""

    name: str
    action: str = ""
    step: str = ""
    failed: bool = False
    said: str = ""
    status: str = ""
    """The status of its step: starting, condition_not_met, completed, failed or timed_out."""
    enabled: bool = True
    """Whether ISM runs its policy at present."""


@dataclass(frozen=True)
class Managed:
    """The managed indices: those that were read, how many those were, and how many there are in all."""

    indices: tuple[ManagedIndex, ...] = ()
    read: int = 0
    total: int = 0
    asked: bool = False
    """Whether the plugin was there to be asked."""

    def with_page(self, answer: Json) -> Managed:
        """These and those of one more page. Of a page only the indices whose policy is at work are kept."""
        each = {name: part(answer, name) for name in answer if name != TOTAL}
        indices = named({"indices": each}, "indices", lambda _name, index: _managed(index))
        working = (index for index in indices.values() if index.enabled and (index.action or index.failed))
        total = max(self.total, whole(answer, TOTAL))
        return Managed((*self.indices, *working), self.read + len(indices), total, asked=True)


def _managed(index: Json) -> ManagedIndex:
    action, step = part(index, "action", {}), part(index, "step", {})
    failed = flag(action, "failed", default=False) or flag(part(index, "retry_info", {}), "failed", default=False)
    return ManagedIndex(
        name=text(index, "index"),
        enabled=flag(index, "enabled", default=True),
        action=optional_text(action, "name") or "",
        step=optional_text(step, "name") or "",
        failed=failed,
        said=_message(index),
        status=optional_text(step, "step_status") or "",
    )


def _message(index: Json) -> str:
    # A policy may put anything there; it is only shown.
    found = part(index, "info", {}).get("message")
    return found if isinstance(found, str) else ""
