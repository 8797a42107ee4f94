"""A consent covers one request once: its note in the cluster, and the digest that follows from the one before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import pool_order
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import observe, read_settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import once
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.once import (
    REQUEST,
    Carried,
    carried_in,
    request_of_plan,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.on_hosts import (
    forget_on_hosts,
    note_on_hosts,
    order_on_hosts,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.once import agreed_to
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.restart_plan import SYSTEM
from ansible_collections.stateful.upgrade.plugins.module_utils.run.runs import contract_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.approvals import covered, points_in
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import identity
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

BATCHES = [{"by": "process", "members": ["a"]}, {"by": "pod", "members": ["b", "c"]}]


def settings(note: str | None) -> Settings:
    return Settings({} if note is None else {REQUEST: note}, {})


def test_a_note_is_read_as_it_was_written_and_one_of_another_cluster_is_none() -> None:
    note = Carried("p1", "p2", ("b", "c"), members=("a", "b", "c"))
    for each in (note, replace(note, completed="2026-11-25T02:00:00Z", left=("d",))):
        assert carried_in(settings(each.text("uuid")), "uuid") == each
        assert carried_in(settings(each.text("uuid")), "another") is None
    assert carried_in(settings(None), "uuid") is None
    for broken in ("{", "null", "[]", '{"cluster": "uuid"}'):
        with pytest.raises(Refusal) as refused:
            carried_in(settings(broken), "uuid")
        assert refused.value.verdict.reasons[0].code == "restart_note_unreadable"


def test_a_request_covers_what_how_in_which_order_and_since_when() -> None:
    first = request_of_plan("p2", BATCHES, None, goes_on=False)
    assert first.replaced == ("b", "c")
    others = [
        request_of_plan("p3", BATCHES, None, goes_on=False),
        request_of_plan("p2", BATCHES[::-1], None, goes_on=False),
        request_of_plan("p2", [{**each, "by": "process"} for each in BATCHES], None, goes_on=False),
        request_of_plan("p2", BATCHES, replace(first, completed="now"), goes_on=True),
    ]
    assert len({each.digest for each in (first, *others)}) == 5
    # Nothing is left of it, so it is wanted once more.
    assert request_of_plan("p2", BATCHES, first, goes_on=False).digest != first.digest


def test_a_request_that_goes_on_keeps_its_digest_while_its_members_become_fewer() -> None:
    first = request_of_plan("p2", BATCHES, None, goes_on=False)
    for left in (BATCHES[1:], BATCHES[:1], [{"by": "pod", "members": ["c"]}, BATCHES[0]], []):
        assert request_of_plan("p2", left, first, goes_on=True) == first
    # The pod of a is replaced by no consent to restart its process.
    assert request_of_plan("p2", [{"by": "pod", "members": ["a"]}], first, goes_on=True).digest != first.digest


def test_a_request_ends_once_none_of_its_own_members_is_left() -> None:
    note = request_of_plan("p2", BATCHES, None, goes_on=False)
    assert note.members == ("a", "b", "c")
    assert note.ended("now", []) == replace(note, completed="now")
    assert note.ended("now", ["e", "d"]) == replace(note, completed="now", left=("d", "e"))
    assert note.ended("now", ["d", "b"]) is None
    assert replace(note, completed="before").ended("now", []) is None
    # A note of an earlier version does not say which members it has.
    assert replace(note, members=()).ended("now", ["d"]) is None


def test_only_the_consent_to_the_last_request_with_its_points_is_used_up() -> None:
    last, points = Carried("p1", "p2"), [{"name": "half", "after": 1}]
    assert agreed_to(task(agreed="p1"), last)
    assert not any(agreed_to(task(agreed=agreed), each) for each, agreed in ((None, "p1"), (last, ""), (last, "p9")))
    with_points = covered("p1", points_in(points))
    assert agreed_to(task(agreed=with_points, approvals=points), last)
    assert not agreed_to(task(agreed="p1", approvals=points), last)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    """Members on plain hosts."""
    made = Servers()
    for module in (pool_order, once):
        monkeypatch.setattr(module, "connect", lambda *_options: made)
    return made


def task(**params: Any) -> Task:
    given = {name: option.get("default") for name, option in contract_of(SYSTEM).argument_spec.items()}
    return Task({**given, "opensearch": {}, "kubernetes": {}, "groups": {"data": ["a", "b", "c"]}, **params})


def going(plan: Outcome) -> list[str]:
    return sorted(name for batch in plan.more["batches"] for name in batch["members"])


def test_on_hosts_the_same_command_does_nothing_after_it_was_carried_out(servers: Servers) -> None:
    first = order_on_hosts(task())
    agreed = str(first.more["digest"])
    assert going(first) == ["a", "b", "c"]
    assert note_on_hosts(task(), first).verdict == Verdict()
    assert order_on_hosts(task(agreed=agreed)).more["digest"] == agreed
    for name in ("a", "b"):
        servers.state["nodes"][identity(name)]["ephemeral_id"] = f"new-{name}"
        servers.nodes[identity(name)]["ephemeral_id"] = f"new-{name}"
    later = order_on_hosts(task(agreed=agreed))
    assert (going(later), later.more["digest"]) == (["c"], agreed)
    servers.state["nodes"][identity("c")]["ephemeral_id"] = "new-c"
    servers.nodes[identity("c")]["ephemeral_id"] = "new-c"
    assert going(order_on_hosts(task(agreed=agreed))) == []
    forget_on_hosts(task())
    again = order_on_hosts(task(agreed=agreed))
    assert (going(again), [each.code for each in again.verdict.reasons]) == ([], ["restart_carried_out"])
    another = order_on_hosts(task())
    assert (going(another), another.more["digest"] != agreed) == (["a", "b", "c"], True)


def test_on_hosts_a_request_that_was_limited_ends_with_its_own_members(servers: Servers) -> None:
    """An interrupted run has left two members, of which this one restarts one."""

    def restarted(name: str) -> None:
        servers.state["nodes"][identity(name)]["ephemeral_id"] = f"new-{name}"
        servers.nodes[identity(name)]["ephemeral_id"] = f"new-{name}"

    def noted() -> Carried:
        found = carried_in(read_settings(cast(Any, servers)), observe(cast(Any, servers)).uuid)
        assert found is not None
        return found

    whole = order_on_hosts(task())
    assert note_on_hosts(task(), whole).verdict == Verdict()
    restarted("a")
    limited = order_on_hosts(task(members=["b"]))
    assert going(limited) == ["b"]
    # Nothing of its own has begun, so the request of the interrupted run stays as it is.
    forget_on_hosts(task(members=["b"]))
    assert (noted().digest, noted().completed) == (whole.more["digest"], "")
    assert note_on_hosts(task(members=["b"]), limited).verdict == Verdict()
    restarted("b")
    forget_on_hosts(task(members=["b"]))
    assert (noted().digest, bool(noted().completed), noted().left) == (limited.more["digest"], True, ("c",))
    assert going(order_on_hosts(task())) == ["c"]


def test_on_hosts_a_member_whose_host_was_removed_keeps_no_note(servers: Servers) -> None:
    assert note_on_hosts(task(), order_on_hosts(task())).verdict == Verdict()
    for name in ("a", "b"):
        servers.state["nodes"][identity(name)]["ephemeral_id"] = f"new-{name}"
        servers.nodes[identity(name)]["ephemeral_id"] = f"new-{name}"
    del servers.state["nodes"][identity("c")], servers.nodes[identity("c")]
    smaller = task(groups={"data": ["a", "b"]})
    assert going(order_on_hosts(smaller)) == []
    forget_on_hosts(smaller)
    assert going(order_on_hosts(smaller)) == ["a", "b"]
