"""Roles that a member has to serve while a batch is away: ingest, ml, search, warm, coordinating only. Pure.

The proof of copies and votes does not cover them: members that hold no shard and do not vote could all go at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.state import COORDINATING, ClusterState


@as_verdict
def judge_roles(state: ClusterState, down: frozenset[str]) -> Iterator[Reason]:
    """Whether every role that a member of the batch serves is also served by another one in the cluster.

    The only member of a role goes with a remark, since it could never be upgraded otherwise.
    """
    for role, serving in sorted(members_serving(state).items()):
        if not serving <= down:
            continue
        names = enumerate_few(state.members[identity].name for identity in serving)
        if len(serving) == 1:
            yield remark("role_unserved", f"While {names} is away, the cluster has no member {_words(role)}.")
        else:
            yield refused(
                "role_in_batch",
                f"Every member {_words(role)} is in the batch: {names}.",
                "Take these members down one after another.",
            )


def members_serving(state: ClusterState) -> Mapping[str, frozenset[str]]:
    """The ids of the members that serve each role."""
    found: dict[str, set[str]] = defaultdict(set)
    for member in state.members.values():
        for role in member.serves:
            found[role].add(member.id)
    return {role: frozenset(ids) for role, ids in found.items()}


def _words(role: str) -> str:
    return "that only coordinates" if role == COORDINATING else f"with the role {role}"
