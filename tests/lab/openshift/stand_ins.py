"""Stand-ins for the operators that the version operator waits for, and for the machine config operator, in real time.

They follow the same rules as those in memory (`tests/sandbox/openshift/controllers`), and share their pure parts. Each
`step` does what is due; nothing waits in it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.lab.openshift.drains import Drains
from tests.lab.openshift.payloads import NAMESPACE, deployed
from tests.lab.openshift.server import Server
from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json, condition_of, timestamp
from tests.sandbox.openshift.building import config_object
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.controllers.operators import version_of
from tests.sandbox.openshift.controllers.pool_status import tell_status
from tests.sandbox.openshift.controllers.version_operator import BACKUP
from tests.sandbox.openshift.description import MACHINE_CONFIG_OPERATOR
from tests.sandbox.openshift.kinds import (
    CONFIGS,
    CURRENT,
    DESIRED,
    DESIRED_DRAIN,
    DONE,
    LAST_DRAIN,
    OPERATORS,
    POOLS,
    POST_ACTION,
    REASON,
    REQUIRED,
    STATE,
    VERSION,
    VERSIONS,
    WORKING,
    annotations_of,
    rendered,
)


@dataclass(frozen=True)
class RealPace:
    """Seconds that things take."""

    operator: float = 1.0
    """Until an operator is of another version."""
    reboot: float = 1.0
    """Until a Kubernetes node is Ready again."""
    boot: float = 1.0
    """Until a new machine is a Kubernetes node."""


class ClusterOperators:
    """Each reaches the version that the version operator has given it, and says so in its ClusterOperator."""

    def __init__(self, server: Server, names: Sequence[str], pace: RealPace) -> None:
        self._server, self._names, self._pace = server, names, pace
        self._since: dict[tuple[str, str], float] = {}
        self.degraded: dict[str, str] = {}
        """By operator: the message with which it is degraded."""

    def step(self) -> None:
        """Look at all of them."""
        given = {each["metadata"]["name"]: each for each in self._server.all(CONFIG_MAPS, NAMESPACE)}
        for operator in self._server.all(OPERATORS):
            name = operator["metadata"]["name"]
            if name in self._names and deployed(name) in given:
                self._come_to(operator, given[deployed(name)]["data"]["version"])

    def _come_to(self, operator: Json, version: str) -> None:
        name, there = operator["metadata"]["name"], version_of(operator)
        began = self._since.setdefault((name, version), time.monotonic())
        reached = there == version or self._is_done(name, version, time.monotonic() - began)
        said = f"Cluster version is {version}" if reached else f"Working towards {version}"
        reason = self.degraded.get(name, "")
        now = timestamp(time.time())

        def change(item: Json) -> None:
            with_condition(item, "Available", "True", now, reason="AsExpected", message=f"{name} is available")
            progressing = ("False", "AsExpected") if reached else ("True", "Working")
            with_condition(item, "Progressing", progressing[0], now, reason=progressing[1], message=said)
            degraded = ("True", "SyncError") if reason else ("False", "AsExpected")
            with_condition(item, "Degraded", degraded[0], now, reason=degraded[1], message=reason)
            with_condition(item, "Upgradeable", "True", now, reason="AsExpected")
            if name == "etcd" and self._is_backup_asked_for():
                said_of_backup = f"UpgradeBackup for {there} is there"
                with_condition(item, BACKUP, "True", now, reason="UpgradeBackupSuccessful", message=said_of_backup)
            if reached and not reason:
                item["status"]["versions"] = [{"name": "operator", "version": version}]

        self._server.tell(OPERATORS, name, change)

    def _is_backup_asked_for(self) -> bool:
        """As `isRequireRecentBackup` in `pkg/operator/upgradebackupcontroller` of cluster-etcd-operator."""
        accepted = condition_of(self._server.get(VERSIONS, VERSION) or {}, "ReleaseAccepted")
        return accepted.get("status") == "False" and BACKUP in accepted.get("message", "")

    def _is_done(self, name: str, version: str, seconds: float) -> bool:
        if seconds < self._pace.operator:
            return False
        return name != MACHINE_CONFIG_OPERATOR or self._pools_are_done(version)

    def _pools_are_done(self, version: str) -> bool:
        """Give all pools their configurations of a version; whether those are updated that are required."""
        done = True
        for pool in self._server.all(POOLS):
            name, wanted = pool["metadata"]["name"], rendered(pool["metadata"]["name"], version)
            if self._server.get(CONFIGS, wanted) is None:
                self._server.create(CONFIGS, config_object(name, version))
            if pool["spec"]["configuration"]["name"] != wanted:
                self._server.merge(POOLS, name, {"spec": {"configuration": {"name": wanted}}})
                done = False
            elif REQUIRED in (pool["metadata"].get("labels") or {}):
                told = pool["status"].get("observedGeneration", 0) >= pool["metadata"]["generation"]
                done &= told and condition_of(pool, "Updated").get("status") == "True"
        return done


class MachineConfigOperator:
    """The controller of the pools, and the daemons of all Kubernetes nodes."""

    def __init__(self, server: Server, pace: RealPace) -> None:
        self._server, self._pace = server, pace
        self._drains = Drains(server)
        self._booting: dict[str, float] = {}
        """By Kubernetes node: the time at which its reboot began."""

    def step(self) -> None:
        """Look at all pools, then at all of their Kubernetes nodes."""
        pools = self._server.all(POOLS)
        nodes = [each for each in self._server.all(NODES) if CURRENT in annotations_of(each)]
        for pool in pools:
            own = [each for each in nodes if states.pool_of(each, pools) == pool["metadata"]["name"]]
            self._take(pool, own)
            now = timestamp(time.time())

            def change(item: Json, pool: Json = pool, own: list[Json] = own, now: str = now) -> None:
                tell_status(item, pool, own, now)

            self._server.tell(POOLS, pool["metadata"]["name"], change)
        for node in nodes:
            self._daemon(node)

    def _take(self, pool: Json, nodes: Sequence[Json]) -> None:
        """Give Kubernetes nodes the configuration of their pool, as many as it lets go, and none of a paused one."""
        if pool["spec"].get("paused"):
            return
        found, capacity = states.candidates(pool, nodes)
        for node in states.in_order(found)[:capacity]:
            self._annotate(node, {DESIRED: pool["spec"]["configuration"]["name"]})

    def is_booting(self, name: str) -> bool:
        """Whether a Kubernetes node has no power now."""
        return name in self._booting

    def _daemon(self, node: Json) -> None:
        """The next stage of a Kubernetes node (`update` in `pkg/daemon`, `pkg/controller/drain`)."""
        found, name = annotations_of(node), node["metadata"]["name"]
        wanted = found[DESIRED]
        if found[CURRENT] == wanted:
            return
        drain, uncordon = f"drain-{wanted}", f"uncordon-{wanted}"
        if found[STATE] != WORKING:
            self._annotate(node, {STATE: WORKING})
        elif found[DESIRED_DRAIN] not in {drain, uncordon}:
            self._annotate(node, {DESIRED_DRAIN: drain})
        elif found[DESIRED_DRAIN] == drain and found[LAST_DRAIN] != drain:
            self._server.merge(NODES, name, {"spec": {"unschedulable": True}})
            if self._drains.is_over(name):
                self._annotate(node, {LAST_DRAIN: drain})
        elif found[DESIRED_DRAIN] == drain and found.get(POST_ACTION) != "Rebooting":
            self._annotate(node, {POST_ACTION: "Rebooting"})
            self._booting[name] = time.monotonic()
        elif found[DESIRED_DRAIN] == drain:
            if time.monotonic() - self._booting.get(name, 0.0) >= self._pace.reboot:
                self._booting.pop(name, None)
                self._annotate(node, {DESIRED_DRAIN: uncordon})
        elif found[LAST_DRAIN] != uncordon:
            self._server.merge(NODES, name, {"spec": {"unschedulable": None}})
            self._annotate(node, {LAST_DRAIN: uncordon})
        else:
            self._annotate(node, {STATE: DONE, CURRENT: wanted, REASON: "", POST_ACTION: ""})

    def _annotate(self, node: Json, said: dict[str, str]) -> None:
        node["metadata"]["annotations"].update(said)
        self._server.merge(NODES, node["metadata"]["name"], {"metadata": {"annotations": said}})
