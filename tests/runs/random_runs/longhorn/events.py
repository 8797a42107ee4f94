"""The events of a story of Longhorn, as they happen to it in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.runs.observer.longhorn.observer import LonghornObserver
from tests.runs.random_runs.events import OF_EVERY_SYSTEM, OF_PERSON, Happening
from tests.runs.random_runs.longhorn.database import Database
from tests.runs.random_runs.longhorn.story import DESIGN, LonghornStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.story import Event
from tests.sandbox.kubernetes.kinds import LEASES
from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Kind, timestamp
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.longhorn.kinds import (
    ATTACHMENTS,
    MANAGER_UPGRADES,
    NAMESPACE,
    NODE_UPGRADES,
    NODES,
    REPLICAS,
    SETTINGS,
    SNAPSHOTS,
    VOLUMES,
)
from tests.sandbox.longhorn.longhorn import Longhorn

PERSON = Writing("kubectl", strict="Strict")
OTHER_RUN, LIVES = "another-run", 20.0
"""A run that takes the lock, and the seconds for which it surely counts as one that lives."""
LATE = 0.37
"""A step of the seconds by which an event comes later."""
STATES: Mapping[Kind, tuple[str, ...]] = {
    NODE_UPGRADES: ("pending", "initializing", "switching-over", "upgrading-instance-manager", "switching-back"),
    MANAGER_UPGRADES: ("pending", "relocating-engines", "waiting-for-source-im", "restoring-engines"),
}
"""The states of Longhorn's own upgrades in which they stall or fail."""


@dataclass
class HappeningToLonghorn(Happening):
    """The events of one story of Longhorn while it goes on."""

    REQUESTS = (
        ("PATCH", "/volumes/"),
        ("PATCH", "/longhorn-system/nodes/"),
        ("PATCH", "/settings/"),
        ("PATCH", "/cronjobs/"),
        ("PATCH", "/leases/"),
        ("PATCH", "/configmaps/"),
        ("DELETE", "/instancemanagers/"),
        ("DELETE", "/snapshots/"),
        ("POST", "/snapshots"),
        ("POST", "upgrade(manager)?s$"),
        ("GET", "/volumes"),
        ("GET", "/instancemanagers"),
    )

    longhorn: Longhorn
    story: LonghornStory
    observer: LonghornObserver
    person: Person
    database: Database | None = None
    """The one that is asked before each Kubernetes node, if there is one."""
    _undone: list[Callable[[], None]] = field(default_factory=list)
    """The functions that undo all that people have done."""

    def happen(self, event: Event) -> None:
        """Let one event happen, some of them a little later. Raises Killed: it is the end of the controller."""
        late = LATE * (event.subject // 10 % 5)
        if event.kind in OF_EVERY_SYSTEM or not late:
            KINDS[event.kind](self, event)
        else:
            # Acts are made at the time of a look; what is seen in one look may be gone in the next one.
            self.world.calling.clock.later(late, lambda: KINDS[event.kind](self, event))

    def mend(self) -> None:
        """End everything that was broken, and take back what people have done in between."""
        self.world.sandbox.clock.sleep(LATE * 5)  # none comes later
        super().mend()
        self.longhorn.faults.mend_all(self.story.nodes)
        self.observer.over(*self.story.nodes, *(each.name for each in self.story.volumes))
        while self._undone:
            self._undone.pop()()
        self._salvage()
        for each in self.story.machines:
            if not each.schedulable:
                # A replica that is lost there would never come back, as the refusal says.
                self.by_person(NODES, each.name, lambda item: item["spec"].update(allowScheduling=True))

    def _salvage(self) -> None:
        """Have a person salvage faulted volumes, as a refusal says: Longhorn leaves a standby volume so."""
        for volume in self.longhorn.objects.all(VOLUMES):
            status = volume["status"]
            if (status.get("state"), status.get("robustness")) == ("detached", "faulted"):
                for each in self.longhorn.objects.of_volume(REPLICAS, volume["metadata"]["name"]):
                    name = each["metadata"]["name"]
                    self.longhorn.objects.change(REPLICAS, name, lambda item: item["spec"].update(failedAt=""))

    def remove_evidence(self) -> None:
        """Have a person remove the snapshots of runs, which show volumes that were interrupted since."""
        for each in list(self.longhorn.objects.all(SNAPSHOTS)):
            if "upgrade.stateful/run" in (each["metadata"].get("labels") or {}):
                self.longhorn.objects.delete(SNAPSHOTS, each["metadata"]["name"])

    def node_of(self, event: Event) -> str:
        """The Kubernetes node that the event is about."""
        return self.story.nodes[event.subject % len(self.story.nodes)]

    def volume_of(self, event: Event) -> Json | None:
        """The volume that the event is about, as it is now; None if there is none left."""
        there = [*self.longhorn.objects.all(VOLUMES)]
        return there[event.subject % len(there)] if there else None

    def by_person(self, kind: Kind, name: str, change: Callable[[Json], Any]) -> None:
        """Have a person change an object, if it is there."""
        if self.longhorn.objects.get(kind, name) is None:
            return

        def on_draft(item: Json) -> None:
            change(item)

        with self.observer.others():
            place = NAMESPACE if kind.namespaced else ""
            self.longhorn.kubernetes.server.resources.change(kind, place, name, on_draft, PERSON)

    def undone(self, event: Event, back: Callable[[], None]) -> None:
        """Undo something when the event is over, or at the end."""
        self._undone.append(back)

        def now() -> None:
            if back in self._undone:
                self._undone.remove(back)
                back()

        self.later(event, now)


def _of_node(
    act: Callable[[Longhorn, str], object], back: Callable[[Longhorn, str], object]
) -> Callable[[HappeningToLonghorn, Event], None]:
    """A fault that takes a Kubernetes node until it is over."""

    def happens(here: HappeningToLonghorn, event: Event) -> None:
        node = here.node_of(event)
        here.observer.foreign(node, lasting=True)
        act(here.longhorn, node)

        def over() -> None:
            back(here.longhorn, node)
            here.observer.over(node)

        here.later(event, over)

    return happens


def _replica_fails(here: HappeningToLonghorn, event: Event) -> None:
    volume = here.volume_of(event)
    replicas = here.longhorn.objects.of_volume(REPLICAS, volume["metadata"]["name"]) if volume else []
    if volume is not None and replicas:
        here.observer.foreign(volume["metadata"]["name"])
        here.longhorn.faults.replica_fails(replicas[event.subject % len(replicas)]["metadata"]["name"])


def _of_volume(
    act: Callable[[Longhorn, str], object], back: Callable[[Longhorn, str], None] = lambda _longhorn, _name: None
) -> Callable[[HappeningToLonghorn, Event], None]:
    def happens(here: HappeningToLonghorn, event: Event) -> None:
        volume = here.volume_of(event)
        if volume is not None:
            name = volume["metadata"]["name"]
            act(here.longhorn, name)
            here.later(event, lambda: back(here.longhorn, name))

    return happens


def _disk_lost(here: HappeningToLonghorn, event: Event) -> None:
    node = here.node_of(event)
    here.longhorn.faults.disk_lost(node)
    here.later(event, lambda: here.longhorn.faults.disk_found(node))


def _webhook_refuses(here: HappeningToLonghorn, event: Event) -> None:
    kind = (NODES, VOLUMES, SETTINGS, SNAPSHOTS)[event.subject % 4]
    here.longhorn.faults.webhook_refuses(kind, times=1 + event.subject % 3)


def _workload(here: HappeningToLonghorn, event: Event, *, goes: bool, comes: bool) -> None:
    volume = here.volume_of(event)
    if volume is None or volume["spec"].get("accessMode") == "rwx" or volume["spec"].get("Standby"):
        return
    name = volume["metadata"]["name"]
    tickets = here.longhorn.objects.get(ATTACHMENTS, name) or {"spec": {}}
    held = bool(tickets["spec"].get("attachmentTickets"))
    if goes and held:
        here.longhorn.detach(name)
    if comes and (goes or not held):
        here.longhorn.attach(name, here.node_of(event))


def _volume_deleted(here: HappeningToLonghorn, event: Event) -> None:
    volume = here.volume_of(event)
    if volume is not None:
        here.longhorn.faults.volume_deleted(volume["metadata"]["name"])


def _value_by_person(kind: Kind, name: str, here: HappeningToLonghorn, event: Event, keys: str, value: Any) -> None:
    holder, _dot, key = keys.rpartition(".")
    was = here.observer.first((kind.plural, name, keys))

    def put(wanted: Any) -> None:
        here.by_person(kind, name, lambda item: (item[holder] if holder else item).update({key: wanted}))

    put(value)
    here.undone(event, lambda: put(was))


def _setting_by_person(here: HappeningToLonghorn, event: Event) -> None:
    _value_by_person(SETTINGS, "replica-replenishment-wait-interval", here, event, "value", "900")


def _scheduling_by_person(here: HappeningToLonghorn, event: Event) -> None:
    node = here.node_of(event)
    present = (here.longhorn.objects.get(NODES, node) or {"spec": {}})["spec"].get("allowScheduling")
    _value_by_person(NODES, node, here, event, "spec.allowScheduling", not present)


def _engine_by_person(here: HappeningToLonghorn, event: Event) -> None:
    volume = here.volume_of(event)
    if volume is not None and volume["spec"].get("nodeID"):
        wanted = here.node_of(event)
        _value_by_person(VOLUMES, volume["metadata"]["name"], here, event, "spec.engineNodeID", wanted)


def _replicas_by_person(here: HappeningToLonghorn, event: Event) -> None:
    volume = here.volume_of(event)
    if volume is not None:
        wanted = 2 if volume["spec"]["numberOfReplicas"] == 3 else 3
        _value_by_person(VOLUMES, volume["metadata"]["name"], here, event, "spec.numberOfReplicas", wanted)


def _node_cordoned(here: HappeningToLonghorn, event: Event) -> None:
    node = here.node_of(event)
    here.by_person(KUBERNETES_NODES, node, lambda item: item["spec"].update(unschedulable=True))

    def uncordoned(item: Json) -> None:
        item["spec"].pop("unschedulable", None)

    here.undone(event, lambda: here.by_person(KUBERNETES_NODES, node, uncordoned))


def _lock_taken(here: HappeningToLonghorn, event: Event) -> None:
    """Another controller takes the lock by the name of the run, and gives it back some time later."""
    resources = here.longhorn.kubernetes.server.resources
    store = here.longhorn.kubernetes.server.store
    found = [each for each in store.each(LEASES, NAMESPACE) if each["spec"].get("holderIdentity")]
    for lease in found:
        name = lease["metadata"]["name"]
        now = timestamp(here.longhorn.clock.now())
        taken = {"holderIdentity": OTHER_RUN, "renewTime": now.replace("Z", ".000000Z")}

        def take(item: Json, taken: Json = taken) -> None:
            item["spec"].update(taken)
            item["metadata"].pop("annotations", None)

        def back(name: str = name) -> None:
            present = store.get(LEASES, NAMESPACE, name)
            if present is not None and present["spec"].get("holderIdentity") == OTHER_RUN:
                resources.delete(LEASES, NAMESPACE, name)

        resources.change(LEASES, NAMESPACE, name, take, PERSON)
        here.observer.taken_by(OTHER_RUN, min(event.seconds or LIVES, LIVES))
        here.undone(event, back)


def _of_database(
    act: Callable[[Database, str], None], back: Callable[[Database, str], None] | None = None
) -> Callable[[HappeningToLonghorn, Event], None]:
    def happens(here: HappeningToLonghorn, event: Event) -> None:
        database = here.database
        if database is not None:
            member = database.members[event.subject % len(database.members)]
            act(database, member)
            if back is not None:
                here.undone(event, lambda: back(database, member))

    return happens


def _upgrade_in_trouble(here: HappeningToLonghorn, event: Event, *, fails: bool) -> None:
    kind = NODE_UPGRADES if here.story.way == DESIGN else MANAGER_UPGRADES
    state = STATES[kind][event.subject % len(STATES[kind])]
    if fails:
        here.longhorn.faults.upgrade_fails(kind, state, "failed on purpose")
    else:
        here.longhorn.faults.upgrade_stalls(kind, state)
    here.later(event, here.longhorn.controllers.troubles.clear)


KINDS: Mapping[str, Callable[[HappeningToLonghorn, Event], None]] = {
    **OF_EVERY_SYSTEM,
    **OF_PERSON,
    "node_dead": _of_node(
        lambda longhorn, node: longhorn.faults.node_dies(node),
        lambda longhorn, node: longhorn.faults.node_returns(node),
    ),
    "manager_not_ready": _of_node(
        lambda longhorn, node: longhorn.faults.manager_never_runs(node),
        lambda longhorn, node: longhorn.faults.manager_runs(node),
    ),
    "controllers_away": lambda here, event: here.longhorn.faults.controllers_away(event.seconds or 60.0),
    "replica_fails": _replica_fails,
    "rebuild_stuck": _of_volume(
        lambda longhorn, name: longhorn.faults.rebuild_stuck(name),
        lambda longhorn, name: longhorn.faults.rebuild_goes_on(name),
    ),
    "no_rebuild_slot": lambda here, event: here.longhorn.faults.slots_exhausted(here.node_of(event)),
    "switch_reverts": _of_volume(lambda longhorn, name: longhorn.faults.switch_reverts(name, 3)),
    "snapshots_stuck": _of_volume(lambda longhorn, name: longhorn.faults.snapshots_stuck(name)),
    "disk_lost": _disk_lost,
    "backup": _of_volume(lambda longhorn, name: longhorn.faults.backup_starts(name)),
    "webhook_refuses": _webhook_refuses,
    "workload_goes": lambda here, event: _workload(here, event, goes=True, comes=False),
    "workload_comes": lambda here, event: _workload(here, event, goes=False, comes=True),
    "workload_moves": lambda here, event: _workload(here, event, goes=True, comes=True),
    "volume_deleted": _volume_deleted,
    "setting_by_person": _setting_by_person,
    "scheduling_by_person": _scheduling_by_person,
    "engine_by_person": _engine_by_person,
    "replicas_by_person": _replicas_by_person,
    "node_cordoned": _node_cordoned,
    "lock_taken": _lock_taken,
    "member_away": _of_database(Database.away, Database.back),
    "member_restarts": _of_database(Database.restarts),
    "index_bare": _of_database(lambda database, _member: database.bare(), lambda database, _member: database.covered()),
    "upgrade_stalls": lambda here, event: _upgrade_in_trouble(here, event, fails=False),
    "upgrade_fails": lambda here, event: _upgrade_in_trouble(here, event, fails=True),
}
"""The kinds of events."""
