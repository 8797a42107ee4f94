"""Snapshots and backups (`controller/snapshot_controller.go`, `backup_controller.go`)."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind, copied, timestamp
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import ATTACHMENTS, BACKUPS, ENGINES, GROUP, NODES, SNAPSHOTS, VOLUMES

LOOK_AGAIN = 1.0
LOST = "lost track of the corresponding snapshot info inside volume engine"


class Snapshots:
    """A snapshot needs an engine that runs: a detached volume is attached for it, by a ticket, and detached again.

    One that was taken is ready as long as the engine that serves its volume lists it. A new engine, such as after a
    switch, lists none until its monitor has looked, so that each has an error for that time (`reconcile`, `LOST`).
    """

    def __init__(self, shared: Shared) -> None:
        self._shared, self._objects = shared, shared.objects
        self.queue = shared.queue(self._look)
        self.stuck: set[str] = set()
        """Volumes of which no snapshot is ever ready."""
        self._begun: set[str] = set()
        self._chains: dict[str, Json] = {}
        """The snapshots in the chain of each volume."""
        self._listing: set[str] = set()
        """The engines whose monitor is about to look."""

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind == SNAPSHOTS and gone:
            self._begun.discard(item["metadata"]["name"])
            self._forget(item)
        elif kind == SNAPSHOTS:
            self.queue.add(item["metadata"]["name"])
        elif kind == ENGINES and not gone and item["spec"].get("volumeName") in self._chains:
            for name in self._chains[item["spec"]["volumeName"]]:
                self.queue.add(name)

    def _look(self, name: str) -> None:
        snapshot = self._objects.get(SNAPSHOTS, name)
        if snapshot is None:
            return
        volume = snapshot["spec"]["volume"]
        if "deletionTimestamp" in snapshot["metadata"]:
            self._ticket(volume, name, "")
            self._objects.change(SNAPSHOTS, name, lambda item: item["metadata"].pop("finalizers", None))
            return
        status = snapshot.get("status", {})
        if status.get("creationTime"):
            self._compare(name, status, volume)
            return
        if not snapshot["spec"].get("createSnapshot"):
            return
        if volume in self.stuck:
            self.queue.add(name, LOOK_AGAIN)
            return
        if self._objects.get(VOLUMES, volume) is None:
            self._objects.status(SNAPSHOTS, name, lambda status: status.update(error=f"volume {volume} not found"))
            return
        engine = self._running(volume)
        if engine is None:
            self._attach(volume, name)
            # As `reconcile` does until the volume is attached for it.
            said = f"failed to take snapshot because the volume engine {volume}-e-0 is not running."
            said += " Waiting for the volume to be attached"
            self._objects.status(SNAPSHOTS, name, lambda status: status.update(error=said))
            self.queue.add(name, LOOK_AGAIN)
        elif name not in self._begun:
            self._begun.add(name)
            self._objects.clock.later(self._shared.durations.snapshot, lambda: self._taken(name))

    def _compare(self, name: str, status: Json, volume: str) -> None:
        """Whether a snapshot that was taken is listed by the engine that runs; without one nothing is said anew."""
        engine = self._running(volume)
        if engine is None:
            return
        listed = name in (engine["status"].get("snapshots") or {})
        told = {"readyToUse": listed, "error": "" if listed else LOST}
        if any(status.get(key) != value for key, value in told.items()):
            self._objects.status(SNAPSHOTS, name, lambda status: status.update(told))
        serving = engine["metadata"]["name"]
        if not listed and serving not in self._listing:
            self._listing.add(serving)
            self._objects.clock.later(self._shared.durations.monitor, lambda: self._list(serving, volume))

    def _list(self, serving: str, volume: str) -> None:
        """The monitor of an engine lists the chain of its volume."""
        self._listing.discard(serving)
        chain = self._chains.get(volume)
        if self._objects.get(ENGINES, serving) is not None and chain is not None:
            self._objects.status(ENGINES, serving, lambda status: status.update(snapshots=copied(chain)))

    def _running(self, volume: str) -> Json | None:
        found = self._objects.of_volume(ENGINES, volume)
        active = [each for each in found if each["spec"].get("active")]
        return next((each for each in active if each.get("status", {}).get("currentState") == "running"), None)

    def _attach(self, volume: str, name: str) -> None:
        item = self._objects.get(VOLUMES, volume) or {}
        if item.get("status", {}).get("state") != "detached" or item["spec"].get("nodeID"):
            return
        place = next(iter(self._objects.all(NODES)), None)
        if place is not None:
            self._ticket(volume, name, place["metadata"]["name"])

    def _ticket(self, volume: str, name: str, node: str) -> None:
        key = f"snapshot-controller-{name}"

        def change(item: Json) -> None:
            tickets = dict(item["spec"].get("attachmentTickets") or {})
            tickets.pop(key, None)
            if node:
                tickets[key] = {"id": key, "type": "snapshot-controller", "nodeID": node, "generation": 0}
            item["spec"]["attachmentTickets"] = tickets

        self._objects.change(ATTACHMENTS, volume, change)

    def _taken(self, name: str) -> None:
        self._begun.discard(name)
        snapshot = self._objects.get(SNAPSHOTS, name)
        if snapshot is None or "deletionTimestamp" in snapshot["metadata"]:
            return
        volume = snapshot["spec"]["volume"]
        engine = self._running(volume)
        if engine is None or volume in self.stuck or self.queue.away:
            self.queue.add(name, LOOK_AGAIN)
            return
        now = timestamp(self._objects.clock.now())
        known = engine["status"].get("snapshots") or {}
        parent = next((key for key, each in known.items() if "volume-head" in each.get("children", {})), "")
        labels = snapshot["spec"].get("labels") or {}

        def tell(status: Json) -> None:
            found = dict(status.get("snapshots") or {})
            for each in found.values():
                each["children"] = {key: True for key in each.get("children", {}) if key != "volume-head"}
            if parent:
                found[parent]["children"][name] = True
            said = {"name": name, "parent": parent, "children": {"volume-head": True}, "removed": False}
            found[name] = {**said, "usercreated": True, "created": now, "size": "0", "labels": labels}
            status["snapshots"] = self._chains[volume] = found

        self._objects.status(ENGINES, engine["metadata"]["name"], tell)
        told = {"readyToUse": True, "creationTime": now, "requestedTime": now, "userCreated": True, "parent": parent}
        told |= {"size": 0, "labels": labels, "children": {"volume-head": True}, "markRemoved": False, "error": ""}
        told["restoreSize"] = int(engine["spec"].get("volumeSize") or 0)
        self._objects.status(SNAPSHOTS, name, lambda status: status.update(told))
        self._ticket(volume, name, "")

    def _forget(self, snapshot: Json) -> None:
        """It is out of the chain of its volume (`SnapshotDelete`, then a purge)."""
        name, volume = snapshot["metadata"]["name"], snapshot["spec"]["volume"]
        self._chains.get(volume, {}).pop(name, None)
        for engine in self._objects.of_volume(ENGINES, volume):

            def change(status: Json) -> None:
                found = dict(status.get("snapshots") or {})
                gone = found.pop(name, None)
                if gone is not None and gone["parent"] in found:
                    children = {**found[gone["parent"]]["children"], **gone["children"]}
                    children.pop(name, None)
                    found[gone["parent"]]["children"] = children
                status["snapshots"] = found

            self._objects.status(ENGINES, engine["metadata"]["name"], change)


class Backups:
    """A backup takes a while, and is shown in the status of the engine as well (`backupStatus`)."""

    def __init__(self, shared: Shared) -> None:
        self._shared, self._objects = shared, shared.objects
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        if kind == BACKUPS and not gone:
            self.queue.add(item["metadata"]["name"])

    def _look(self, name: str) -> None:
        backup = self._objects.get(BACKUPS, name)
        if backup is None or backup.get("status", {}).get("state"):
            return
        volume = self._volume(backup)
        told = {"state": "InProgress", "progress": 0, "volumeName": volume, "labels": {}, "messages": {}}
        told["snapshotName"] = backup["spec"].get("snapshotName", "")
        self._objects.status(BACKUPS, name, lambda status: status.update(told))
        self._on_engine(volume, name, "in_progress", 0)
        self._objects.clock.later(self._shared.durations.backup, lambda: self._done(name, volume))

    def _volume(self, backup: Json) -> str:
        return str(backup["metadata"].get("labels", {}).get("backup-volume", ""))

    def _on_engine(self, volume: str, name: str, state: str, progress: int) -> None:
        for engine in self._objects.of_volume(ENGINES, volume):
            backup = self._objects.get(BACKUPS, name) or {"spec": {}}
            told = {"state": state, "progress": progress, "snapshotName": backup["spec"].get("snapshotName", "")}
            told |= {"replicaAddress": "", "backupURL": f"s3://{GROUP}?backup={name}&volume={volume}"}

            def change(status: Json, told: Json = told) -> None:
                status["backupStatus"] = {**(status.get("backupStatus") or {}), name: told}

            self._objects.status(ENGINES, engine["metadata"]["name"], change)

    def _done(self, name: str, volume: str) -> None:
        self._on_engine(volume, name, "complete", 100)
        self._objects.status(BACKUPS, name, lambda status: status.update(state="Completed", progress=100))
