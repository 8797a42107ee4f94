"""The conditions in the status of an object of Kubernetes (API conventions, Typical status properties). Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ..common.reading import Json, listed, text


@dataclass(frozen=True)
class StatusCondition:
    """One condition of an object."""

    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    since: str = ""
    """The time at which its status has changed last."""

    @property
    def true(self) -> bool:
        """Whether it says True."""
        return self.status == "True"

    @property
    def false(self) -> bool:
        """Whether it says False, which a condition that is unknown does not."""
        return self.status == "False"


UNKNOWN = StatusCondition()


def conditions(status: Json) -> dict[str, StatusCondition]:
    """The conditions of a status by their type."""
    return dict(listed(status, "conditions", _condition, ()))


def _condition(item: Json) -> tuple[str, StatusCondition]:
    said = (text(item, name, "") for name in ("status", "reason", "message", "lastTransitionTime"))
    return text(item, "type"), StatusCondition(*said)
