"""A database on the volumes, which is asked before each Kubernetes node, and the invariant about its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.model import Copy


class Workload:
    """A cluster of OpenSearch, with the member on each Kubernetes node that has one."""

    def __init__(self, servers: Cluster, member_on: Mapping[str, str]) -> None:
        self._servers, self.member_on = servers, member_on

    def refuses(self, node: str) -> tuple[str, ...]:
        """The reasons why no member may go down on a Kubernetes node now, as the servers themselves know them."""
        member = self.member_on.get(node, "")
        return tuple(self._missing(member)) or tuple(self._bare(member))

    def runs(self, member: str) -> bool:
        """Whether the process of a member is there."""
        return self._servers.runs(member)

    def answers(self, member: str) -> bool:
        """Whether a member answers requests."""
        return self._servers.ready(member)

    def _missing(self, member: str) -> Iterator[str]:
        joined = {each.name for each in self._servers.state.nodes.values() if each.alive}
        for name in sorted({*self.member_on.values()} - joined - {member}):
            yield f"member {name} is away"

    def _bare(self, member: str) -> Iterator[str]:
        names = {each.id: each.name for each in self._servers.state.nodes.values() if each.alive}
        for index in self._servers.state.indices.values():
            for shard, copies in index.shards.items():
                started = {names.get(each.node or "", "") for each in copies if each.started} - {""}
                if not started - {member}:
                    yield f"shard {shard} of {index.name} has no copy elsewhere than on {member or 'no member'}"
                elif not _has_primary(copies):
                    yield f"shard {shard} of {index.name} is red"


def _has_primary(copies: list[Copy]) -> bool:
    return any(each.primary and each.started for each in copies)


def asked(node: str, look: int, begun: int, refused: tuple[str, ...]) -> Iterator[str]:
    """Before work on a node starts, the workload is asked since the one before it, and does not say no.

    `look` and `begun` are numbers in the order of all requests: of the last look at it, and of the node before.
    `refused` has the reasons that there were to be seen at that look.
    """
    if look < begun:
        yield f"node {node} is begun, and the workload was not asked since the node before it"
    for each in refused:
        yield f"node {node} is begun, and the workload says no: {each}"
