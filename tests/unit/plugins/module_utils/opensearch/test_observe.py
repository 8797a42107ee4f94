"""A look at the whole cluster: a member that does not answer for itself is never taken for one that is away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import (
    LOOKS,
    observe,
    observe_disks,
    observe_members,
    observe_tasks,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
    index_metadata,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

from tests.sandbox.opensearch.filter_path import filtered

Looks = list[Callable[[], None]]


@dataclass
class Moving(Servers):
    """Servers of which something happens after each answer of `_nodes`."""

    happens: Looks = field(default_factory=list)

    def _answer(self, method: str, path: str, body: Any) -> Json:
        answer = super()._answer(method, path, body)
        if path.startswith("/_nodes/") and self.happens:
            answer = {"nodes": dict(answer["nodes"])}
            self.happens.pop(0)()
        return answer


def asked(servers: Servers, path: str) -> int:
    return sum(each.startswith(path) for _method, each in servers.asked)


def silent(name: str) -> Moving:
    """Three members, of which one is in the cluster and in no answer of `_nodes`."""
    servers = Moving()
    del servers.nodes[identity(name)]
    return servers


def test_a_member_that_does_not_answer_makes_the_look_no_answer_after_a_few_more() -> None:
    client: Any = silent("b")
    with pytest.raises(Unreachable, match=r"Members are in the cluster and did not answer GET _nodes: b\."):
        observe(client)
    assert (asked(client, "/_nodes/"), asked(client, "/_cluster/state/")) == (LOOKS, LOOKS)


def test_a_member_that_joins_between_the_two_questions_is_looked_at_again() -> None:
    client: Any = silent("b")
    client.happens = [lambda: client.nodes.update({identity("b"): info("b")})]
    assert sorted(member.name for member in observe(client).members.values()) == ["a", "b", "c"]
    assert asked(client, "/_nodes/") == 2


def test_a_member_that_leaves_between_the_two_questions_is_away_at_once() -> None:
    client: Any = Moving()
    client.happens = [lambda: client.state.update(state_answer("ac", elected="a"))]
    assert sorted(member.name for member in observe(client).members.values()) == ["a", "c"]
    assert asked(client, "/_nodes/") == 1


def test_a_member_that_is_followed_is_neither_back_nor_away_while_it_does_not_answer() -> None:
    client: Any = silent("b")
    with pytest.raises(Unreachable, match="b"):
        observe_members(client, ["a", "b"])
    assert sorted(observe_members(client, ["a", "x"])) == ["a"], "nobody asked for b"


def test_a_member_that_restarts_meanwhile_is_not_its_new_process_on_its_old_version() -> None:
    """Its state is asked before its version: `wrong_version` would be refused, and never be waited for."""
    client: Any = Moving()
    observe_members(client, ["b"])
    assert [path.split("/")[1] for _method, path in client.asked] == ["_cluster", "_nodes"]


class Hanging(Servers):
    """Servers of which one member hangs: what it is asked for is answered without it, after the limit that is given."""

    def get(self, path: str, **params: Any) -> Json:
        if path.startswith(("/_nodes/", "/_tasks")) and "timeout" not in params:
            raise Unreachable(refused("opensearch_unreachable", "No answer within request_timeout.", "Look."))
        return super().get(path, **params)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (observe, "b"),
        (lambda client: observe_members(client, ["b"]), "b"),
        (observe_disks, "disks"),
        (observe_tasks, "tasks"),
    ],
)
def test_a_member_that_hangs_keeps_back_nobody_elses_answer(ask: Callable[[Any], object], said: str) -> None:
    client: Any = Hanging(silent=[{"type": "failed_node_exception"}])
    del client.nodes[identity("b")]
    with pytest.raises(Unreachable) as caught:
        ask(client)
    assert "request_timeout" not in str(caught.value)
    assert said in str(caught.value)


class Sparing(Servers):
    """Servers that send only the fields that they are asked for."""

    def get(self, path: str, **params: Any) -> Json:
        answer = super().get(path, **params)
        return dict(filtered(answer, params["filter_path"])) if "filter_path" in params else answer


@pytest.mark.parametrize("kind", ["remote_snapshot", "snapshot"])
def test_every_setting_that_a_parser_reads_of_an_index_is_asked_for(kind: str) -> None:
    indices = {
        "sought": index_metadata(store={"type": kind}),
        "stored": index_metadata(remote_store={"enabled": "true"}, verified_read_only="true"),
        "spread": index_metadata(
            auto_expand_replicas="0-1",
            routing={"allocation": {"enable": "none"}},
            write={"wait_for_active_shards": "2"},
        ),
    }
    copies = [copy(name, "a", primary=True) for name in indices]
    client: Any = Sparing(state=state_answer("abc", copies, elected="a", indices=indices))
    seen = observe(client).indices
    assert {name for name, index in seen.items() if index.of_snapshot} == {"sought"}
    assert {name for name, index in seen.items() if index.in_remote_store} == {"stored"}
    assert {name for name, index in seen.items() if index.verified} == {"stored"}
    spread = seen["spread"]
    assert (spread.auto_expand, spread.allocation, spread.wait_for_active_shards) == (True, "none", 2)
    assert all(index.created is not None and index.shards == 1 for index in seen.values())
