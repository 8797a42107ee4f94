"""The observer: it sees every change, and knows at each time what every attached volume still has.

The invariant: no act leaves an attached volume without a healthy replica (RW in the modes of its active engine), or
with an engine whose instance manager does not run, and none interrupts it: an attached volume that is faulted, or
that is detached while a ticket wants it where it was. Nor does one remove an instance manager with parts of a volume
on which a recurring job is at work. A loss by a fault alone is named as such: all that was lost last was on
Kubernetes nodes that a fault had taken. Until the volume is healthy again, such a part may come and go.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.sandbox.kubernetes.objects import Json, Kind, seconds_of
from tests.sandbox.longhorn.controllers.recurring import at_work, volumes_of
from tests.sandbox.longhorn.kinds import (
    ATTACHMENTS,
    ENGINES,
    MANAGERS,
    RECURRING_JOBS,
    REPLICAS,
    VOLUMES,
)
from tests.sandbox.longhorn.objects import Objects

NO_REPLICA = "no healthy replica"
AT_WORK = "a recurring job at work"
"""The loss of a volume on which a recurring job works while an instance manager with a part of it is removed."""
INTERRUPTED = "interrupted"
"""The loss of an attached volume that is faulted or detached although its workload wants it."""


@dataclass(frozen=True)
class Loss:
    """An attached volume has lost something that it may never lose."""

    moment: float
    volume: str
    what: str
    """`no healthy replica`, `no running instance manager` or `interrupted`."""
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
        self._attached: dict[str, tuple[str, ...]] = {}
        """The Kubernetes node of the workload of each attached volume, then those of its engines."""
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
            if gone:
                self._check_jobs(node)
            for each in self._objects.of_node(ENGINES, node):
                self._look(each["spec"].get("volumeName", ""))
            if not gone and self._started_anew(item):
                # The loss of a frontend there may be found only now.
                held = [name for name, places in self._attached.items() if node in places]
                self._explained |= dict.fromkeys([(name, INTERRUPTED) for name in held], self.taken[node])
                del self.taken[node], self._given_back[node]

    def _look(self, name: str) -> None:
        volume = self._objects.get(VOLUMES, name)
        if volume is None or "deletionTimestamp" in volume["metadata"]:
            self._attached.pop(name, None)
            self._forget(name)
            return
        status = volume.get("status", {})
        attached = status.get("state") == "attached"
        well = attached and status.get("robustness") != "faulted"
        if self._is_interrupted(name, well=well) or not attached:
            self._forget(name)
            return
        if not volume["spec"].get("nodeID"):
            return
        # An engine that is on no Kubernetes node is being stopped, since its volume is being detached.
        engines = [each for each in self._objects.of_volume(ENGINES, name) if each["spec"].get("nodeID")]
        active = [each for each in engines if each["spec"].get("active")]
        if not active:
            return
        if well:
            self._attached[name] = (volume["spec"]["nodeID"], *(each["spec"]["nodeID"] for each in active))
        self._check_replicas(name, active)
        self._check_manager(name, active)
        runs = all(each.get("status", {}).get("currentState") == "running" for each in active)
        healthy = runs and volume["status"].get("robustness") == "healthy"
        if healthy and not any(each[0] == name for each in self._lost):
            self._explained = {key: each for key, each in self._explained.items() if key[0] != name}

    def _is_interrupted(self, name: str, *, well: bool) -> bool:
        """Whether the volume was attached and is not, though its workload has not let go of it; it is noted once."""
        if well or name not in self._attached:
            return False
        held = self._attached.pop(name)
        tickets = ((self._objects.get(ATTACHMENTS, name) or {}).get("spec", {}).get("attachmentTickets") or {}).values()
        if not any(each.get("nodeID") == held[0] for each in tickets):
            return False
        fault = next((self.taken[each] for each in held if each in self.taken), "")
        self._note(name, INTERRUPTED, lost=True, fault=fault or self._explained.get((name, NO_REPLICA), ""))
        return True

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
        self._note(name, NO_REPLICA, lost=not healthy, fault=fault)

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

    def _check_jobs(self, node: str) -> None:
        """Note the volumes of a Kubernetes node, whose instance manager goes, on which a recurring job is at work."""
        held = {
            each["spec"]["volumeName"] for kind in (ENGINES, REPLICAS) for each in self._objects.of_node(kind, node)
        }
        for name in sorted(at_work(self._objects)):
            job = self._objects.get(RECURRING_JOBS, name)
            for volume in volumes_of(job, list(self._objects.all(VOLUMES))):
                if volume["metadata"]["name"] in held:
                    self._note(volume["metadata"]["name"], AT_WORK, lost=True, fault=self.taken.get(node, ""))

    def _note(self, volume: str, what: str, *, lost: bool, fault: str) -> None:
        if not lost:
            self._lost.discard((volume, what))
        elif (volume, what) not in self._lost:
            self._lost.add((volume, what))
            fault = fault or self._explained.get((volume, what), "")
            if fault:
                self._explained[volume, what] = fault
            self.losses.append(Loss(self._objects.clock.now(), volume, what, fault))
