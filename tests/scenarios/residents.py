"""A watch over the members of a cluster that live on the Kubernetes nodes of an OpenShift while those are taken."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType

from kubernetes import client

from tests.lab.openshift.server import Server
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Refused
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, annotations_of
from tests.scenarios.cluster import Cluster

BETWEEN = 0.2
"""Seconds between two looks: the first eviction comes about a second after a Kubernetes node was taken."""
STARTED = {"STARTED", "RELOCATING"}
Shard = tuple[str, str]
"""Its index and its number."""


@dataclass(frozen=True)
class Look:
    """The members, the copies and the Kubernetes nodes at one time."""

    places: Mapping[str, str]
    """The Kubernetes node of each member; empty while its pod has none."""
    copies: Mapping[Shard, frozenset[str]]
    """The members that hold a started copy of each shard."""
    taken: frozenset[str]
    """The Kubernetes nodes that were taken and are not back."""

    def unsafe_without(self, nodes: Iterable[str]) -> list[str]:
        """The shards that have no copy on a member elsewhere."""
        going = {member for member, place in self.places.items() if place in nodes}
        return [f"{index}/{number}" for (index, number), holders in self.copies.items() if not holders - going]


def taken_too_early(looks: Iterable[Look]) -> list[str]:
    """Each Kubernetes node that was taken while a shard was not safe, before and after it was."""
    found: list[str] = []
    before: Look | None = None
    for look in looks:
        for node in sorted(look.taken - before.taken) if before is not None else ():
            assert before is not None
            # Between two looks a shard may have become safe, or stopped being so.
            shards = {*before.unsafe_without(look.taken)} & {*look.unsafe_without(look.taken)}
            found += [f"{node}: {shard}" for shard in sorted(shards)]
        before = look
    return found


class Residents:
    """It looks as long as the block lasts. A look that the cluster does not answer is left out."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="residents", daemon=True)
        self._failure: BaseException | None = None
        self.looks: list[Look] = []

    def __enter__(self) -> Residents:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _watch(self) -> None:
        try:
            with self.cluster.platform.client() as api:
                while not self._ending.wait(BETWEEN):
                    self._look(api)
        except BaseException as error:  # noqa: BLE001 - it is raised where the block ends
            self._failure = error

    def _look(self, api: client.ApiClient) -> None:
        server = Server(api, "residents")
        try:
            found = json.loads(self.cluster.ask("/_cat/shards?format=json&h=index,shard,state,node"))
            pods, nodes = server.all(PODS, self.cluster.namespace), server.all(NODES)
        except (OSError, Refused):
            return
        copies: dict[Shard, frozenset[str]] = {}
        for each in found:
            holders = {each["node"].split()[0]} if each["state"] in STARTED else set[str]()
            shard = (each["index"], each["shard"])
            copies[shard] = copies.get(shard, frozenset()) | holders
        places = {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}
        notes = {each["metadata"]["name"]: annotations_of(each) for each in nodes}
        taken = frozenset(name for name, said in notes.items() if said.get(CURRENT) != said.get(DESIRED))
        self.looks.append(Look(places, copies, taken))
