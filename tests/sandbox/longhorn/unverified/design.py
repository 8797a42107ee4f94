"""The controllers of the design "v2 data engine live upgrade": the whole, and each node. Unverified.

A node that fails is marked, and the whole goes on with the next. One temporary node serves all volumes.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import DATA_ENGINE_UPGRADES, GROUP, MANAGERS, NODE_UPGRADES, NODES, SNAPSHOTS, VOLUMES
from tests.sandbox.longhorn.unverified.steps import Cluster, Troubles, name

STEP = 1.0
"""Seconds between two looks."""
STATES = (
    "undefined",
    "pending",
    "initializing",
    "failing-replicas",
    "switching-over",
    "upgrading-instance-manager",
    "switching-back",
    "rebuilding-replica",
    "finalizing",
    "completed",
)
ENDED = frozenset({"completed", "error"})
_WAS = f"{GROUP}/allow-scheduling-was"


class Whole:
    """`DataEngineUpgradeManager`: undefined, initializing, upgrading, completed, or error."""

    def __init__(self, shared: Shared, troubles: Troubles) -> None:
        self._cluster, self._objects, self._troubles = Cluster(shared), shared.objects, troubles
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind == DATA_ENGINE_UPGRADES and not gone:
            self.queue.add(name(item))
        elif kind == NODE_UPGRADES:
            self.queue.add(item["spec"].get("dataEngineUpgradeManager", ""))

    def _look(self, called: str) -> None:
        item = self._objects.get(DATA_ENGINE_UPGRADES, called)
        if item is None:
            return
        status = item.get("status", {})
        state = status.get("state") or "undefined"
        if state in ENDED or (DATA_ENGINE_UPGRADES, state) in self._troubles.stalls:
            return
        error = self._troubles.errors.get((DATA_ENGINE_UPGRADES, state))
        if error:
            self._tell(called, {"state": "error", "message": error})
        elif state == "undefined":
            self._begin(called, item)
        elif state == "initializing":
            nodes = item["spec"].get("nodes") or [name(each) for each in self._objects.all(NODES)]
            found = {each: {"state": "pending", "message": ""} for each in nodes}
            self._tell(called, {"state": "upgrading", "upgradeNodes": found})
        else:
            self._upgrade(called, item)

    def _begin(self, called: str, item: Json) -> None:
        image = self._objects.setting("default-instance-manager-image")
        nodes = item["spec"].get("nodes") or [name(each) for each in self._objects.all(NODES)]
        lacking = [each for each in nodes if not self._cluster.image_is_there(each, image)]
        if lacking:
            message = f"default instance manager image {image} is not pulled on nodes {', '.join(lacking)}"
            self._tell(called, {"state": "error", "message": message, "instanceManagerImage": image})
            return
        self._tell(called, {"state": "initializing", "instanceManagerImage": image, "message": ""})

    def _upgrade(self, called: str, item: Json) -> None:
        status = item["status"]
        nodes = {key: dict(each) for key, each in (status.get("upgradeNodes") or {}).items()}
        under_way = [each for each in self._objects.all(NODE_UPGRADES) if self._state(each) not in ENDED]
        for each in self._objects.all(NODE_UPGRADES):
            node = each["spec"].get("nodeID", "")
            if node in nodes and each["spec"].get("dataEngineUpgradeManager") == called:
                message = each.get("status", {}).get("message", "")
                nodes[node] = {"state": self._state(each), "message": message}
        told: Json = {"upgradeNodes": nodes}
        following = next((node for node, each in sorted(nodes.items()) if each["state"] == "pending"), "")
        if under_way:
            told["upgradingNode"] = under_way[0]["spec"].get("nodeID", "")
        elif not following:
            told |= {"state": "completed", "upgradingNode": ""}
        else:
            told["upgradingNode"] = following
            nodes[following] = {"state": "undefined", "message": ""}
        self._tell(called, told)
        if following and not under_way:
            self._create(called, item, following)

    def _state(self, item: Json) -> str:
        return str(item.get("status", {}).get("state") or "undefined")

    def _create(self, called: str, item: Json, node: str) -> None:
        owner = {"apiVersion": f"{GROUP}/v1beta2", "kind": "DataEngineUpgradeManager", "name": called}
        metadata = {"name": f"{called}-{node}", "ownerReferences": [{**owner, "uid": item["metadata"]["uid"]}]}
        spec = {"nodeID": node, "dataEngine": "v2", "dataEngineUpgradeManager": called}
        spec["instanceManagerImage"] = item["status"].get("instanceManagerImage", "")
        self._objects.create(NODE_UPGRADES, {"metadata": metadata, "spec": spec})

    def _tell(self, called: str, told: Json) -> None:
        self._cluster.tell(DATA_ENGINE_UPGRADES, called, told)


class OneNode:
    """`NodeDataEngineUpgrade`: each state does its act, and is left when that has come to be."""

    def __init__(self, shared: Shared, troubles: Troubles) -> None:
        self._cluster, self._objects, self._troubles = Cluster(shared), shared.objects, troubles
        self.queue = shared.queue(self._look)
        self._acts: dict[str, Callable[[Json, str], bool]] = {
            "undefined": lambda _item, _node: True,
            "pending": self._check,
            "initializing": self._initialize,
            "failing-replicas": lambda _item, _node: True,
            "switching-over": self._switch_over,
            "upgrading-instance-manager": self._replace,
            "switching-back": self._switch_back,
            "rebuilding-replica": self._rebuild,
            "finalizing": lambda _item, _node: True,
        }

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind == NODE_UPGRADES and not gone:
            self.queue.add(name(item))

    def _look(self, called: str) -> None:
        item = self._objects.get(NODE_UPGRADES, called)
        if item is None or "deletionTimestamp" in item["metadata"]:
            return
        state = item.get("status", {}).get("state") or "undefined"
        if state in ENDED:
            return
        self.queue.add(called, STEP)
        if (NODE_UPGRADES, state) in self._troubles.stalls:
            self._tell(called, {"state": state, "message": f"waiting in state {state}"})
            return
        error = self._troubles.errors.get((NODE_UPGRADES, state))
        if error:
            self._tell(called, {"state": "error", "message": error})
        elif self._acts[state](item, item["spec"]["nodeID"]):
            self._tell(called, {"state": STATES[STATES.index(state) + 1], "message": ""})

    def _tell(self, called: str, told: Json) -> None:
        self._cluster.tell(NODE_UPGRADES, called, told)

    def _fail(self, item: Json, message: str) -> bool:
        self._tell(name(item), {"state": "error", "message": message})
        return False

    def _check(self, item: Json, node: str) -> bool:
        refused = self._cluster.refusals(node)
        if refused:
            return self._fail(item, "; ".join(refused))
        ill = [name(each) for each in self._cluster.touched(node) if each["status"].get("robustness") != "healthy"]
        if ill:
            self._tell(name(item), {"message": f"waiting for volumes {', '.join(ill)} to be healthy"})
        return not ill

    def _initialize(self, item: Json, node: str) -> bool:
        known = item["metadata"].get("annotations", {})
        if _WAS not in known:
            was = (self._objects.get(NODES, node) or {"spec": {}})["spec"].get("allowScheduling", True)
            note = {_WAS: str(bool(was)).lower()}
            self._objects.change(NODE_UPGRADES, name(item), lambda each: each["metadata"].update(annotations=note))
            self._objects.change(NODES, node, lambda each: each["spec"].update(allowScheduling=False))
        volumes = [name(each) for each in self._cluster.touched(node)]
        for volume in volumes:
            called = f"{name(item)}-{volume}"
            if self._objects.get(SNAPSHOTS, called) is None:
                spec = {"volume": volume, "createSnapshot": True}
                self._objects.create(SNAPSHOTS, {"metadata": {"name": called}, "spec": spec})
        moving = {each: {"state": "", "message": ""} for each in self._cluster.engines_on(node)}
        self._tell(name(item), {"volumes": moving})
        return all(self._is_ready(f"{name(item)}-{volume}") for volume in volumes)

    def _is_ready(self, snapshot: str) -> bool:
        return bool((self._objects.get(SNAPSHOTS, snapshot) or {}).get("status", {}).get("readyToUse"))

    def _switch_over(self, item: Json, node: str) -> bool:
        volumes = self._volumes(item)
        others = [name(each) for each in self._objects.all(NODES) if name(each) != node]
        places = [each for each in others if self._cluster.manager_runs(each)]
        if not places:
            return self._fail(item, "no other node with a running instance manager")
        return self._switch(item, volumes, places[0], "switching-over", "switched-over")

    def _switch_back(self, item: Json, _node: str) -> bool:
        return self._switch(item, self._volumes(item), "", "switching-back", "switched-back")

    def _volumes(self, item: Json) -> dict[str, Json]:
        found = item["status"].get("volumes") or {}
        return {key: dict(each) for key, each in found.items() if self._objects.get(VOLUMES, key) is not None}

    def _switch(self, item: Json, volumes: dict[str, Json], node: str, going: str, gone: str) -> bool:
        for each, told in volumes.items():
            self._cluster.switch(each, node)
            told["state"] = gone if self._cluster.is_switched(each, node) else going
        self._tell(name(item), {"volumes": volumes})
        return all(each["state"] == gone for each in volumes.values())

    def _replace(self, item: Json, node: str) -> bool:
        image = item["spec"]["instanceManagerImage"]
        for each in self._cluster.managers(node):
            if each["spec"]["image"] != image:
                self._objects.delete(MANAGERS, name(each))
        return self._cluster.manager_runs(node, image) and self._cluster.disks_ready(node)

    def _rebuild(self, item: Json, node: str) -> bool:
        was = item["metadata"].get("annotations", {}).get(_WAS, "true") == "true"
        self._objects.change(NODES, node, lambda each: each["spec"].update(allowScheduling=was))
        return all(each["status"].get("robustness") == "healthy" for each in self._cluster.touched(node))
