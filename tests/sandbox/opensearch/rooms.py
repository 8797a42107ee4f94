"""Clusters in memory for tests, and ways to ask them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import observe
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState

from tests.sandbox.clock import Clock
from tests.sandbox.opensearch.client import client_of
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.model import COMBINED, Durations, MemberSpec
from tests.sandbox.web import Answer, Request, answered

FROM, TO = "2.19.6", "3.8.0"
ENABLE = "cluster.routing.allocation.enable"
BOOT = 10.0
"""Seconds in which members that are started are in the cluster."""

Layout = Mapping[str, tuple[str, ...]]
"""Name -> roles."""
THREE: Layout = {f"m-{number}": COMBINED for number in range(3)}


class Room:
    """A cluster, whose members are known by their names."""

    def __init__(
        self,
        layout: Layout = THREE,
        version: str = FROM,
        *,
        zones: str = "",
        settings: Mapping[str, Any] | None = None,
        plugins: tuple[str, ...] = (),
        durations: Durations | None = None,
    ) -> None:
        self.layout = layout
        self.clock = Clock()
        self.cluster = Cluster(self.clock, "room", durations)
        self._zones = zones
        self._plugins = plugins
        self._settings = dict(settings or {})
        if zones:
            self._settings.setdefault("cluster.routing.allocation.awareness.attributes", "zone")
        self.client = client_of(self.cluster.handler(), self.clock)
        self.start(layout, version)

    def start(self, names: Iterable[str], version: str = FROM, *, disk: str = "") -> None:
        """Start processes of that version, on their disks or on another one, and wait until they have booted."""
        for name in names:
            self.cluster.start(self.spec(name, version, disk))
        self.clock.advance(BOOT)

    def spec(self, name: str, version: str = FROM, disk: str = "") -> MemberSpec:
        """A member as it is started."""
        number = list(self.layout).index(name)
        return MemberSpec(
            name,
            version,
            f"10.0.0.{number}",
            disk or f"data-{name}",
            roles=self.layout[name],
            attributes={"zone": self._zones[number % len(self._zones)]} if self._zones else {},
            settings=self._settings,
            plugins=self._plugins,
            initial_managers=tuple(each for each, roles in self.layout.items() if "cluster_manager" in roles),
        )

    def ask(self, method: str, target: str, body: Any = None, *, member: str = "") -> Answer:
        """The answer to one request, of any member or of a certain one."""
        path, _mark, query = target.partition("?")
        pairs = dict(parse_qsl(query, keep_blank_values=True))
        return answered(self.cluster.handler(member), Request(method, path, pairs, body), self.clock)

    def index(
        self, name: str = "logs", *, shards: int = 1, replicas: int = 1, more: Mapping[str, Any] | None = None
    ) -> None:
        """Make an index and wait until its copies are where they can be."""
        settings = {"number_of_shards": shards, "number_of_replicas": replicas, **(more or {})}
        assert self.ask("PUT", f"/{name}", {"settings": settings}).status == 200
        self.clock.advance(BOOT)

    def configure(self, **settings: Any) -> None:
        """Set cluster settings, in whose names underscores twice stand for dots."""
        body = {"persistent": {name.replace("__", "."): value for name, value in settings.items()}}
        assert self.ask("PUT", "/_cluster/settings", body).status == 200

    def state(self) -> ClusterState:
        """The cluster as the product sees it."""
        return observe(self.client)

    def health(self) -> str:
        """The status."""
        return str(self.ask("GET", "/_cluster/health").body["status"])

    def elected(self) -> str:
        """The name of the elected manager; empty where there is none."""
        found = self.cluster.state.manager
        return found.name if found else ""

    def voters(self) -> set[str]:
        """The names of those that vote."""
        names = {member.id: name for name, member in self.cluster.members.items()}
        return {names.get(each, each) for each in self.cluster.state.committed}

    def places(self, index: str = "logs", shard: int = 0) -> dict[str, str]:
        """The members with a copy of a shard: name -> state, the primary's with a star."""
        names = {node.id: node.name for node in self.cluster.state.nodes.values()}
        copies = self.cluster.state.indices[index].shards[shard]
        return {names[c.node]: c.state + "*" * c.primary for c in copies if c.node}
