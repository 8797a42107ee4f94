"""An OpenShift on the lab, upgraded by playbooks as a user with exactly the shipped roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.lab.lab import Lab
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.runs.openshift import NAMESPACE, PLAYBOOK, SYSTEM
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.openshift.kinds import CURRENT, POOLS, annotations_of, rendered
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import PLAN, Played, Playing, digest_of, play


@dataclass(frozen=True)
class Upgrades:
    """The upgrades of one OpenShift."""

    lab: Lab
    openshift: OpenShiftOnLab
    environment: Mapping[str, str]

    def variables(self, version: str, **more: Any) -> dict[str, Any]:
        """The variables of the playbook."""
        kubernetes = {"kubeconfig": str(self.lab.kubeconfig(USER))}
        own = {"target_version": version, "upgrade_namespace": NAMESPACE, "upgrade_kubernetes": kubernetes}
        return {**own, **more}

    def plan(self, version: str, **more: Any) -> Played:
        """The plan."""
        return play(PLAN, {**self.variables(version, **more), **SYSTEM}, self.environment)

    def agreed(self, version: str, **more: Any) -> dict[str, Any]:
        """The variables with consent to the present plan."""
        variables = self.variables(version, **more)
        return {**variables, "upgrade_confirm": digest_of({**variables, **SYSTEM}, self.environment)}

    def run(self, variables: Mapping[str, Any]) -> Played:
        """One run to its end."""
        return play(PLAYBOOK, variables, self.environment)

    def start(self, variables: Mapping[str, Any]) -> Playing:
        """One run, which goes on while the test does something else."""
        return Playing(PLAYBOOK, variables, self.environment)

    def history(self) -> list[tuple[str, str]]:
        """Versions and states of the history, the latest first."""
        return [(each["version"], each["state"]) for each in self.openshift.version()["status"]["history"]]

    def on(self, version: str) -> set[str]:
        """The Kubernetes nodes with the configuration of a version."""
        configurations = {rendered(each.name, version) for each in self.openshift.described.pools}
        nodes = self.openshift.all(NODES)
        return {each["metadata"]["name"] for each in nodes if annotations_of(each).get(CURRENT) in configurations}

    def left_behind(self) -> list[str]:
        """The things that a run has not put back."""
        pools = self.openshift.all(POOLS)
        found = [f"{each['metadata']['name']}: paused" for each in pools if each["spec"].get("paused")]
        return found + [f"{each['metadata']['name']}: {note}" for each in pools for note in annotations_of(each)]
