"""The named steps that an upgrade leaves out: those of its type, and those that the user names. Pure.

The type `aro` is that of the upgrader of the same name in managed-upgrade-operator (`pkg/upgraders/aroupgrader.go`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...common.verdict import Reason, remark
from ...common.words import enumerate_few

OSD, ARO = "osd", "aro"
TYPES = (OSD, ARO)
DELAYED_CHECK, UPGRADEABLE, PROCEDURES = "UpgradeDelayedCheck", "IsUpgradeable", "PostUpgradeProcedures"
OPTIONAL = (DELAYED_CHECK, UPGRADEABLE, PROCEDURES)
"""The steps that can be left out by name. Others are left out where their variables are not given."""


def left_out(params: Mapping[str, Any]) -> list[str]:
    """The steps that an upgrade with these options leaves out, in their order."""
    named: Collection[str] = OPTIONAL if params["upgrade_type"] == ARO else params["left_out"]
    return [name for name in OPTIONAL if name in {*named, *params["left_out"]}]


def remark_on(names: Collection[str]) -> tuple[Reason, ...]:
    """A remark that names the steps that are left out."""
    if not names:
        return ()
    said = f"The upgrade leaves out {enumerate_few(names)}, as upgrade_type or left_out says."
    return (remark("steps_left_out", said),)
