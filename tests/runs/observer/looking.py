"""Takes the observation from the servers in memory: their own objects, without a request and without the collection."""

from __future__ import annotations

import json
from typing import Any

from tests.runs.observer.sight import ANNOTATION, Key, Member, Pod, Pool, Shard, Sight
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, LEASES, NODES, PODS, STATEFUL_SETS
from tests.sandbox.kubernetes.objects import Json, is_ready
from tests.sandbox.kubernetes.store import Change, Store
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.known import known
from tests.sandbox.opensearch.model import Copy
from tests.sandbox.opensearch.model import Member as Process

OURS = "upgrade.stateful/"
EMPTIES = f"{OURS}empties-for"
"""The label of a Kubernetes node that a run empties."""
MANAGED = "app.kubernetes.io/managed-by"
LOCK = "stateful-upgrade-lock-"
"""The beginning of the names of the component templates that are the lock where it is kept in the cluster."""
RECORD = "record.json"
MANIFEST = "manifest.json"
"""The key of a ConfigMap with the manifest of a StatefulSet that is made again."""
SCOPES = ("persistent", "transient")


class Looking:
    """The looks at one cluster. A part that has not changed since the last one is not read again."""

    def __init__(self, store: Store, cluster: Cluster, namespace: str) -> None:
        self._store, self._cluster, self._namespace = store, cluster, namespace
        self._changed = {PODS.plural, CONFIG_MAPS.plural}
        self._seen: tuple[Any, ...] = ()
        self._named: set[str] = set()
        self._kubernetes: dict[str, Any] = {}
        self._search: dict[str, Any] = {}
        self.sight = Sight()
        """The last one."""

    def note(self, change: Change) -> None:
        """A listener of the store."""
        metadata = change.item["metadata"]
        if change.kind == NODES and (EMPTIES in metadata.get("labels", {}) or metadata["name"] in self.sight.emptied):
            self._changed.add(NODES.plural)
        here = metadata.get("namespace") == self._namespace
        if here and change.kind in {PODS, STATEFUL_SETS, LEASES, CONFIG_MAPS}:
            self._changed.add(change.kind.plural)

    def look(self) -> bool:
        """Look again. The result says whether anything has changed."""
        state = self._cluster.state
        members = self._cluster.members.values()
        processes = tuple((member.alive, member.seeking, member.ephemeral_id) for member in members)
        seen = (state.version, state.elected, processes)
        changed, news = self._changed, seen != self._seen
        if not changed and not news:
            return False
        if CONFIG_MAPS.plural in changed:
            self._kubernetes |= {"upgrading": self._upgrading(), "kept_sets": self._kept_sets()}
        if changed - {CONFIG_MAPS.plural}:
            self._kubernetes |= self._of_kubernetes()
        if news:
            self._search = self._of_search()
            self._seen = seen
        self._changed = set()
        self.sight = Sight(**{**self._kubernetes, **self._search, "holder": self._holder()})
        return True

    def documents(self) -> dict[tuple[Key, str], list[frozenset[str]]]:
        """The ids of the documents in each started copy, by shard and UUID of its index."""
        nodes, found = self._cluster.state.nodes, dict[tuple[Key, str], list[frozenset[str]]]()
        for copy in self._cluster.state.copies:
            node = nodes.get(copy.node or "")
            store = node.disk.stores.get((copy.index.uuid, copy.shard)) if node else None
            if copy.started and store is not None:
                key = ((copy.index.name, copy.shard), copy.index.uuid)
                found.setdefault(key, []).append(frozenset(store.documents))
        return found

    def _upgrading(self) -> tuple[frozenset[str], ...]:
        maps = [each for each in self._store.each(CONFIG_MAPS, self._namespace) if RECORD in (each.get("data") or {})]
        return upgrading_in(*(found["data"][RECORD] for found in maps))

    def _kept_sets(self) -> dict[str, Pool]:
        maps = (each for each in self._store.each(CONFIG_MAPS, self._namespace) if MANIFEST in (each.get("data") or {}))
        pools = [_pool(json.loads(each["data"][MANIFEST])) for each in maps]
        return {each.name: each for each in pools}

    def _of_kubernetes(self) -> dict[str, Any]:
        pods = {each["metadata"]["name"]: _pod(each) for each in self._store.each(PODS, self._namespace)}
        pools = {each["metadata"]["name"]: _pool(each) for each in self._store.each(STATEFUL_SETS, self._namespace)}
        nodes = {each["metadata"]["name"]: each["metadata"] for each in self._store.each(NODES)}
        marked = frozenset(name for name, each in nodes.items() if EMPTIES in each.get("labels", {}))
        cordoned = frozenset(name for name, each in nodes.items() if ANNOTATION in each.get("annotations", {}))
        return {"pods": pods, "pools": pools, "emptied": marked, "cordoned": cordoned}

    def _holder(self) -> str:
        leases = self._store.each(LEASES, self._namespace)
        holders = [
            each["spec"].get("holderIdentity") for each in leases if MANAGED in each["metadata"].get("labels", {})
        ]
        templates = self._cluster.state.component_templates
        locks = [templates[name] for name in sorted(templates) if name.startswith(LOCK)]
        held = [*filter(None, holders), *((each.get("_meta") or {}).get("run") for each in locks[-1:])]
        return str(held[0] or "") if held else ""

    def _of_search(self) -> dict[str, Any]:
        cluster, state = self._cluster, self._cluster.state
        names = {member.id: member.name for member in cluster.members.values()}
        settings = {(scope, name): value for scope in SCOPES for name, value in getattr(state.settings, scope).items()}
        version = state.managing_version
        self._named.update(name for _scope, name in settings)
        return {
            "members": {name: _member(cluster, member) for name, member in cluster.members.items()},
            "shards": {
                (index.name, number): self._shard(copies, names)
                for index in state.indices.values()
                for number, copies in index.shards.items()
            },
            "committed": frozenset(names.get(each, each) for each in state.committed),
            "accepted": frozenset(names.get(each, each) for each in state.accepted),
            "excluded": tuple(each.name for each in state.exclusions),
            "settings": settings,
            "indices": {
                index.name: {**index.settings, "uuid": index.uuid} for index in state.indices.values() if index.open
            },
            "snapshots": cluster.snapshots.states(),
            "retired": frozenset(name for name in self._named if known(name, version) is None),
        }

    def _shard(self, copies: list[Copy], names: dict[str, str]) -> Shard:
        nodes, started, fresh = self._cluster.state.nodes, set(), False
        for copy in copies:
            if copy.started and copy.node in nodes:
                if nodes[copy.node].alive:
                    started.add(names.get(copy.node, copy.node))
            elif copy.primary and copy.new and copy.why is not None:
                fresh = copy.why.reason == "INDEX_CREATED"
        return Shard(len(copies), frozenset(started), fresh)


def upgrading_in(*records: str) -> tuple[frozenset[str], ...]:
    """The members of each batch that is being upgraded, as these records say."""
    batches = [each for record in records for each in json.loads(record).get("batches", ())]
    return tuple(frozenset(each["members"]) for each in batches if each["state"] == "upgrading")


def _member(cluster: Cluster, member: Process) -> Member:
    joined = cluster.state.nodes.get(member.id) is member
    return Member(
        process=member.ephemeral_id,
        version=member.spec.version,
        alive=member.alive,
        joined=joined,
        booted=member.alive and (joined or member.seeking),
        manages=member.manages,
        zone=str(member.spec.attributes.get("zone", "")),
    )


def _pod(found: Json) -> Pod:
    metadata = found["metadata"]
    revision = (metadata.get("labels") or {}).get("controller-revision-hash", "")
    return Pod(
        metadata["uid"], revision, is_ready(found), "deletionTimestamp" in metadata, found["spec"].get("nodeName", "")
    )


def _pool(found: Json) -> Pool:
    metadata, spec, status = found["metadata"], found["spec"], found.get("status") or {}
    observed = status.get("observedGeneration") == metadata.get("generation")
    template = spec["template"]["spec"]
    images = {each["name"]: each["image"] for each in [*template.get("initContainers", ()), *template["containers"]]}
    return Pool(
        name=metadata["name"],
        replicas=spec.get("replicas", 1),
        revision=status.get("updateRevision", "") if observed else "",
        strategy=spec.get("updateStrategy") or {},
        images=images,
        annotations={name: text for name, text in (metadata.get("annotations") or {}).items() if name.startswith(OURS)},
        spec=spec,
    )
