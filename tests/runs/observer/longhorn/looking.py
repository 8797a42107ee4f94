"""Takes the observation from Longhorn's objects in memory, without a request and without the collection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.runs.observer.longhorn.sight import FIELDS, MARK, OURS, RUN, UNDO, Manager, Place, Sight, Volume
from tests.sandbox.kubernetes.kinds import LEASES
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.longhorn.controllers.recurring import at_work, volumes_of
from tests.sandbox.longhorn.kinds import (
    ATTACHMENTS,
    CRON_JOBS,
    DATA_ENGINE_UPGRADES,
    ENGINES,
    FRONTENDS,
    GROUP,
    MANAGER_UPGRADES,
    MANAGERS,
    NAMESPACE,
    NODES,
    RECURRING_JOBS,
    REPLICAS,
    SETTINGS,
    SNAPSHOTS,
    VOLUMES,
)
from tests.sandbox.longhorn.longhorn import Longhorn

MANAGED = "app.kubernetes.io/managed-by"
ENDED = {"completed", "error", "failed"}
OF_VOLUMES = (VOLUMES, ENGINES, FRONTENDS, REPLICAS, ATTACHMENTS)
CHANGED = {kind.plural: kind for kind in (NODES, VOLUMES, SETTINGS, CRON_JOBS)}
GROUPS = {GROUP, LEASES.group, CRON_JOBS.group}


class Looking:
    """The looks at one Longhorn. A volume near which nothing has changed is not looked at again."""

    def __init__(self, longhorn: Longhorn) -> None:
        self._objects, self._store = longhorn.objects, longhorn.kubernetes.server.store
        self._changed = True
        self._stale = {each["metadata"]["name"] for each in self._objects.all(VOLUMES)}
        self._volumes: dict[str, Volume] = {}
        self.sight = Sight()
        """The last one."""

    def note(self, change: Change) -> None:
        """A listener of the store."""
        if change.item["metadata"].get("namespace") != NAMESPACE or change.kind.group not in GROUPS:
            return
        self._changed = True
        if change.kind in OF_VOLUMES:
            name = change.item["metadata"]["name"]
            spec = change.item["spec"]
            self._stale.add(name if change.kind == VOLUMES else spec.get("volumeName") or spec.get("volume", ""))
        elif change.kind == MANAGERS:
            self._stale |= self._near(change.item["spec"]["nodeID"])

    def _near(self, node: str) -> set[str]:
        kinds = (REPLICAS, ENGINES, FRONTENDS)
        return {each["spec"]["volumeName"] for kind in kinds for each in self._objects.of_node(kind, node)}

    def look(self) -> bool:
        """Look again. The result says whether anything has changed."""
        if not self._changed:
            return False
        self._changed = False
        managers = {each["metadata"]["name"]: self._manager(each) for each in self._objects.all(MANAGERS)}
        running = {name for name, each in managers.items() if each.runs}
        for name in self._stale:
            self._volumes.pop(name, None)
            item = self._objects.get(VOLUMES, name)
            if item is not None and "deletionTimestamp" not in item["metadata"]:
                self._volumes[name] = self._volume(name, item, running)
        self._stale = set()
        self.sight = Sight(
            volumes=dict(self._volumes),
            managers=managers,
            image=self._objects.setting("default-instance-manager-image"),
            upgrades=self._upgrades(),
            snapshots=frozenset(_name(each) for each in self._objects.all(SNAPSHOTS) if _stays(each)),
            holder=self._holder(),
            works=self._works(),
            **self._changes(),
        )
        return True

    def _manager(self, item: Json) -> Manager:
        runs = item.get("status", {}).get("currentState") == "running"
        return Manager(item["spec"]["nodeID"], item["spec"]["image"], item["metadata"]["uid"], runs)

    def _volume(self, name: str, item: Json, running: set[str]) -> Volume:
        status, spec = item.get("status", {}), item["spec"]
        tickets = ((self._objects.get(ATTACHMENTS, name) or {}).get("spec", {}).get("attachmentTickets") or {}).values()
        at = status.get("currentNodeID", "") or spec.get("nodeID", "")
        wanted = bool(at) and any(each.get("nodeID") == at for each in tickets)
        engines = [each for each in self._objects.of_volume(ENGINES, name) if each["spec"].get("nodeID")]
        serving = [each for each in engines if each["spec"].get("active") and _is_running(each, running)]
        replicas = self._objects.of_volume(REPLICAS, name)
        known = [found for each in serving if (found := each["status"].get("replicaModeMap")) is not None]
        copies = [each for each in replicas if _is_running(each, running)]
        sound = [each for each in copies if each["spec"].get("healthyAt") and not each["spec"].get("failedAt")]
        usable = [each for each in copies if any(found.get(_name(each)) == "RW" for found in known)]
        fronts = [each for each in self._objects.of_volume(FRONTENDS, name) if _is_up(each)]
        well = status.get("state") == "attached" and status.get("robustness") != "faulted"
        return Volume(
            attached=wanted and status.get("state") in {"attached", "detaching"},
            serves=well and bool(serving) and (bool(fronts) or not spec.get("frontend")),
            shown=bool(spec.get("frontend")),
            workload=at,
            engines=frozenset(each["spec"]["nodeID"] for each in engines),
            copies=_nodes(usable if known else sound),
            places=_nodes(replicas),
            wanted=spec.get("numberOfReplicas", 0),
        )

    def _upgrades(self) -> dict[str, frozenset[str]]:
        found = dict[str, frozenset[str]]()
        for kind in (DATA_ENGINE_UPGRADES, MANAGER_UPGRADES):
            for each in self._objects.all(kind):
                if each.get("status", {}).get("state") not in ENDED:
                    found[_name(each)] = frozenset(each["spec"].get("nodes") or [each["spec"]["nodeID"]])
        return found

    def _changes(self) -> dict[str, Any]:
        values, undos, marks, notes = dict[Place, Any](), {}, {}, set()
        for plural, kind in CHANGED.items():
            for item in self._objects.all(kind):
                name, written = _name(item), item["metadata"].get("annotations") or {}
                values |= {(plural, name, field): value_at(item, field) for field in FIELDS[plural]}
                notes |= {(plural, name, each) for each in written if each.startswith(OURS)}
                if UNDO in written:
                    undos[plural, name] = written[UNDO]
                if MARK in written and kind == NODES:
                    marks[name] = written[MARK]
        return {"values": values, "undos": undos, "marks": marks, "notes": frozenset(notes)}

    def _works(self) -> dict[str, frozenset[str]]:
        volumes = list(self._objects.all(VOLUMES))
        found = {name: volumes_of(self._objects.get(RECURRING_JOBS, name), volumes) for name in at_work(self._objects)}
        return {name: frozenset(map(_name, there)) for name, there in found.items()}

    def _holder(self) -> str:
        leases = [each for each in self._store.each(LEASES, NAMESPACE) if MANAGED in _labels(each)]
        return next((str(each["spec"].get("holderIdentity") or "") for each in leases), "")

    def item(self, kind: Kind, name: str) -> Json | None:
        """An object as it is."""
        return self._objects.get(kind, name)


def value_at(item: Json, field: str) -> Any:
    """The value of a field; an empty text is none."""
    found: Any = item
    for each in field.split("."):
        found = found.get(each) if isinstance(found, dict) else None
    return None if found == "" else found


def _is_running(item: Json, running: set[str]) -> bool:
    """Whether an engine or a replica runs in an instance manager that runs."""
    status = item.get("status", {})
    return status.get("currentState") == "running" and status.get("instanceManagerName") in running


def _is_up(frontend: Json) -> bool:
    return bool(frontend.get("status", {}).get("currentState") == "running")


def _nodes(items: Iterable[Json]) -> frozenset[str]:
    return frozenset(str(each["spec"].get("nodeID", "")) for each in items) - {""}


def _stays(snapshot: Json) -> bool:
    """Whether a snapshot is one of a run, and is not to go."""
    return RUN in _labels(snapshot) and "deletionTimestamp" not in snapshot["metadata"]


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])


def _labels(item: Json) -> Json:
    found: Json = item["metadata"].get("labels") or {}
    return found
