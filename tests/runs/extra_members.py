"""A cluster of which one pool may have one member more for the time of an upgrade, in whole runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.lab.opensearch.layouts import Address, Layout, Manifest, Pool
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import CLAIMS, PODS, QUOTAS, STATEFUL_SETS
from tests.sandbox.kubernetes.objects import Json
from tests.scenarios.cluster import OPTIONAL_ROLE, bound

FROM, TO = "2.19.6", "3.8.0"
POOLS = (Pool("managers", 3, ("cluster_manager", "data")), Pool("data", 1, ("data",)))
MANAGERS, DATA, EXTRA = "opensearch-managers", "opensearch-data", "opensearch-data-1"
MARK = "upgrade.stateful/extra-member"


def four_members(namespace: str, version: str, *, address: Address) -> list[Manifest]:
    """Three members that can be elected, and a pool of one that cannot."""
    return Layout(namespace, version, POOLS, address).manifests()


class FourMembers:
    """Such a cluster, whose user has the rights of single variables, but those to resources left out."""

    def __init__(self, here: World, version: str = FROM, without: str = "") -> None:
        self.here, self.cluster = here, here.cluster(version, four_members)
        role, binding = bound(OPTIONAL_ROLE, self.namespace)
        role["rules"] = [each for each in role["rules"] if without not in each["resources"]]
        here.sandbox.apply([role, binding])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.cluster.namespace

    def quota(self, **hard: str) -> None:
        """Give the namespace a quota, which its controller has counted then."""
        metadata = {"name": "tight", "namespace": self.namespace}
        spec = {"hard": {name.replace("__", "."): amount for name, amount in hard.items()}}
        self.here.sandbox.apply([{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}])
        self.here.later(1)

    def used(self) -> Mapping[str, str]:
        """The amounts that the quota has counted."""
        return dict((self.here.sandbox.api.store.get(QUOTAS, self.namespace, "tight") or {})["status"]["used"])

    def pool(self, name: str = DATA) -> Json:
        """One of its StatefulSets."""
        return dict(self.here.sandbox.api.store.get(STATEFUL_SETS, self.namespace, name) or {})

    def names(self, kind: Any) -> list[str]:
        """The names of all objects of a kind."""
        return [each["metadata"]["name"] for each in self.here.sandbox.api.store.list(kind, self.namespace)]

    def has_no_trace(self) -> None:
        """Fails if anything of an extra member is left."""
        self.here.later(5)
        assert self.pool()["spec"]["replicas"] == 1
        assert MARK not in self.pool()["metadata"].get("annotations", {})
        assert EXTRA not in self.names(PODS)
        assert not [each for each in self.names(CLAIMS) if each.endswith(EXTRA)]
