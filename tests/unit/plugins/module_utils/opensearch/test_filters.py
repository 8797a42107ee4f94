"""Copies on members where the filters of the cluster or of their index do not want them: could they come back?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.filters import (
    as_put_back,
    judge_excluded,
    judge_index_filters,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.index_filters import (
    KINDS,
    IndexFilters,
    parse_filters,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    ENABLE,
    EXCLUDE,
    EXCLUDING,
    ROUTING,
    UNDO,
    Settings,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    copy,
    identity,
    info,
)

COPIES = [copy("logs", "a", primary=True), copy("logs", "b"), copy("alone", "c", primary=True)]
SERVERS = {
    "a": {**info("a"), "ip": "10.0.0.7", "attributes": {"zone": "east"}},
    "b": {**info("b"), "ip": "10.0.1.8", "attributes": {"zone": "west"}},
    "c": {**info("c"), "ip": "10.0.1.9"},
}


@pytest.mark.parametrize(
    ("attribute", "value", "named"),
    [
        ("_name", "b", "b"),
        # An array is read as the text "[a, b, x]".
        ("_name", ["a", "b", "x"], "b"),
        ("_name", ["b"], ""),
        ("_name", "x, b ,y", "b"),
        ("_name", "*", "a, b"),
        ("_id", identity("a"), "a"),
        ("_id", "*", ""),
        ("_ip", "10.0.1.*", "b"),
        ("zone", "we*", "b"),
        # A single copy comes back in the end; others are not meant, or are of an attribute that is not known here.
        ("_name", "c", ""),
        ("_name", "", ""),
        ("_name", "bb,x", ""),
        ("_name", "B", ""),
        ("zone", "north", ""),
        ("_host", "search-*", ""),
        ("rack", "*", ""),
    ],
)
def test_a_member_whose_copies_could_not_come_back_is_named(attribute: str, value: Any, named: str) -> None:
    settings = Settings({}, {f"{EXCLUDING}{attribute}": value})
    reasons = judge_excluded(cluster(SERVERS, COPIES), settings, "abc").reasons
    assert [each.state for each in reasons] == [State.REFUSED] * bool(named)
    assert all(f"nothing is allocated to {named}, where copies of logs[0]" in each.message for each in reasons)


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        ({"require.zone": "east"}, "b", "require.zone is set to east"),
        ({"require._name": "a"}, "b", "require._name is set to a"),
        # All values of one attribute are required at once, but not of an IP address.
        ({"require.zone": "east,west"}, "a, b", "require.zone is set to east,west"),
        ({"require.zone": "east,ea*"}, "b", "require.zone is set to east,ea*"),
        ({"require._name": "a,b"}, "a, b", "require._name is set to a,b"),
        ({"require._ip": "10.0.0.7,10.0.1.8"}, "", ""),
        ({"require.zone": ""}, "", ""),
        ({"include._name": "a,c"}, "b", "include._name is set to a,c"),
        ({"include._name": "a", "include.zone": "north"}, "b", "include.* is set to _name: a, zone: north"),
        ({"include._name": "a", "include.zone": "west"}, "", ""),
        # Another decider judges tiers, and an address may be in a range.
        ({"include._tier": "data_hot", "require._ip": "10.0.0.0/8"}, "", ""),
    ],
)
def test_all_filters_of_the_cluster_count(given: dict[str, str], named: str, said: str) -> None:
    settings = Settings({f"{ROUTING}{name}": value for name, value in given.items()}, {})
    reasons = judge_excluded(cluster(SERVERS, COPIES), settings, "abc").reasons
    assert [each.state for each in reasons] == [State.REFUSED] * bool(named)
    assert all(f"{ROUTING}{said}, so nothing is allocated to {named}, where" in each.message for each in reasons)
    hidden = Settings(settings.persistent, dict.fromkeys(settings.persistent, ""))
    assert judge_excluded(cluster(SERVERS, COPIES), hidden, "abc").passed


def test_a_member_that_stays_up_does_not_count() -> None:
    settings = Settings({EXCLUDE: "a"}, {})
    state = cluster(SERVERS, COPIES)
    assert [judge_excluded(state, settings, going).passed for going in ("a", "bc", "")] == [False, True, True]


KEPT_OFF = {"logs": IndexFilters(exclude={"_name": "b"})}


@pytest.mark.parametrize(
    ("versions", "copies", "left", "passed"),
    [
        ({}, COPIES[:2], [], False),
        # The only copy that is held is a primary after the restart, which comes back in the end.
        ({}, [copy("logs", "b", primary=True), copy("logs", None)], [], True),
        # No replica goes to an older member than its primary, so it stays until the others are upgraded.
        ({"a": "3.8.0"}, COPIES[:2], [], True),
        ({"a": "3.8.0", "b": "3.8.0", "c": "3.8.0"}, COPIES[:2], [], False),
        ({"c": "3.8.0"}, COPIES[:2], [], False),
        # The user leaves the index as it is.
        ({}, COPIES[:2], ["logs"], True),
        ({}, COPIES[:2], ["others"], False),
    ],
)
def test_copies_that_need_not_come_back_or_have_a_place_later_do_not_count(
    versions: dict[str, str], copies: list[dict[str, Any]], left: list[str], passed: bool
) -> None:
    state = cluster({**SERVERS, **{name: info(name, version) for name, version in versions.items()}}, copies)
    assert judge_index_filters(state, KEPT_OFF, "abc", left).passed is passed
    assert judge_excluded(state, Settings({EXCLUDE: "b"}, {}), "abc", left).passed is passed


def test_copies_that_move_are_waited_for() -> None:
    state = cluster(SERVERS, [*COPIES, copy("k", "a", "RELOCATING", primary=True, to="c")])
    (reason,) = judge_excluded(state, Settings({EXCLUDE: "a"}, {}), "abc").reasons
    assert reason.state is State.WAITING
    (reason,) = judge_index_filters(state, {"logs": IndexFilters(exclude={"_name": "a"})}, "abc").reasons
    assert reason.state is State.WAITING


@pytest.mark.parametrize(
    ("kind", "found", "named"),
    [
        ("exclude", {"_name": "b"}, "b"),
        ("exclude", {"zone": "east", "_id": identity("b")}, "ab"),
        ("exclude", {"_name": "c,d"}, ""),
        ("exclude", {"_name": ["a", "b"]}, ""),
        ("exclude", {"_ip": "10.0.0.7"}, "a"),
        ("require", {"zone": "east"}, "b"),
        ("require", {"zone": "east", "_name": "*"}, "b"),
        ("require", {"box.type": "warm"}, "ab"),
        ("require", {"zone": ""}, ""),
        ("require", {"zone": "east,west"}, "ab"),
        ("require", {"_name": "*,a"}, "b"),
        # A range of addresses, or another address of the same member.
        ("require", {"_ip": "10.0.0.0/8", "_host": "x"}, ""),
        ("include", {"_name": "a", "zone": "north"}, "b"),
        ("include", {"_name": "a", "zone": "west"}, ""),
        ("include", {"_name": "a", "_ip": "10.0.0.0/8"}, ""),
    ],
)
def test_an_index_whose_replicas_could_not_come_back_is_named(kind: str, found: dict[str, Any], named: str) -> None:
    require, include, exclude = (found if kind == each else {} for each in KINDS)
    filters = {"logs": IndexFilters(require, include, exclude), "alone": IndexFilters(exclude={"_name": "c"})}
    state = cluster(SERVERS, COPIES)
    reasons = judge_index_filters(state, filters, "abc").reasons
    said = " ".join(each.message for each in reasons)
    assert {name for name in "abc" if f"off {name}" in said or f"off a, {name}" in said} == {*named}
    assert all((each.code, each.state) == ("replicas_filtered", State.REFUSED) for each in reasons)
    assert judge_index_filters(state, filters, "c").passed


@pytest.mark.parametrize(
    ("tiers", "roles", "kept_off"),
    [
        # The only member of the preferred tier has the other copy already.
        ("data_warm data_hot", {"a": "data_warm", "b": "data_hot"}, "b"),
        ("data_warm data_hot", {"a": "data_warm", "b": "data_hot data_warm"}, ""),
        ("data_warm data_hot", {"a": "data_warm", "b": "data"}, ""),
        ("data_cold data_hot", {"a": "data_hot", "b": "data_hot"}, ""),
        ("data_cold", {"a": "data_hot", "b": "data_hot"}, "ab"),
        ("data_hot", {"a": "data", "b": "data_warm"}, "b"),
    ],
)
def test_a_copy_that_is_not_in_the_preferred_tier_could_not_come_back(
    tiers: str, roles: dict[str, str], kept_off: str
) -> None:
    servers = {
        name: {**info(name, "8.19.4"), "build_flavor": "default", "roles": ["ingest", *given.split()]}
        for name, given in roles.items()
    }
    filters = {"logs": IndexFilters(tiers=tuple(tiers.split()))}
    reasons = judge_index_filters(cluster(servers, COPIES[:2]), filters, "ab").reasons
    assert [(each.code, each.state) for each in reasons] == [("replicas_filtered", State.REFUSED)] * bool(kept_off)
    said = f"include._tier_preference: {tiers.replace(' ', ',')} is set for logs, and keeps these indices off"
    assert all(f"{said} {', '.join(kept_off)}, where" in each.message for each in reasons)
    opensearch = {name: {**each, "version": "2.19.6"} for name, each in servers.items()}
    for each in opensearch.values():
        del each["build_flavor"]
    assert judge_index_filters(cluster(opensearch, COPIES[:2]), filters, "ab").passed


def test_filters_of_indices_are_read() -> None:
    rules = {
        "include": {"_tier_preference": "data_hot,data_warm"},
        "require": {"box": {"type": "warm"}, "temp": "hot"},
        "exclude": {"_name": ""},
        "total_shards_per_node": "2",
    }
    indices = {
        "logs": {"settings": {"index": {"routing": {"allocation": rules}}}},
        "tiered": {"settings": {"index": {"routing": {"allocation": {"include": {"_tier_preference": "data_hot"}}}}}},
        "plain": {"settings": {"index": {"number_of_shards": "1"}}},
    }
    assert parse_filters({"metadata": {"indices": indices}}) == {
        "logs": IndexFilters({"box.type": "warm", "temp": "hot"}, {}, {"_name": ""}, ("data_hot", "data_warm")),
        "tiered": IndexFilters(tiers=("data_hot",)),
    }
    assert parse_filters({}) == {}


@pytest.mark.parametrize(("given", "tiers"), [(["data_hot", "data_warm"], ("data_hot", "data_warm")), (None, ())])
def test_a_preference_of_a_tier_in_another_form_is_read(given: Any, tiers: tuple[str, ...]) -> None:
    """OpenSearch does not know the setting, and takes and returns what it is given (see `_as_read`)."""
    rules = {"include": {"_tier_preference": given}, "require": {"temp": "hot"}}
    indices = {"logs": {"settings": {"index": {"routing": {"allocation": rules}}}}}
    assert parse_filters({"metadata": {"indices": indices}}) == {"logs": IndexFilters({"temp": "hot"}, tiers=tiers)}


@pytest.mark.parametrize(
    ("managed", "state"),
    [
        ({"action": "shrink", "step": "check-shrink-allocation"}, State.WAITING),
        # It does not go on by itself, and keeps its filter.
        ({"action": "shrink", "step": "ERROR"}, State.REFUSED),
        ({"action": "rollover", "step": "check-rollover-ready"}, State.REFUSED),
        ({}, State.REFUSED),
    ],
)
def test_an_index_that_elasticsearch_shrinks_is_waited_for(managed: dict[str, str], state: State) -> None:
    rules = {"require": {"_id": identity("a")}}
    index = {"settings": {"index": {"routing": {"allocation": rules}}}, "ilm": managed}
    filters = parse_filters({"metadata": {"indices": {"logs": index, "others": {"ilm": managed}}}})
    (reason,) = judge_index_filters(cluster(SERVERS, COPIES), filters, "abc").reasons
    assert (reason.code, reason.state) == ("replicas_filtered", state)
    assert ("(ILM) shrinks logs, and until then keeps them off b" in reason.message) is (state is State.WAITING)


def test_of_several_exclusions_of_elasticsearch_it_is_not_known_which_one_is_in_force() -> None:
    settings = Settings({EXCLUDE: "a", f"{EXCLUDING}zone": "west"}, {})
    elastic = {name: {**info(name, "8.19.4"), "build_flavor": "default"} for name in "abc"}
    assert judge_excluded(cluster(elastic, COPIES), settings, "abc").passed
    assert not judge_excluded(cluster(elastic, COPIES), Settings({EXCLUDE: ["b"]}, {}), "abc").passed
    assert len(judge_excluded(cluster(SERVERS, COPIES), settings, "abc").reasons) == 2
    one_of_each = Settings({EXCLUDE: "a", f"{ROUTING}require.zone": "east"}, {})
    assert len(judge_excluded(cluster(elastic, COPIES), one_of_each, "abc").reasons) == 2


def test_the_exclusions_of_an_interrupted_run_are_put_back_before() -> None:
    changes = (
        Change(("persistent", EXCLUDE), "x", "x,a"),
        Change(("persistent", ENABLE), None, "primaries"),
    )
    undo = Undo(Writer("night", "2026-11-21T00:00:00Z"), changes, {"cluster": "uuid"}).text()
    left = Settings({UNDO: undo, EXCLUDE: "x,a,b", ENABLE: "primaries"}, {"other": "1"})
    assert as_put_back(left) == Settings({UNDO: undo, EXCLUDE: "x,b"}, {"other": "1"})
