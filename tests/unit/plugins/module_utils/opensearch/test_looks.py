"""The looks of the gates: what is asked, how often, and what becomes of answers that cannot be had."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import Selection
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.gates import Scope, judge
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import prove
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.looking import LONG_POLL, look, polls
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import (
    observe,
    observe_members,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explaining import EXPLANATIONS
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
    info,
    state_answer,
    task,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers, answered

EXPLAIN = ("POST", "/_cluster/allocation/explain")
NO_PLACE = {"can_allocate": "no", "node_allocation_decisions": []}


def servers(copies: list[Json], **explained: Json | Refusal) -> Servers:
    """Three members with these copies; explanations of replicas by index."""
    found = Servers(state=state_answer("abc", copies, elected="a"))
    found.condition["status"] = "yellow"
    found.explanations = {(index, 0, False): answer for index, answer in explained.items()}
    return found


def looked(client: Any, moment: str = "after_batch") -> Any:
    return look(client, moment)


def test_a_look_is_a_few_cheap_requests() -> None:
    client = Servers(settings={"persistent": {"cluster.metadata.owner": "search"}, "transient": {}})
    seen = looked(client, "before_upgrade")
    assert (len(seen.state.members), seen.health.status) == (3, "green")
    assert [path.split("?")[0] for _method, path in client.asked] == [
        "/_cluster/health",
        "/_nodes/_all/_none",
        "/_cluster/state/metadata,routing_table,nodes,blocks,version,customs,cluster_manager_node",
        "/_cluster/settings",
        "/_cluster/settings",
        "/_nodes/data:true/stats/fs",
        "/_tasks",
        "/_snapshot",
        "/_nodes/_all/settings",
        "/_cluster/state/metadata",
        "/_cluster/state/metadata",
    ]
    later = Servers()
    looked(later)
    assert later.asked == client.asked[:3]  # settings, disks and tasks are judged before the upgrade only


def test_what_every_member_is_asked_for_is_asked_once_for_a_gate() -> None:
    client: Any = Servers()
    first = look(client, "before_batch", 0)
    assert ("GET", "/_tasks") in client.asked
    client.asked.clear()
    look(client, "before_batch", 0, before=first)
    assert ("GET", "/_tasks") not in client.asked
    reindex = {"name": "a", "tasks": {"x:7": task("indices:data/write/reindex", "reindex from [logs]")}}
    client.tasks = {identity("a"): reindex}
    busy = look(client, "before_batch", 0)
    client.tasks = {}
    assert (len(busy.tasks), look(client, "before_batch", 0, before=busy).tasks) == (1, ())


@pytest.mark.parametrize(
    ("skipped", "path"), [("disk", "/_nodes/data:true/stats/fs"), ("tasks", "/_tasks"), ("unassigned", EXPLAIN[1])]
)
def test_what_is_skipped_is_not_asked_for(skipped: str, path: str) -> None:
    client: Any = servers([copy("i", "a", primary=True), copy("i", "b"), copy("i", None)], i=NO_PLACE)
    look(client, "before_upgrade", 0)
    assert path in [asked for _method, asked in client.asked]
    client.asked.clear()
    look(client, "before_upgrade", 0, Selection(frozenset({skipped})))
    assert path not in [asked for _method, asked in client.asked]


@pytest.mark.parametrize("broken", ["stats", "watermarks", "tasks"])
def test_disks_and_tasks_that_cannot_be_read_are_refused(broken: str) -> None:
    client: Any = Servers()
    if broken == "stats":
        client.stats[identity("a")] = {"name": "a", "roles": ["data"]}
    elif broken == "watermarks":
        client.defaults = {}
    else:
        client.tasks = {identity("a"): {"tasks": {"x:7": task("indices:data/write/reindex")}}}
    with pytest.raises(Refusal) as caught:
        look(client, "before_upgrade", 0)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "opensearch_not_understood"
    assert "skip_checks" in reason.remedy


def test_before_a_batch_the_first_look_is_answered_at_once_and_then_the_server_holds_the_question() -> None:
    client: Any = Servers()
    waited_for = []
    for held in islice(polls("before_batch"), 3):
        look(client, "before_batch", held)
        waited_for.append(client.waited_for)
    assert waited_for == [None, "green", "green"]
    assert list(islice(polls("after_batch"), 2)) == [LONG_POLL, LONG_POLL]


def test_the_first_major_calls_the_elected_one_otherwise() -> None:
    client = Servers(nodes={identity(name): info(name, "1.3.20") for name in "abc"})
    client.state["master_node"] = client.state.pop("cluster_manager_node")
    assert looked(client).state.elected == identity("a")
    assert client.asked[2][1].endswith(",master_node")


def test_copies_in_the_same_situation_share_a_question() -> None:
    copies = [
        one
        for shard in range(4)
        for one in (copy(f"i/{shard}", "a", primary=True), copy(f"i/{shard}", None), copy(f"i/{shard}", None))
    ]
    copies += [copy("j", "b", primary=True), copy("j", None)]
    client = servers(copies, i=NO_PLACE, j=NO_PLACE)
    seen = looked(client)
    assert client.asked.count(EXPLAIN) == 2
    assert sorted((e.index, e.shard, e.primary) for e in seen.explanations) == [
        *(("i", shard, False) for shard in range(4)),
        ("j", 0, False),
    ]


def test_replicas_with_different_holders_are_asked_for_apart() -> None:
    copies = [copy("i/0", "a", primary=True), copy("i/0", None), copy("i/1", "b", primary=True), copy("i/1", None)]
    client = servers(copies, i=NO_PLACE)
    looked(client)
    assert client.asked.count(EXPLAIN) == 2


@pytest.mark.parametrize(("primary", "replica"), [("b", "a"), ("a", "c")])
def test_replicas_whose_siblings_are_elsewhere_are_asked_for_apart(primary: str, replica: str) -> None:
    copies = [
        *(copy("i/0", "a", primary=True), copy("i/0", "b"), copy("i/0", None)),
        *(copy("i/1", primary, primary=True), copy("i/1", replica), copy("i/1", None)),
    ]
    client = servers(copies, i=NO_PLACE)
    looked(client)
    assert client.asked.count(EXPLAIN) == 2


def test_as_long_as_something_moves_nothing_is_explained() -> None:
    copies = [copy("i", "a", primary=True), copy("i", None), copy("j", "b", "INITIALIZING")]
    client = servers(copies, i=NO_PLACE)
    assert looked(client).explanations == ()
    client = servers(copies[:2], i=NO_PLACE)
    client.condition["delayed_unassigned_shards"] = 1
    assert looked(client).explanations == ()
    assert EXPLAIN not in client.asked


def stuck(indices: int) -> list[Json]:
    """So many indices whose replica is not assigned."""
    return [one for n in range(indices) for one in (copy(f"i{n}", "a", primary=True), copy(f"i{n}", None))]


def test_however_many_replicas_have_no_place_all_are_explained_in_a_few_looks() -> None:
    several = 2 * EXPLANATIONS + 20
    client: Any = servers(stuck(several), **{f"i{n}": NO_PLACE for n in range(several)})
    seen, states = None, []
    for explained in (EXPLANATIONS, 2 * EXPLANATIONS, several):
        client.asked.clear()
        seen = look(client, "after_batch", before=seen)
        assert (client.asked.count(EXPLAIN), len(seen.explanations)) == (EXPLANATIONS, explained)
        reasons = judge(seen, Scope("after_upgrade", frozenset("abc"))).reasons
        states.append([reason.state for reason in reasons])
    assert states == [[State.REFUSED, State.WAITING], [State.REFUSED, State.WAITING], [State.REFUSED]]


def test_what_was_explained_longest_ago_is_asked_for_again() -> None:
    several = EXPLANATIONS + 20
    client: Any = servers(stuck(several), **{f"i{n}": NO_PLACE for n in range(several)})
    first = look(client, "after_batch")
    second = look(client, "after_batch", before=first)
    client.explanations = {place: {**NO_PLACE, "can_allocate": "throttled"} for place in client.explanations}
    third = look(client, "after_batch", before=second)
    kept = [explanation for explanation in third.explanations if explanation.can_allocate == "no"]
    assert len(kept) == several - EXPLANATIONS
    assert kept == list(second.explanations[-len(kept) :]), "the youngest"


@pytest.mark.parametrize("changed", ["a member is another process", "the primary is elsewhere"])
def test_an_explanation_is_forgotten_with_what_it_was_made_for(changed: str) -> None:
    several = EXPLANATIONS + 20
    client: Any = servers(stuck(several), **{f"i{n}": NO_PLACE for n in range(several)})
    first = look(client, "after_batch")
    if changed == "a member is another process":
        client.state["nodes"][identity("b")]["ephemeral_id"] = "another"
    else:
        moved = [one | {"node": identity("b")} if one["primary"] else one for one in stuck(several)]
        client.state = state_answer("abc", moved, elected="a")
    assert len(look(client, "after_batch", before=first).explanations) == EXPLANATIONS


@pytest.mark.parametrize(
    "answer", [answered(400, "unable to find any unassigned shards"), {"can_remain_on_current_node": "yes"}]
)
def test_a_copy_that_was_allocated_meanwhile_is_looked_at_again(answer: Json | Refusal) -> None:
    client = servers([copy("i", "a", primary=True), copy("i", None)], i=answer)
    seen = looked(client)
    assert seen.explanations == ()
    assert judge(seen, Scope("after_upgrade", frozenset("abc"))).state is State.WAITING


def test_an_explanation_that_may_not_be_had_is_refused_at_once() -> None:
    denied = refusal("opensearch_rights", "OpenSearch does not allow it.", "Give the right.")
    with pytest.raises(Refusal) as caught:
        looked(servers([copy("i", "a", primary=True), copy("i", None)], i=denied))
    assert caught.value is denied


@pytest.mark.parametrize("answers", range(7))
def test_a_cluster_out_of_reach_is_no_answer(answers: int) -> None:
    with pytest.raises(Unreachable):
        looked(Servers(cut_off=answers), "before_upgrade")


def test_an_answer_that_cannot_be_read_is_refused() -> None:
    client = Servers()
    del client.condition["timed_out"]
    with pytest.raises(Refusal, match="timed_out"):
        looked(client)
    client = Servers()
    del client.settings["transient"]
    with pytest.raises(Refusal, match="transient"):
        looked(client, "before_upgrade")


FAN_OUT = frozenset({"disk", "tasks", "settings"})
"""The checks that ask every member."""


@pytest.mark.parametrize("asked", sorted(FAN_OUT))
def test_a_member_that_does_not_answer_is_asked_again(asked: str) -> None:
    client: Any = Servers(silent=[{"type": "failed_node_exception"}])
    with pytest.raises(Unreachable, match="Some members of OpenSearch did not report"):
        look(client, "before_upgrade", 0, Selection(FAN_OUT - {asked}))
    look(client, "before_upgrade", 0, Selection(FAN_OUT))


@pytest.mark.parametrize(
    ("check", "path", "permission"),
    [
        ("disk", "/_nodes/data:true/stats/fs", "cluster:monitor/nodes/stats"),
        ("tasks", "/_tasks", "cluster:monitor/tasks/lists"),
    ],
)
def test_a_permission_that_one_check_needs_is_named_and_so_is_the_way_without(
    check: str, path: str, permission: str
) -> None:
    client: Any = Servers(denied={path: permission})
    with pytest.raises(Refusal) as caught:
        look(client, "before_upgrade", 0)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "opensearch_rights"
    assert permission in reason.message
    assert f"skip_checks: [{check}]" in reason.remedy
    look(client, "before_upgrade", 0, Selection(frozenset({check})))


def test_the_members_that_are_back() -> None:
    client: Any = Servers()
    del client.state["nodes"][identity("b")]
    assert sorted(observe_members(client, ["a", "b", "x"])) == ["a"]
    client.nodes[identity("a")]["version"] = "unknown"
    with pytest.raises(Refusal, match="unknown"):
        observe_members(client, ["a"])


def test_the_proof_before_the_first_deletion_is_made_on_fresh_state() -> None:
    client: Any = servers([copy("i", "a", primary=True), copy("i", "b")])
    assert prove(observe(client), ["a", "b", "c"], ["b"], Policy()).passed
    client.state = state_answer(
        "abc", [copy("i", "a", primary=True), copy("i", "b"), copy("new", "b", primary=True)], elected="a"
    )
    verdict = prove(observe(client), ["a", "b", "c"], ["b"], Policy())
    (reason,) = verdict.reasons
    assert reason.code == "single_copy"
    assert "new[0]" in reason.message, "the index made between the gate and the stop is named"
