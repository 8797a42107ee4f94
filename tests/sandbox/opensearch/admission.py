"""Refusals by version of members that start or join (server source, NodeMetadata and JoinTaskExecutor)."""

from __future__ import annotations

from tests.sandbox.opensearch.model import Member
from tests.sandbox.opensearch.state import State


def refusal_to_start(state: State, member: Member) -> str:
    """The reason why a process ends at its start: data that an earlier one has left behind. Empty if it does not."""
    left, now = member.disk.version, member.version
    if left is not None and left > now:
        return f"cannot downgrade a node from version [{left}] to version [{now}]"
    if left is not None and left < now.lowest_index:
        return f"cannot upgrade a node from version [{left}] directly to version [{now}]"
    if member.disk.accepted is not None:
        return _refused_index(state, member)
    return ""


def refusal_to_join(state: State, member: Member) -> str:
    """The reason why the elected manager does not let a member join. Empty if it does."""
    versions = [node.version for node in state.nodes.values() if node.alive]
    now = member.version
    for other in versions:
        if min(now, other) < max(now, other).lowest_in_cluster:
            return f"node version [{now}] is not supported, the cluster contains nodes with version [{other}]"
    if state.recovered and versions and now.elastic and now < min(versions):
        return (
            f"node version [{now}] may not join a cluster comprising only nodes of version [{min(versions)}] or greater"
        )
    if state.recovered and versions and now.major < (oldest := min(versions)).major:
        barrier = f"All nodes in the cluster are of a higher major: [{oldest}]"
        return f"node version [{now}] is not supported. {barrier}"
    return _refused_index(state, member)


def _refused_index(state: State, member: Member) -> str:
    now = member.version
    for index in state.indices.values():
        if index.created > now:
            return f"index [{index.name}] version not supported: {index.created} the node version is: {now}"
        if index.created < now.lowest_index:
            lowest = f"minimum compatible index version is: {now.lowest_index}"
            return f"index [{index.name}] version not supported: {index.created} {lowest}"
    return ""
