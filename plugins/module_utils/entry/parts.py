"""The work of the module `upgrade_part`: the parts of a run that only a run needs, by name.

A part has options as a module has: the run gives them from its variables, its plan and its results. To add a
part, write its function and a line here. One part is not a function: for `system` the action plugin runs the module
that plans, begins and ends the runs of the system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..common.task import Contract, Outcome, Task
from ..fleet import cluster_upgrade, fleet_plan
from ..kubernetes import kubernetes_nodes
from ..longhorn import left_image_checks as longhorn_image_checks
from ..monitoring import alert_silence, external_dependencies, prometheus_alerts
from ..opensearch import (
    cluster_snapshot,
    emptied_nodes,
    extra_member,
    grown_volumes,
    left_image_checks,
    raised_replicas,
)
from ..openshift import file_integrity
from ..run import canary_soak
from ..run.output import tell, upgrade_notice
from ..run.start import start_window, upgrade_request
from . import health_figures


@dataclass
class UpgradePart:
    """One part: its options, and its work. To its task it looks like a module."""

    CONTRACT: Contract
    run: Callable[[Task], Outcome]


def _never(_task: Task) -> Outcome:
    """A module on the machine would need the Python of the controller there."""
    raise AssertionError("a part on a machine is the work of its action plugin")


def _on_machine(*states: str, **more: dict[str, Any]) -> UpgradePart:
    """A part that its action plugin does on the machine of the task, by modules of Ansible (`plugin_utils/*_steps.py`).

    `states` are its steps, and `more` its further options.
    """
    state: dict[str, Any] = {"type": "str", "required": True, "choices": [*states]}
    return UpgradePart(Contract(argument_spec={"state": state, **more}, guarded=False), _never)


KUBEADM, OS_IMAGE, SERVICE = "kubeadm", "os_image", "service"
"""What the roles `member_kubeadm`, `member_os_image` and `member_service` do on a machine."""
PROGRAMS: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
_MODULES: Mapping[str, Any] = {
    "alert_silence": alert_silence,
    "canary_soak": canary_soak,
    "cluster_snapshot": cluster_snapshot,
    "cluster_upgrade": cluster_upgrade,
    "emptied_nodes": emptied_nodes,
    "external_dependencies": external_dependencies,
    "extra_member": extra_member,
    "file_integrity": file_integrity,
    "fleet_plan": fleet_plan,
    "grown_volumes": grown_volumes,
    "health_figures": health_figures,
    "image_checks": left_image_checks,
    KUBEADM: _on_machine(
        *("asked", "seen", "fetched", "tried", "saved", "installed", "proven", "handed_over", "upgraded", "restarted"),
        programs=PROGRAMS,
    ),
    "kubernetes_nodes": kubernetes_nodes,
    "longhorn_image_checks": longhorn_image_checks,
    OS_IMAGE: _on_machine("asked", "prepared", "before_drain", "after_drain", "ended"),
    "prometheus_alerts": prometheus_alerts,
    "raised_replicas": raised_replicas,
    SERVICE: _on_machine("seen", "stopped", "installed", "started", "forgotten"),
    "start_window": start_window,
    "tell": tell,
    "upgrade_notice": upgrade_notice,
    "upgrade_request": upgrade_request,
}
OF_SYSTEM = "system"
"""The part that is the module of the system."""
NAME = {"part": {"type": "str", "required": True, "choices": sorted([*_MODULES, OF_SYSTEM])}}
"""The option with the name of the part."""
PARTS: Mapping[str, UpgradePart] = {
    name: UpgradePart(replace(each.CONTRACT, argument_spec={**each.CONTRACT.argument_spec, **NAME}), each.run)
    for name, each in _MODULES.items()
}


def _without_name(_task: Task) -> Outcome:
    raise AssertionError("a task without the name of a part is refused by its contract, and that of a system replaced")


NAMELESS = UpgradePart(Contract(argument_spec={**NAME}, guarded=False), _without_name)
"""The part of a task that names none, so that Ansible refuses that task."""


def part_of(arguments: Mapping[str, Any]) -> UpgradePart:
    """The part that the arguments of a task name."""
    return PARTS.get(str(arguments.get("part")), NAMELESS)
