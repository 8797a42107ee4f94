"""Everything that can go wrong on purpose, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.all import Controllers
from tests.sandbox.longhorn.controllers.instances import state_of
from tests.sandbox.longhorn.kinds import BACKUPS, ENGINES, MANAGERS, NAMESPACE, REPLICAS, VOLUMES, manager_name
from tests.sandbox.longhorn.objects import Objects
from tests.sandbox.longhorn.observer import Observer
from tests.sandbox.longhorn.webhook import Webhook

FOREVER = 1_000_000


class Switches(Protocol):
    """The switches of pods and Kubernetes nodes that the faults of Longhorn need."""

    def never_ready(self, namespace: str, pod: str) -> None:
        """Keep a pod from being Ready."""

    def node_dead(self, node: str) -> None:
        """Take a Kubernetes node's power away."""

    def mend(self, namespace: str, pod: str) -> None:
        """Switch everything off for a pod."""

    def mend_node(self, node: str) -> None:
        """Give the Kubernetes node its power back."""

    def mend_all(self) -> None:
        """Switch everything off."""


class Faults:
    """Each method makes a fault now; `mend_all` ends all that can be ended."""

    def __init__(
        self,
        objects: Objects,
        controllers: Controllers,
        observer: Observer,
        webhook: Webhook,
        switches: Switches,
    ) -> None:
        self._objects, self._controllers, self._observer = objects, controllers, observer
        self._webhook, self._switches = webhook, switches
        self._reverting: dict[str, int] = {}
        self._backups = 0
        controllers.instances.refuse = self._refuse

    def switch_reverts(self, volume: str, times: int = FOREVER) -> None:
        """The new engine of a switch does not start, so that the switch reverts, and is tried again."""
        self._reverting[volume] = times

    def _refuse(self, kind: Kind, item: Json) -> str:
        volume = item["spec"].get("volumeName", "")
        if kind != ENGINES or item["spec"].get("active") or not self._reverting.get(volume):
            return ""
        self._reverting[volume] -= 1
        return "failed to create engine: cannot find any valid replica address"

    def node_dies(self, node: str) -> None:
        """A Kubernetes node loses its power: replicas, engines and frontends on it are gone at once."""
        self._observer.taken[node] = "node_dies"
        self._switches.node_dead(node)
        self._controllers.data_plane_changed(node)

    def node_returns(self, node: str) -> None:
        """It has power again."""
        self._switches.mend_node(node)
        self._observer.give_back(node)
        self._controllers.data_plane_changed(node)

    def manager_never_runs(self, node: str) -> None:
        """The pod of the default instance manager of a Kubernetes node never becomes Ready, or is no longer Ready."""
        name = manager_name(node, self._objects.setting("default-instance-manager-image"))
        if state_of(self._objects.get(MANAGERS, name) or {}) == "running":
            self._observer.taken[node] = "manager_never_runs"
        self._switches.never_ready(NAMESPACE, name)

    def manager_runs(self, node: str) -> None:
        """It becomes Ready after all."""
        name = manager_name(node, self._objects.setting("default-instance-manager-image"))
        self._switches.mend(NAMESPACE, name)
        self._observer.give_back(node)

    def rebuild_stuck(self, volume: str) -> None:
        """The progress of rebuilds of a volume stands still."""
        self._controllers.engines.stuck.add(volume)

    def rebuild_goes_on(self, volume: str) -> None:
        """It goes on."""
        self._controllers.engines.stuck.discard(volume)

    def replica_fails(self, replica: str) -> None:
        """The process of a replica ends by itself."""
        item = self._objects.get(REPLICAS, replica)
        if item is not None:
            place = item.get("status", {}).get("instanceManagerName", "")
            self._controllers.instances.remove(REPLICAS, replica, place)

    def slots_exhausted(self, node: str, slots: int = FOREVER) -> None:
        """Rebuilds of others hold so many slots of a Kubernetes node."""
        self._controllers.replicas.taken[node] = slots

    def volume_deleted(self, volume: str) -> None:
        """A person deletes a volume."""
        self._objects.delete(VOLUMES, volume)

    def webhook_refuses(self, kind: Kind, message: str = "refused on purpose", times: int = 1) -> None:
        """The webhook refuses so many writes of a kind."""
        self._webhook.refusals.append((kind, message, times))

    def controllers_away(self, seconds: float) -> None:
        """Longhorn's controllers do nothing for so long; what runs, runs on."""
        queues = self._controllers.queues()
        for each in queues:
            each.away = True

        def back() -> None:
            for each in queues:
                each.back()

        self._objects.clock.later(seconds, back)

    def backup_starts(self, volume: str) -> str:
        """A backup of a volume starts, as by a recurring job; gives its name."""
        self._backups += 1
        name = f"backup-{volume}-{self._backups}"
        labels = {"backup-volume": volume}
        body = {"metadata": {"name": name, "labels": labels}, "spec": {"snapshotName": f"{name}-snapshot"}}
        self._objects.create(BACKUPS, body)
        return name

    def disk_lost(self, node: str) -> None:
        """The disk of a Kubernetes node is not found again when its instance manager has been restarted."""
        self._controllers.nodes.lost.add(node)

    def disk_found(self, node: str) -> None:
        """It is found after all, once the instance manager looks again."""
        self._controllers.nodes.find_again(node)

    def snapshots_stuck(self, volume: str) -> None:
        """No snapshot of a volume becomes ready."""
        self._controllers.snapshots.stuck.add(volume)

    def frontends_die(self) -> None:
        """From now on a frontend dies with the pod of its instance manager, whatever the description says."""
        self._controllers.frontends.outlive = False

    def upgrade_stalls(self, kind: Kind, state: str) -> None:
        """Upgrades of an unverified kind do not leave a state."""
        self._controllers.troubles.stalls.add((kind, state))

    def upgrade_fails(self, kind: Kind, state: str, message: str) -> None:
        """Upgrades of an unverified kind end with an error in a state."""
        self._controllers.troubles.errors[kind, state] = message

    def when(self, kind: Kind, holds: Callable[[Json], bool], fault: Callable[[], None]) -> None:
        """Make a fault as soon as an object of a kind is so, once."""
        done: list[bool] = []

        def seen(found: Kind, item: Json, gone: bool) -> None:
            if found == kind and not gone and not done and holds(item):
                done.append(True)
                self._objects.clock.later(0.0, fault)

        self._objects.listeners.append(seen)

    def mend_all(self, nodes: Sequence[str] = ()) -> None:
        """End every fault; the Kubernetes nodes given have power again."""
        self._reverting.clear()
        self._controllers.troubles.clear()
        self._controllers.engines.stuck.clear()
        self._controllers.replicas.taken.clear()
        self._controllers.snapshots.stuck.clear()
        self._webhook.refusals.clear()
        for node in sorted(self._controllers.nodes.lost):
            self.disk_found(node)
        for each in self._controllers.queues():
            each.back()
        self._switches.mend_all()
        for node in list(self._observer.taken):
            self._observer.give_back(node)
        for node in nodes:
            self._controllers.data_plane_changed(node)
