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
STARTED, DELAYED_CHECK, UPGRADEABLE = "SendStartedNotification", "UpgradeDelayedCheck", "IsUpgradeable"
DEPENDENCIES, EXTRA_WORKERS = "ExternalDependencyAvailabilityCheck", "EnsureExtraUpgradeWorkers"
CONTROL_PLANE_WINDOW, WORKER_WINDOW = "CreateControlPlaneMaintWindow", "CreateWorkerMaintWindow"
PROCEDURES, COMPLETED = "PostUpgradeProcedures", "SendCompletedNotification"
OF_ARO = (DELAYED_CHECK, UPGRADEABLE, PROCEDURES)
"""The steps that the type `aro` does not have."""
OPTIONAL = (
    STARTED,
    DELAYED_CHECK,
    UPGRADEABLE,
    DEPENDENCIES,
    EXTRA_WORKERS,
    CONTROL_PLANE_WINDOW,
    WORKER_WINDOW,
    PROCEDURES,
    COMPLETED,
)
"""The steps that can be left out by name, in their order. All others make the upgrade, prove that OpenShift is well, or
remove what was added."""
NOTICES = {STARTED: "started", COMPLETED: "completed"}
"""The states whose notices are steps of their own."""


def left_out(params: Mapping[str, Any]) -> list[str]:
    """The steps that an upgrade with these options leaves out, in their order."""
    named: Collection[str] = OF_ARO if params["upgrade_type"] == ARO else ()
    return [name for name in OPTIONAL if name in {*named, *params["left_out"]}]


def without_steps(params: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The options that ask for these steps, without what they ask for."""
    asking: dict[str, dict[str, Any]] = {
        DEPENDENCIES: {"dependencies": []},
        EXTRA_WORKERS: {"extra_workers": False},
        CONTROL_PLANE_WINDOW: {"control_plane_silences": []},
        WORKER_WINDOW: {"worker_silences": []},
        PROCEDURES: {"fedramp": False},
    }
    found = {option: value for name in names for option, value in asking.get(name, {}).items()}
    return {option: value for option, value in found.items() if option in params}


def remark_on(names: Collection[str]) -> tuple[Reason, ...]:
    """A remark that names the steps that are left out."""
    if not names:
        return ()
    said = f"The upgrade leaves out {enumerate_few(names)}, as upgrade_type or left_out says."
    return (remark("steps_left_out", said),)
