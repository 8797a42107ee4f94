"""The observer: it looks at every change and forgets nothing.

It distinguishes clients from the stand-ins, names a client by its field manager, and knows what may never happen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.controllers.belonging import Belonging
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import (
    ACKS,
    CURRENT,
    DESIRED,
    HEALTH_CHECKS,
    MACHINE_SETS,
    POOLS,
    VERSION,
    VERSIONS,
    annotations_of,
)

TOO_MANY = "more Kubernetes nodes of a pool under way than maxUnavailable"
TAKEN_WHILE_PAUSED = "a Kubernetes node of a paused pool was taken"
WANTED_TWICE = "the update was wanted twice"
WANTED_EARLY = "the wanted version was not among the available updates"
CHANNEL_LATE = "the channel was changed together with the wanted update, or after it"
PERSON = "kubectl"
"""The field manager of everything that a person does here."""
MARK = "upgrade.stateful/"
"""The beginning of the annotations of a run."""
_FOLLOWED = (VERSIONS, POOLS, MACHINE_SETS, HEALTH_CHECKS, NODES)


@dataclass(frozen=True)
class Write:
    """A client has written something; stand-ins are not clients."""

    time: float
    manager: str
    """Its field manager; empty where nothing shows it, as after a deletion, also of a field that it alone owned."""
    kind: Kind
    name: str
    fields: tuple[str, ...]
    """Such as `spec.paused`, or `created` and `deleted`."""


@dataclass(frozen=True)
class Breach:
    """Something has happened that may never happen."""

    time: float
    what: str
    about: str
    by: str
    """The field manager of the client, or the component of OpenShift."""


class Observer:
    """`writes` of clients and `breaches`, in the order in which they came."""

    def __init__(self, shared: Shared, belonging: Belonging) -> None:
        self._shared, self._belonging = shared, belonging
        self.writes: list[Write] = []
        self.breaches: list[Breach] = []
        self._wanted: dict[str, Json] = {}
        """By client: the update that it wants, as long as that is not complete."""
        self._cordoned_by: dict[str, str] = {}
        self._paused_by: dict[str, str] = {}
        self._paused_before = {name for name, each in self._named(POOLS).items() if each["spec"].get("paused")}
        self._sets_before = set(self._named(MACHINE_SETS))
        shared.resources.store.listeners.append(self._changed)

    def _named(self, kind: Kind) -> dict[str, Json]:
        return {each["metadata"]["name"]: each for each in self._shared.each(kind)}

    def writes_of(self, field: str) -> list[tuple[str, str]]:
        """Field manager and object of each write of a field by a client."""
        return [(each.manager, each.name) for each in self.writes if field in each.fields]

    def _changed(self, change: Change) -> None:
        if change.kind not in _FOLLOWED and (change.kind, change.item["metadata"]["name"]) != (CONFIG_MAPS, ACKS):
            return
        actor = self._shared.acting.component
        if not actor:
            actor = self._note(change)
        if change.kind == VERSIONS:
            self._look_at_version(change, actor)
        elif change.kind == NODES and change.type == "MODIFIED":
            self._look_at_node(change, actor)
        elif change.kind == POOLS and _field(change.before, "paused") != _field(change.item, "paused"):
            self._paused_by[change.item["metadata"]["name"]] = actor

    def _note(self, change: Change) -> str:
        fields = _written(change)
        if not fields:
            return ""
        manager = "" if change.type == "DELETED" else writer_of(change, fields)
        name = change.item["metadata"]["name"]
        self.writes.append(Write(self._shared.clock.now(), manager, change.kind, name, fields))
        return manager

    def _breach(self, what: str, about: str, by: str) -> None:
        self.breaches.append(Breach(self._shared.clock.now(), what, about, by))

    def _look_at_version(self, change: Change, actor: str) -> None:
        item, before = change.item, change.before or {"spec": {}}
        status = item.get("status", {})
        last = (status.get("history") or [{}])[0]
        if last.get("state") == "Completed":
            self._wanted = {who: each for who, each in self._wanted.items() if not _is_of(each, last)}
        wanted, wanted_before = item["spec"].get("desiredUpdate"), before["spec"].get("desiredUpdate")
        wants = wanted is not None and wanted != wanted_before
        if item["spec"].get("channel") != before["spec"].get("channel") and (wants or actor in self._wanted):
            self._breach(CHANNEL_LATE, VERSION, actor)
        if wanted is None and last.get("state") == "Completed":
            # It was taken back before any of it started.
            self._wanted.clear()
        if not wants or wanted is None:
            return
        if actor in self._wanted:
            self._breach(WANTED_TWICE, VERSION, actor)
        available = [each["version"] for each in status.get("availableUpdates") or []]
        if not wanted.get("image") and wanted.get("version") not in available:
            self._breach(WANTED_EARLY, VERSION, actor)
        self._wanted[actor] = wanted

    def _look_at_node(self, change: Change, actor: str) -> None:
        item, before = change.item, change.before or change.item
        name = item["metadata"]["name"]
        if bool(item["spec"].get("unschedulable")) != bool(before["spec"].get("unschedulable")):
            self._cordoned_by[name] = actor
        desired = annotations_of(item).get(DESIRED)
        if desired == annotations_of(before).get(DESIRED) or desired == annotations_of(item).get(CURRENT):
            return
        pool = self._shared.kept(POOLS, self._belonging.pool_of(name))
        if pool is None or CURRENT not in annotations_of(before):
            return
        if pool["spec"].get("paused"):
            self._breach(TAKEN_WHILE_PAUSED, name, actor)
        nodes = self._belonging.nodes_of(pool["metadata"]["name"])
        taken = [each for each in nodes if annotations_of(each).get(DESIRED) != annotations_of(each).get(CURRENT)]
        if len(taken) > states.most_unavailable(pool, len(nodes)):
            self._breach(TOO_MANY, pool["metadata"]["name"], actor)

    def leftovers(self) -> list[str]:
        """Pauses, cordons, MachineSets and annotations that a client has left behind; those of a person are meant."""
        found = []
        for name, pool in self._named(POOLS).items():
            meant = name in self._paused_before or self._paused_by.get(name) == PERSON
            if pool["spec"].get("paused") and not meant:
                found.append(f"{name}: paused")
        for name, node in self._named(NODES).items():
            meant = self._cordoned_by.get(name) in {None, PERSON} or not states.is_done(node)
            if node["spec"].get("unschedulable") and not meant:
                found.append(f"{name}: cordoned")
        found += [f"{name}: machine set" for name in self._named(MACHINE_SETS) if name not in self._sets_before]
        return [*found, *self._marks()]

    def _marks(self) -> Iterable[str]:
        for kind in _FOLLOWED:
            for name, item in self._named(kind).items():
                yield from (f"{name}: {each}" for each in annotations_of(item) if each.startswith(MARK))


def _is_of(wanted: Json, entry: Json) -> bool:
    image, version = wanted.get("image"), wanted.get("version")
    return bool(image == entry.get("image") if image else version == entry.get("version"))


def _field(item: Json | None, name: str) -> object:
    return (item or {}).get("spec", {}).get(name) or None


def _written(change: Change) -> tuple[str, ...]:
    """The fields that a client may write, and that are other ones now."""
    if change.type != "MODIFIED":
        whole = {"ADDED": "created", "DELETED": "deleted"}[change.type]
        return () if change.kind == NODES else (whole,)
    before, after = _parts(change.before or {}, change.kind), _parts(change.item, change.kind)
    return tuple(sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key)))


def _parts(item: Json, kind: Kind) -> Json:
    found = {f"spec.{key}": value for key, value in item.get("spec", {}).items()}
    if kind == NODES:
        # The taints are those of Kubernetes itself.
        found = {key: value for key, value in found.items() if key == "spec.unschedulable"}
    found |= {f"data.{key}": value for key, value in (item.get("data") or {}).items()}
    for part in ("labels", "annotations"):
        found |= {f"metadata.{part}.{key}": value for key, value in (item["metadata"].get(part) or {}).items()}
    return found


def writer_of(change: Change, fields: Iterable[str]) -> str:
    """The field manager that has written fields: their owner, or else the one whose entry is another one now."""
    entries = [each for each in _entries(change.item) if not each.get("subresource")]
    for field in fields:
        owners = [each for each in entries if _owns(each, field)]
        if owners:
            return str(max(owners, key=lambda each: each.get("time", ""))["manager"])
    before = _entries(change.before or {"metadata": {}})
    changed = [each for each in entries if each not in before]
    return str(max(changed or entries or [{}], key=lambda each: each.get("time", "")).get("manager", ""))


def _entries(item: Json) -> list[Json]:
    found: list[Json] = item["metadata"].get("managedFields") or []
    return found


def _owns(entry: Json, field: str) -> bool:
    top, _dot, rest = field.partition(".")
    tree = entry["fieldsV1"]
    names = [top, *(rest.split(".", 1) if top == "metadata" else [rest])]
    for name in names:
        if field in {"created", "deleted"}:
            return True
        if f"f:{name}" not in tree:
            return False
        tree = tree[f"f:{name}"]
    return True
