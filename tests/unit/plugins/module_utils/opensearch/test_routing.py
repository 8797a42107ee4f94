"""The routing table: what contradicts itself, the metadata or the members is no answer, and never harmless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.routing import parse_copies
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import parse_index
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
    index_metadata,
    info,
    recorded,
    state_answer,
)

Damage = Callable[[Json, list[Json]], Any]
PLACE = "routing_table.indices.logs.shards.0"
"""Of a primary on `a` and a replica on `b`, of three members."""


def answer() -> Json:
    return state_answer("abc", [copy("logs", "a", primary=True), copy("logs", "b")], elected="a")


def read(state: Json) -> None:
    parse_state({identity(name): info(name) for name in "abc"}, state)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda _state, copies: copies[1].update(state="STRATED"), f'{PLACE}.1.state is "STRATED", and not one of'),
        (lambda _state, copies: copies[1].update(state=None), f"{PLACE}.1.state is missing"),
        (lambda _state, copies: copies[1].update(node=None), f"{PLACE}.1 is STARTED, and has no member"),
        (lambda _state, copies: copies[1].update(node=7), f"{PLACE}.1.node is 7, and has to be a text"),
        (lambda _state, copies: copies[1].update(state="UNASSIGNED"), f"{PLACE}.1 is UNASSIGNED, and has a member"),
        (
            lambda _state, copies: copies[1].update(state="RELOCATING"),
            f"{PLACE}.1 is RELOCATING, and relocates nowhere",
        ),
        (
            lambda _state, copies: copies[1].update(relocating_node=identity("c")),
            f"{PLACE}.1 is STARTED, and relocates",
        ),
        (lambda _state, copies: copies[1].update(node="gone"), f"{PLACE}.1 is STARTED, and is on gone"),
        (lambda _state, copies: copies[1].update(primary=True), f"{PLACE} has 2 primaries"),
        (lambda _state, copies: copies[0].update(primary=False), f"{PLACE} has 0 primaries"),
        (
            lambda _state, copies: copies[0].update(primary="yes"),
            f'{PLACE}.0.primary is "yes", and has to be true or false',
        ),
        (lambda _state, copies: copies[0].update(searchOnly=True), f"{PLACE}.0 is STARTED, and is the primary and"),
        (lambda _state, copies: copies[1].update(node=identity("a")), f"{PLACE} has two copies on one member"),
        (lambda _state, copies: copies[1].update(shard=1), f"{PLACE}.1 is a copy of another shard"),
        (lambda _state, copies: copies[1].update(index="other"), f"{PLACE}.1 is a copy of another shard"),
        (lambda _state, copies: copies.pop(1), f"{PLACE} has 1 copies, and there have to be 2"),
        (lambda _state, copies: copies.clear(), f"{PLACE} has 0 copies"),
        (lambda _state, copies: copies.append(None), f"{PLACE}.2 is null, and has to be an object"),
        (
            lambda state, _copies: state["routing_table"]["indices"]["logs"]["shards"].pop("0"),
            "shards are none, and there have to be 1",
        ),
        (
            lambda state, copies: state["routing_table"]["indices"]["logs"]["shards"].update({"1": copies}),
            "shards are 0, 1, and there have to be 1",
        ),
        (
            lambda state, _copies: state["metadata"]["indices"].pop("logs"),
            "routing_table.indices.logs is an index that the metadata does not have",
        ),
    ],
)
def test_what_cannot_be_so_is_not_understood(damage: Damage, said: str) -> None:
    """Read as harmless, each of these let a batch go down that held the last started copy."""
    state = answer()
    read(state)
    damage(state, state["routing_table"]["indices"]["logs"]["shards"]["0"])
    with pytest.raises(NotUnderstood) as caught:
        read(state)
    assert f"GET /_nodes is not understood: {said}" in str(caught.value) or said in str(caught.value)


def test_what_real_servers_answer_is_understood() -> None:
    for name in ("green-2.19.6", "left-2.19.6", "mixed-2.19.6-3.8.0", "moving-3.8.0", "upgraded-3.8.0"):
        state = recorded(name)["state"]
        indices = {index: parse_index(index, metadata) for index, metadata in state["metadata"]["indices"].items()}
        assert parse_copies(state["routing_table"], indices, state["nodes"])


def test_an_index_for_search_only_has_neither_primaries_nor_replicas() -> None:
    indices = {"logs": parse_index("logs", index_metadata(number_of_replicas="2"))}
    copies = [copy("logs", "a", search_only=True), copy("logs", None, search_only=True)]
    table = {"indices": {"logs": {"shards": {"0": copies}}}}
    assert [one.search_only for one in parse_copies(table, indices, [identity("a")])] == [True, True]
