"""An UpgradeConfig as a user writes it: made, changed and deleted, and the answer in its status."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.runs.openshift import FILES, NAMESPACE
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.openshift import OpenShift

NAME, SOURCE = "managed-upgrade-config", "upgradeconfig/managed-upgrade-config"
STATE = "upgrade.stateful/request-state"


class UpgradeConfigs:
    """The shipped definition on an OpenShift, and one UpgradeConfig."""

    def __init__(self, here: World, openshift: OpenShift) -> None:
        self.openshift = openshift
        here.sandbox.apply([yaml.safe_load((FILES / "upgrade_config.yml").read_text(encoding="utf-8"))])
        kind = openshift.resources.kinds.named("upgrade.managed.openshift.io/v1alpha1", "UpgradeConfig")
        assert kind is not None
        self.requests = kind

    def request(self, version: str = "4.18.2", at: float = -60.0, **spec: Any) -> None:
        """Ask for an upgrade, as a user does with strict validation."""
        wanted = {"type": "OSD", "PDBForceDrainTimeout": 60, "desired": {"version": version}}
        whole = {**wanted, "upgradeAt": timestamp(self.openshift.clock.now() + at), **spec}
        strict, resources = Writing("kubectl", strict="Strict"), self.openshift.resources
        if resources.store.get(self.requests, NAMESPACE, NAME) is None:
            body = {"apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig", "spec": whole}
            resources.create(self.requests, NAMESPACE, {**body, "metadata": {"name": NAME}}, strict)
        else:
            resources.change(self.requests, NAMESPACE, NAME, lambda item: item.update(spec=whole), strict)

    def requested(self) -> Json:
        """The UpgradeConfig, as it is now."""
        return self.openshift.resources.get(self.requests, NAMESPACE, NAME)

    def history(self) -> list[Json]:
        """Its history."""
        found: list[Json] = self.requested().get("status", {}).get("history", [])
        return found

    def state(self) -> str:
        """The state of the request that is noted at it."""
        return str(json.loads(self.requested()["metadata"]["annotations"][STATE])["state"])

    def withdraw(self) -> None:
        """Delete it."""
        self.openshift.resources.delete(self.requests, NAMESPACE, NAME)
