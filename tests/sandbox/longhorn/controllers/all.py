"""All controllers of one Longhorn, listening to what their API server reports."""

from __future__ import annotations

from typing import Protocol

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.attachments import Attachments
from tests.sandbox.longhorn.controllers.backing_images import BackingImages
from tests.sandbox.longhorn.controllers.engines import Engines
from tests.sandbox.longhorn.controllers.frontends import Frontends
from tests.sandbox.longhorn.controllers.instances import Instances
from tests.sandbox.longhorn.controllers.managers import Managers
from tests.sandbox.longhorn.controllers.nodes import Nodes
from tests.sandbox.longhorn.controllers.recurring import RecurringJobs
from tests.sandbox.longhorn.controllers.replicas import Replicas
from tests.sandbox.longhorn.controllers.shares import Shares
from tests.sandbox.longhorn.controllers.snapshots import Backups, Snapshots
from tests.sandbox.longhorn.controllers.volumes import Volumes
from tests.sandbox.longhorn.controllers.work import Queue, Shared
from tests.sandbox.longhorn.description import Described
from tests.sandbox.longhorn.kinds import ENGINES, FRONTENDS, REPLICAS
from tests.sandbox.longhorn.unverified.control import Control
from tests.sandbox.longhorn.unverified.design import OneNode, Whole
from tests.sandbox.longhorn.unverified.in_place import OneManager
from tests.sandbox.longhorn.unverified.steps import Troubles


class Controller(Protocol):
    """A controller: it gets every change, and looks at what it has queued."""

    queue: Queue

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""


class Controllers:
    """Each looks at the changes that it gets, a short time later."""

    def __init__(self, shared: Shared, described: Described) -> None:
        self._objects = shared.objects
        self.instances = Instances(shared)
        self.engines = Engines(shared, self.instances)
        self.frontends = Frontends(shared, self.instances)
        self.frontends.outlive = described.frontends_outlive
        self.replicas = Replicas(shared, self.instances)
        self.managers = Managers(shared)
        self.nodes = Nodes(shared)
        self.volumes = Volumes(shared, self.instances)
        self.attachments = Attachments(shared)
        self.snapshots = Snapshots(shared)
        self.backups = Backups(shared)
        self.shares = Shares(shared)
        self.troubles = Troubles()
        self._each: list[Controller] = [self.engines, self.frontends, self.replicas, self.managers, self.nodes]
        self._each += [self.volumes, self.attachments, self.snapshots, self.backups, self.shares]
        self._each += [RecurringJobs(shared), BackingImages(shared)]
        if described.offers == "design":
            self._each += [Whole(shared, self.troubles), OneNode(shared, self.troubles)]
        elif described.offers == "v1.13":
            self.managers.restart_policy, self.nodes.beside = "Always", False
            self._each += [OneManager(shared, self.managers, self.troubles), Control(shared, self.troubles)]
        shared.objects.listeners.append(self._seen)

    def queues(self) -> list[Queue]:
        """Their queues."""
        return [each.queue for each in self._each]

    def _seen(self, kind: Kind, item: Json, gone: bool) -> None:
        for each in self._each:
            each.seen(kind, item, gone=gone)

    def data_plane_changed(self, node: str) -> None:
        """Notify all that talk to instances on a Kubernetes node that these have come or gone."""
        self.nodes.queue.add(node)
        for replica in self._objects.of_node(REPLICAS, node):
            for engine in self._objects.of_volume(ENGINES, replica["spec"]["volumeName"]):
                self.engines.queue.add(engine["metadata"]["name"])
        for each in self._objects.of_node(FRONTENDS, node):
            self.frontends.queue.add(each["metadata"]["name"])
