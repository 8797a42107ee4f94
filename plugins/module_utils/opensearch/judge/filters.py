"""Copies on members where the filters of the cluster or of their index do not want them. Pure.

If such copies fit on no other member, they stay where they are, and the cluster is green. Once their member restarts,
the filter lets no replica back, so the cluster stays yellow (server source, FilterAllocationDecider). A primary without
other copies is allocated by force in the end.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.copies import copies_move, copy_sets
from ..observe.index_filters import EXCLUDE, INCLUDE, KINDS, PREFERENCE, PREFIX, REQUIRE, TIER, IndexFilters
from ..observe.products import ELASTICSEARCH, OPENSEARCH, Product
from ..observe.settings import ROUTING, SCOPES, Settings, carried_undo, names_in
from ..observe.state import ClusterMember, ClusterState
from .changes import split_ours, value_back

_IPS = frozenset({"_ip", "_host_ip", "_publish_ip"})
_ADDRESSES = frozenset({"_host", *_IPS})


def as_put_back(settings: Settings) -> Settings:
    """The settings once those of an interrupted run are put back, as they are before the first batch.

    Raises:
        Refusal: the undo of the run cannot be read.
    """
    undo = carried_undo(settings)
    scopes: dict[str, dict[str, Any]] = {scope: dict(settings.scope(scope)) for scope in SCOPES}
    for change in split_ours(undo, settings)[0] if undo else ():
        scope, name = change.path
        scopes[scope][name] = value_back(change, settings.at(change.path))
    return Settings(**{scope: {n: v for n, v in found.items() if v is not None} for scope, found in scopes.items()})


@as_verdict
def judge_excluded(
    state: ClusterState, settings: Settings, going: Collection[str], left: Container[str] = ()
) -> Iterator[Reason]:
    """Whether the replicas of the members that are `going` to restart may come back to them.

    The indices in `left` are left as they are (`allow_red_indices`).
    """
    held: dict[str, set[str]] = defaultdict(set)
    for index, shard, member in to_come_back(state, going, left):
        held[member.id].add(f"{index}[{shard}]")
    against: dict[tuple[str, str], list[ClusterMember]] = defaultdict(list)
    filters = _of_cluster(settings, state.product)
    for each in held:
        for name, value in _against(state.members[each], filters, state.product):
            against[name, value].append(state.members[each])
    moves = copies_move(state)
    for (name, value), unwanted in sorted(against.items()):
        names = enumerate_few(sorted(each.name for each in unwanted))
        shards = enumerate_few(sorted({shard for each in unwanted for shard in held[each.id]}))
        yield (waiting if moves else refused)(
            "members_excluded",
            f"{ROUTING}{name} is set to {value}, so nothing is allocated to {names}, where copies of {shards}"
            f" {'still are' if moves else 'stay'}: those could not come back after a restart.",
            f"Set {ROUTING}{name} to null if it was left behind, or give the copies a place elsewhere (GET"
            " _cluster/allocation/explain), then run again.",
        )


def _of_cluster(settings: Settings, product: Product) -> IndexFilters:
    """The filters of the whole cluster that are in force.

    Of each kind Elasticsearch keeps only those in force that were changed last (elastic/elasticsearch#55815), which no
    answer shows. So several of a kind are left out.
    """
    found: dict[str, dict[str, Any]] = {}
    for setting in sorted({*settings.persistent, *settings.transient}):
        kind, _dot, attribute = setting.removeprefix(ROUTING).partition(".")
        value = settings.effective(setting)
        if setting.startswith(ROUTING) and kind in KINDS and not attribute.startswith(TIER) and names_in(value):
            found.setdefault(kind, {})[attribute] = value
    if product is ELASTICSEARCH:
        found = {kind: filters for kind, filters in found.items() if len(filters) == 1}
    require, include, exclude = (found.get(kind, {}) for kind in KINDS)
    return IndexFilters(require, include, exclude)


def to_come_back(
    state: ClusterState, going: Collection[str], left: Container[str]
) -> Iterator[tuple[str, int, ClusterMember]]:
    """The copies of members that restart which are replicas then, since other members hold copies of the shard.

    While a data member is older than that of the primary, a copy may stay only because of that, and go there once it is
    upgraded (server source, NodeVersionAllocationDecider). So it does not count.
    """
    down = state.ids(going)
    oldest = min((each.version for each in state.members.values() if each.holds_data), default=None)
    newer = {each.id for each in state.members.values() if oldest is not None and oldest < each.version}
    waits = {(copy.index, copy.shard) for copy in state.copies if copy.primary and copy.member in newer}
    for (index, shard, _search_only), copies in copy_sets(state).items():
        held = [copy.member for copy in copies if copy.member is not None]
        if len(held) > 1 and index not in left and (index, shard) not in waits:
            yield from ((index, shard, state.members[each]) for each in held if each in down)


@as_verdict
def judge_index_filters(
    state: ClusterState, filters: Mapping[str, IndexFilters], going: Collection[str], left: Container[str] = ()
) -> Iterator[Reason]:
    """Whether the replicas of the members that are `going` to restart may come back to them, by their own filters.

    The indices in `left` are left as they are (`allow_red_indices`).
    """
    found: dict[tuple[str, bool], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    moves = copies_move(state)
    roles = frozenset(role for member in state.members.values() for role in member.roles)
    for index, _shard, member in to_come_back(state, going, left):
        if index in filters:
            for name, value in _against(member, filters[index], state.product, roles):
                found[f"{name}: {value}", filters[index].shrinks][index].add(member.name)
    for (setting, shrinks), indices in sorted(found.items()):
        names = enumerate_few(sorted({name for members in indices.values() for name in members}))
        if shrinks:
            yield waiting(
                "replicas_filtered",
                f"Index lifecycle management (ILM) shrinks {enumerate_few(sorted(indices))}, and until then keeps them"
                f" off {names} ({PREFIX}{setting}): copies there could not come back after a restart.",
                "Let it end; GET <index>/_ilm/explain shows its step.",
            )
            continue
        are = "still are" if moves else "stay"
        yield (waiting if moves else refused)(
            "replicas_filtered",
            f"{PREFIX}{setting} is set for {enumerate_few(sorted(indices))}, and keeps these indices off {names}, where"
            f" copies {are}: those could not come back after a restart.",
            "Set it to null if it was left behind, and no policy shrinks the index at present. Or give the copies a"
            " place elsewhere (GET _cluster/allocation/explain), then run again.",
        )


def _against(
    member: ClusterMember, filters: IndexFilters, product: Product, roles: Container[str] = ()
) -> Iterator[tuple[str, str]]:
    """The filters that do not want a member, as `exclude._name` and `data-0`. `roles` are those of all members.

    Several of `include` are one, since it is enough to fit one of them.
    """
    given = {
        kind: {name: _as_read(value, product) for name, value in getattr(filters, kind).items() if names_in(value)}
        for kind in KINDS
    }
    for kind in (EXCLUDE, REQUIRE):
        for attribute, value in given[kind].items():
            if _matches(member, attribute, value, kind) is (kind != REQUIRE):
                yield f"{kind}.{attribute}", str(value)
    include = given[INCLUDE]
    if include and not any(_matches(member, *each, INCLUDE) for each in include.items()):
        if len(include) == 1:
            yield from ((f"{INCLUDE}.{attribute}", str(value)) for attribute, value in include.items())
        else:
            yield f"{INCLUDE}.*", ", ".join(f"{attribute}: {value}" for attribute, value in sorted(include.items()))

    if product is ELASTICSEARCH and filters.tiers and not _in_tier(member, filters.tiers, roles):
        yield f"{INCLUDE}.{PREFERENCE}", ",".join(filters.tiers)


def _in_tier(member: ClusterMember, tiers: Sequence[str], roles: Container[str]) -> bool:
    """Whether a member is of the first of these tiers that has any member; one with the role `data` is of each (server
    source, DataTierAllocationDecider). Copies may be elsewhere: a second one has no place in a tier of one member."""
    wanted = next((tier for tier in tiers if tier in roles or "data" in roles), None)
    return wanted is not None and bool({wanted, "data"} & member.roles)


def _as_read(value: Any, product: Product) -> Any:
    """A filter as the server reads it. OpenSearch takes an array, and reads it as a text in brackets, so that its first
    and last name fit no member (server source, Settings.get and FilterAllocationDecider)."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) and product is OPENSEARCH else value


def _matches(member: ClusterMember, attribute: str, value: Any, kind: str) -> bool:
    """Whether a filter names this member (server source, DiscoveryNodeFilters).

    Of several values one is enough, but `require` takes them all, except of IP addresses: so no member has a zone that
    is `east,west`. An address that does not fit counts for the member, which has several, and the filter may be a range
    of them.
    """
    by_address = attribute in _ADDRESSES
    own = {"_name": member.name, "name": member.name, "_id": member.id, **member.attributes}
    is_own = member.address if by_address else own.get(attribute)
    wild = attribute != "_id"
    patterns = (".*".join(map(re.escape, each.split("*") if wild else [each])) for each in names_in(value))
    enough = all if kind == REQUIRE and attribute not in _IPS else any
    fits = is_own is not None and enough(re.fullmatch(pattern, is_own) for pattern in patterns)
    return fits or (by_address and kind != EXCLUDE)
