# SPDX-License-Identifier: GPL-3.0-or-later
"""All controllers of one Longhorn, listening to what their API server tells."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.controllers.attachments import Attachments
from tests.sandbox.longhorn.controllers.engines import Engines
from tests.sandbox.longhorn.controllers.frontends import Frontends
from tests.sandbox.longhorn.controllers.instances import Instances
from tests.sandbox.longhorn.controllers.managers import Managers
from tests.sandbox.longhorn.controllers.nodes import Nodes
from tests.sandbox.longhorn.controllers.replicas import Replicas
from tests.sandbox.longhorn.controllers.shares import Shares
from tests.sandbox.longhorn.controllers.snapshots import Backups, Snapshots
from tests.sandbox.longhorn.controllers.volumes import Volumes
from tests.sandbox.longhorn.controllers.work import Queue, Shared
from tests.sandbox.longhorn.kinds import ENGINES, FRONTENDS, REPLICAS


class Controllers:
    """Each looks at what it is told of, a moment later."""

    def __init__(self, shared: Shared) -> None:
        self._objects = shared.objects
        self.instances = Instances(shared)
        self.engines = Engines(shared, self.instances)
        self.frontends = Frontends(shared, self.instances)
        self.replicas = Replicas(shared, self.instances)
        self.managers = Managers(shared)
        self.nodes = Nodes(shared)
        self.volumes = Volumes(shared, self.instances)
        self.attachments = Attachments(shared)
        self.snapshots = Snapshots(shared)
        self.backups = Backups(shared)
        self.shares = Shares(shared)
        shared.objects.listeners.append(self._seen)

    def _each(
        self,
    ) -> tuple[
        Engines | Frontends | Replicas | Managers | Nodes | Volumes | Attachments | Snapshots | Backups | Shares, ...
    ]:
        return (
            self.engines,
            self.frontends,
            self.replicas,
            self.managers,
            self.nodes,
            self.volumes,
            self.attachments,
            self.snapshots,
            self.backups,
            self.shares,
        )

    def queues(self) -> list[Queue]:
        """Their queues."""
        return [each.queue for each in self._each()]

    def _seen(self, kind: Kind, item: Json, gone: bool) -> None:
        for each in self._each():
            each.seen(kind, item, gone=gone)

    def data_plane_changed(self, node: str) -> None:
        """Tell all that talk to instances on a Kubernetes node that these have come or gone."""
        self.nodes.queue.add(node)
        for replica in self._objects.of_node(REPLICAS, node):
            for engine in self._objects.of_volume(ENGINES, replica["spec"]["volumeName"]):
                self.engines.queue.add(engine["metadata"]["name"])
        for each in self._objects.of_node(FRONTENDS, node):
            self.frontends.queue.add(each["metadata"]["name"])
