# SPDX-License-Identifier: GPL-3.0-or-later
"""The observer: it sees every change, and knows at each moment what every attached volume still has.

The invariant: no act leaves an attached volume without a healthy replica (RW in the modes of its active engine), or
with an engine whose instance manager does not run. A loss that a fault alone made is named as such: all that went last
was on Kubernetes nodes that a fault had taken. Until its volume is healthy again, such a part may come and go.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.sandbox.kubernetes.objects import Json, Kind, seconds_of
from tests.sandbox.longhorn.kinds import ENGINES, MANAGERS, REPLICAS, VOLUMES
from tests.sandbox.longhorn.objects import Objects


@dataclass(frozen=True)
class Loss:
    """An attached volume has lost something that it may never lose."""

    moment: float
    volume: str
    what: str
    """`no healthy replica` or `no running instance manager`."""
    fault: str
    """The fault that alone took it; empty: it was an act."""


class Observer:
    """`losses` are all there were; `by_acts` those that no fault explains."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.losses: list[Loss] = []
        self.taken: dict[str, str] = {}
        """Kubernetes nodes that a fault has taken, with the name of the fault."""
        self.watching = False
        """Off while a Longhorn is being built."""
        self._lost: set[tuple[str, str]] = set()
        self._explained: dict[tuple[str, str], str] = {}
        """The losses by faults of volumes that have not been healthy since."""
        self._given_back: dict[str, float] = {}
        self._places: dict[str, set[str]] = {}
        """The Kubernetes nodes of the healthy replicas of each volume, when it was last seen."""
        objects.listeners.append(self._seen)

    @property
    def by_acts(self) -> list[Loss]:
        """The losses that no fault explains: there must be none."""
        return [each for each in self.losses if not each.fault]

    def start(self) -> None:
        """Watch from now on."""
        self.watching = True
        for volume in self._objects.all(VOLUMES):
            self._look(volume["metadata"]["name"])

    def give_back(self, node: str) -> None:
        """A fault ends. The Kubernetes node has all of it again when an instance manager has started anew."""
        if node in self.taken:
            self._given_back[node] = self._objects.clock.now()

    def _started_anew(self, manager: Json) -> bool:
        node, status = manager["spec"].get("nodeID", ""), manager.get("status", {})
        if status.get("currentState") != "running" or node not in self._given_back:
            return False
        since = [each["lastTransitionTime"] for each in status.get("conditions") or [] if each["type"] == "PodReady"]
        return all(seconds_of(each) >= int(self._given_back[node]) for each in since)

    def _seen(self, kind: Kind, item: Json, gone: bool) -> None:
        if not self.watching:
            return
        if kind == VOLUMES:
            self._look(item["metadata"]["name"])
        elif kind in {ENGINES, REPLICAS}:
            self._look(item["spec"].get("volumeName", ""))
        elif kind == MANAGERS:
            node = item["spec"].get("nodeID", "")
            for each in self._objects.of_node(ENGINES, node):
                self._look(each["spec"].get("volumeName", ""))
            if not gone and self._started_anew(item):
                del self.taken[node], self._given_back[node]

    def _look(self, name: str) -> None:
        volume = self._objects.get(VOLUMES, name)
        state = (volume or {}).get("status", {}).get("state")
        if volume is None or "deletionTimestamp" in volume["metadata"] or state != "attached":
            self._forget(name)
            return
        if not volume["spec"].get("nodeID"):
            return
        # An engine that is on no Kubernetes node is being stopped, since its volume is being detached.
        engines = [each for each in self._objects.of_volume(ENGINES, name) if each["spec"].get("nodeID")]
        active = [each for each in engines if each["spec"].get("active")]
        if not active:
            return
        self._check_replicas(name, active)
        self._check_manager(name, active)
        runs = all(each.get("status", {}).get("currentState") == "running" for each in active)
        well = runs and volume["status"].get("robustness") == "healthy"
        if well and not any(each[0] == name for each in self._lost):
            self._explained = {key: each for key, each in self._explained.items() if key[0] != name}

    def _forget(self, name: str) -> None:
        self._lost -= {each for each in self._lost if each[0] == name}
        self._places.pop(name, None)

    def _check_replicas(self, name: str, engines: list[Json]) -> None:
        known = [each for each in engines if each.get("status", {}).get("replicaModeMap") is not None]
        if not known:
            return
        modes = [each["status"]["replicaModeMap"] for each in known]
        healthy = {replica for found in modes for replica, mode in found.items() if mode == "RW"}
        places = {self._place(replica) for replica in healthy}
        before = self._places.get(name, set())
        self._places[name] = places
        gone = before - places
        fault = next((self.taken[each] for each in sorted(gone) if each in self.taken), "")
        if not gone <= self.taken.keys():
            fault = ""
        self._note(name, "no healthy replica", lost=not healthy, fault=fault)

    def _place(self, replica: str) -> str:
        item = self._objects.get(REPLICAS, replica)
        return str(item["spec"].get("nodeID", "")) if item else ""

    def _check_manager(self, name: str, engines: list[Json]) -> None:
        held = []
        for engine in engines:
            node = engine["spec"].get("nodeID", "")
            running = [
                each
                for each in self._objects.of_node(MANAGERS, node)
                if each.get("status", {}).get("currentState") == "running"
            ]
            manager = engine.get("status", {}).get("instanceManagerName", "")
            held.append(any(each["metadata"]["name"] == manager for each in running) or (not manager and bool(running)))
        node = engines[0]["spec"].get("nodeID", "")
        self._note(name, "no running instance manager", lost=not any(held), fault=self.taken.get(node, ""))

    def _note(self, volume: str, what: str, *, lost: bool, fault: str) -> None:
        if not lost:
            self._lost.discard((volume, what))
        elif (volume, what) not in self._lost:
            self._lost.add((volume, what))
            fault = fault or self._explained.get((volume, what), "")
            if fault:
                self._explained[volume, what] = fault
            self.losses.append(Loss(self._objects.clock.now(), volume, what, fault))
