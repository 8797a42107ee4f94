"""Pools made from the names of their members, with the roles and versions that the members report. Pure.

A member on a plain host is known by its `node.name` alone, so that name is all that links it to its host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...common.errors import refusal
from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.state import ClusterMember, ClusterState
from ..observe.version import Version
from .pools import Member, Pool, PoolKind

Groups = Mapping[str, Sequence[str]]
"""The names of the members, by group."""


def groups_in(given: Mapping[str, Any]) -> Groups:
    """The groups from the option of a module.

    Raises:
        Refusal: a group has no list of names.
    """
    for group, names in given.items():
        if not isinstance(names, list) or not all(isinstance(name, (str, int)) for name in names):
            raise refusal(
                "groups_unreadable",
                f"Group {group} of groups has {names!r}, which is no list of names of members.",
                "Write it as data: [data-0, data-1].",
            )
    return {str(group): [*map(str, names)] for group, names in given.items()}


def member_of(
    name: str,
    pool: str,
    state: ClusterState,
    pool_roles: frozenset[str],
    zone: str,
    *,
    ready: bool = True,
    outdated: bool = False,
) -> Member:
    """A member that is in the cluster or away. One that is away has the roles of its pool.

    Members at the same address are on the same machine.
    """
    there = state.named(name)
    stand_in = there or ClusterMember("", "", name, "", Version(0, 0, 0), pool_roles)
    return Member(
        name=name,
        pool=pool,
        version=there.version if there else None,
        manager_eligible=stand_in.manager_eligible,
        votes_only=stand_in.manager_eligible and not stand_in.electable,
        holds_data=stand_in.holds_data,
        elected=there is not None and there.id == state.elected,
        zone=stand_in.attributes.get(zone, ""),
        machine=stand_in.address,
        serves=stand_in.serves,
        ready=ready or there is None,
        outdated=outdated,
        attributes=frozenset(f"{attribute}={value}" for attribute, value in stand_in.attributes.items()),
    )


def pools_named(groups: Groups, state: ClusterState, zone: str) -> list[Pool]:
    """One pool for each group, its members in the order of their names; `zone` is the attribute with their zone."""
    return [_pool(name, sorted(set(members)), state, zone) for name, members in groups.items() if members]


def _pool(name: str, members: Sequence[str], state: ClusterState, zone: str) -> Pool:
    known = [there for member in members if (there := state.named(member))]
    roles = frozenset(role for member in known for role in member.roles)
    return Pool(name, tuple(member_of(member, name, state, roles, zone) for member in members))


def by_kind(pool: Pool) -> list[Pool]:
    """The pool, or one pool for each kind if its members are of different kinds.

    A group of an inventory often holds all members of a cluster, and the order goes by kinds. A member that is not in
    the cluster goes with the last kind: it is brought back first in any case.
    """
    kinds: dict[PoolKind, list[Member]] = {}
    for member in pool.members:
        if member.version is not None:
            kinds.setdefault(Pool(pool.name, (member,)).kind, []).append(member)
    if len(kinds) < 2:
        return [pool]
    away = [member for member in pool.members if member.version is None]
    ordered = sorted(kinds, key=lambda kind: kind.position)
    kinds[ordered[-1]] += away
    parts = {f"{pool.name}/{number}": kinds[kind] for number, kind in enumerate(ordered, start=1)}
    return [Pool(name, tuple(replace(member, pool=name) for member in members)) for name, members in parts.items()]


@as_verdict
def judge_groups(groups: Groups, state: ClusterState) -> Iterator[Reason]:
    """Whether every name is that of one member. Members that no group names stay as they are, which is a remark.

    A host whose name no member has is refused as soon as the cluster has a member that no host stands for.
    """
    there = {member.name for member in state.members.values()}
    named = Counter(name for members in groups.values() for name in members)
    strangers = sorted(there - named.keys())
    missing = sorted(named.keys() - there)
    yield from _empty(groups)
    yield from _twice(groups, named)
    if not named.keys() & there:
        yield _no_member(groups, strangers)
    elif missing and strangers:
        yield from (_misnamed(name, strangers) for name in missing)
    elif strangers:
        said = f"These members of the cluster are in none of the pools and stay as they are: {', '.join(strangers)}."
        yield remark("members_outside", said)


@as_verdict
def judge_names(state: ClusterState, names: Container[str], made: Container[str] = ()) -> Iterator[Reason]:
    """Whether every member among `names` has a name of its own, since a run knows members by their names.

    The servers do not ask for that: a cluster over two namespaces may have the same set, so the same pods, in each.
    Those in `made` may be new. A process that has lost its data comes back as another member, and if its machine was
    lost, the cluster lists the one before until its checks have failed (server source, FollowersChecker).
    """
    counted = Counter(member.name for member in state.members.values() if member.name in names)
    shared = {name: f"{name} ({number} members)" for name, number in sorted(counted.items()) if number > 1}
    passing = [said for name, said in shared.items() if name in made]
    lasting = [said for name, said in shared.items() if name not in made]
    if passing:
        yield waiting(
            "member_name_shared",
            f"Members of the cluster have the same name: {enumerate_few(passing)}. The cluster may not have noticed yet"
            " that one of the processes is gone, which another one has replaced.",
            "This ends by itself, unless two members are up, such as in two namespaces.",
        )
    if lasting:
        yield refused(
            "member_name_shared",
            f"Members of the cluster have the same name: {enumerate_few(lasting)}. Nothing can be proven for one of"
            " them, and after an upgrade of one all would count as upgraded.",
            "Give each member a node.name of its own; where the name has to be that of the pod, rename a StatefulSet."
            " If one of them has just been replaced, run again when the cluster has noticed that the other is gone.",
        )


def _empty(groups: Groups) -> Iterator[Reason]:
    for group in sorted(name for name, members in groups.items() if not members):
        yield refused(
            "group_without_hosts",
            f"The group {group} has no hosts.",
            "Correct upgrade_groups, or the inventory (-i): a group that is not in it counts as one without hosts.",
        )


def _twice(groups: Groups, named: Counter[str]) -> Iterator[Reason]:
    for name in sorted(name for name, count in named.items() if count > 1):
        where = ", ".join(sorted(group for group, members in groups.items() if name in members))
        yield refused(
            "member_named_twice",
            f"{named[name]} hosts stand for the member {name} (groups: {where}).",
            "Name in upgrade_groups only groups that share no host, and give each host its own upgrade_member.",
        )


def _misnamed(name: str, strangers: Sequence[str]) -> Reason:
    return refused(
        "name_differs",
        f"The cluster has no member {name}, and it has members that no host stands for: {', '.join(strangers)}. If the"
        " host runs one of these under another name, its member would be taken for one that is down.",
        "Set the variable upgrade_member of each host to the node.name of its member, and name all groups of members in"
        " upgrade_groups.",
    )


def _no_member(groups: Groups, strangers: Sequence[str]) -> Reason:
    return refused(
        "no_pools",
        f"No host of the groups {', '.join(sorted(groups))} is a member of this OpenSearch cluster (its members:"
        f" {', '.join(strangers) or 'none'}).",
        "Check opensearch.hosts, and set the variable upgrade_member of each host to the node.name of its member.",
    )
