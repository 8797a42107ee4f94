"""The request that an UpgradeConfig is: the variables of the run that its spec gives, and all faults at once. Pure.

The fields are those of managed-upgrade-operator (`api/v1alpha1/upgradeconfig_types.go`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .left_out import ARO, OSD

Spec = Mapping[str, Any]
KINDS = {"OSD": OSD, "ARO": ARO}
"""The values of `upgrade_type` by those of `spec.type`."""


@dataclass(frozen=True)
class SpecField:
    """A field of the spec, by its path, and the variable of the run that it gives."""

    path: str
    variable: str

    def value(self, spec: Spec) -> object:
        """The value of the field; None where it is absent, empty or false."""
        found: object = spec
        for name in self.path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        return found or None


AT = SpecField("upgradeAt", "upgrade_at")
VERSION, IMAGE = SpecField("desired.version", "target_version"), SpecField("desired.image", "upgrade_release_image")
FIELDS = (
    VERSION,
    SpecField("desired.channel", "upgrade_channel"),
    IMAGE,
    SpecField("desired.architecture", "upgrade_architecture"),
    SpecField("capacityReservation", "upgrade_extra_workers"),
    AT,
)
"""All fields that say what is to be done. `type` and `PDBForceDrainTimeout` have rules of their own."""


def variables_of(spec: Spec) -> dict[str, str]:
    """The variables of the run, each as text, as a request has them. A start that cannot be read is left out."""
    found = {each.variable: each.value(spec) for each in FIELDS}
    readable = {name: value for name, value in found.items() if isinstance(value, (str, bool))}
    if not _is_time(readable.get(AT.variable)):
        readable.pop(AT.variable, None)
    of_type = {"upgrade_type": KINDS[spec["type"]]} if spec.get("type") in KINDS else {}
    return of_type | {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in readable.items()
    }


def faults_in(spec: Spec) -> Iterator[str]:
    """One sentence for each fault of a spec."""
    kind, at = spec.get("type"), AT.value(spec)
    if kind not in KINDS:
        yield f"spec.type is '{kind or ''}': give one of {' and '.join(KINDS)}."
    if not any(each.value(spec) for each in (VERSION, IMAGE)):
        yield "spec.desired names no version: give desired.version, such as 4.18.9."
    if not _is_time(at):
        yield f"spec.upgradeAt is '{at or ''}': give a date and time with a zone, such as 2026-11-21T02:00:00Z."
    for each in FIELDS:
        value = each.value(spec)
        if value is not None and not isinstance(value, (str, bool)):
            yield f"spec.{each.path} is {value}: write it as text."


def _is_time(value: object) -> bool:
    """Whether it is a time as RFC 3339 writes it, as `upgrade_at` has to be."""
    try:
        return datetime.fromisoformat(str(value).strip().upper().replace("Z", "+00:00")).tzinfo is not None
    except ValueError:
        return False
