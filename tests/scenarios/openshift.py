"""An OpenShift on the lab, upgraded by playbooks as a user with exactly the shipped roles."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.lab.certificates import Authority
from tests.lab.lab import Lab
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.lab.waiting import moment, until
from tests.runs.openshift import FILES, NAMESPACE, PLAYBOOK, SYSTEM
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.listening import Listening
from tests.sandbox.openshift.kinds import CURRENT, POOLS, annotations_of, rendered
from tests.sandbox.openshift.registry import Registry
from tests.scenarios.cluster import CLUSTER_USER
from tests.scenarios.playbook import PLAN, Played, Playing, digest_of, play

REQUESTS = Kind("upgrade.managed.openshift.io", "v1alpha1", "upgradeconfigs", "UpgradeConfig", status=True)
REQUEST = "managed-upgrade-config"
SERVED = 60.0


@dataclass(frozen=True)
class Upgrades:
    """The upgrades of one OpenShift."""

    lab: Lab
    openshift: OpenShiftOnLab
    environment: Mapping[str, str]
    always: Mapping[str, Any] = field(default_factory=dict)
    """The variables that every run gets."""

    def variables(self, version: str, **more: Any) -> dict[str, Any]:
        """The variables of the playbook; an empty version: a request names it."""
        kubernetes = {"kubeconfig": str(self.lab.kubeconfig(CLUSTER_USER))}
        own = {"target_version": version} if version else {}
        return {**own, "upgrade_namespace": NAMESPACE, "upgrade_kubernetes": kubernetes, **self.always, **more}

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

    def request(self, version: str) -> dict[str, Any]:
        """Ask for an upgrade by an UpgradeConfig, whose kind is made first. It gives the variables of its runs."""
        self.lab.apply([yaml.safe_load((FILES / "upgrade_config.yml").read_text(encoding="utf-8"))])
        until("the kind of the request", self._is_requestable, SERVED)
        metadata = {"name": REQUEST, "namespace": NAMESPACE}
        spec = {"type": "OSD", "upgradeAt": moment(-60), "PDBForceDrainTimeout": 60, "desired": {"version": version}}
        whole = {"apiVersion": REQUESTS.api_version, "kind": REQUESTS.kind, "metadata": metadata, "spec": spec}
        self.lab.apply([whole])
        return {"upgrade_request": f"upgradeconfig/{REQUEST}"}

    def _is_requestable(self) -> bool:
        try:
            self.openshift.all(REQUESTS)
        except Refused:
            return False
        return True

    def steps(self) -> dict[str, Json]:
        """The conditions of the upgrade that was requested, by the names of their steps, the newest first."""
        (found,) = self.openshift.all(REQUESTS)
        newest = [*found.get("status", {}).get("history", []), {}][0]
        return {each["type"]: each for each in newest.get("conditions", [])}

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


@contextlib.contextmanager
def mirrored(openshift: OpenShiftOnLab, version: str, folder: Path) -> Iterator[dict[str, Any]]:
    """A user's own registry with the release of a version, and the variables that ask for its image."""
    authority, registry = Authority("the authority of the registry"), Registry(lambda: [version])
    ca_cert = folder / "registry.pem"
    ca_cert.write_bytes(authority.certificate)
    with Listening(Clock(time.time())) as listening:
        port = listening.serve(registry, identity=authority.issue("registry", ["127.0.0.1"]))
        registry.host, registry.has_store = f"{port.host}:{port.number}", False
        image = openshift.mirror(version, registry.host)
        yield {"upgrade_release_image": image, "upgrade_registry": {"ca_cert": str(ca_cert)}}


def windows(silences: Sequence[Mapping[str, Any]]) -> set[str]:
    """The labels by which alerts are hidden now: `alertname` for the control plane alone, `severity` for both."""
    active = [each for each in silences if each["status"]["state"] == "active"]
    return {matcher["name"] for each in active for matcher in each["matchers"]} - {"namespace"}
