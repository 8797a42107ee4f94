"""Flushing where the security plugin guards indices; the answers are those of 2.19.1 and 3.4.0 with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event
from typing import Any, cast
from urllib.parse import quote

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.flush import LINE, flush, slices
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.test_waiting import VirtualClock
from hypothesis import given
from hypothesis import strategies as st

ON_SHARDS = "no permissions for [indices:admin/flush[s]] and User [name=upgrader]"
SYSTEM = ".opendistro_security"


@dataclass
class Guarded:
    """Servers whose indices may be flushed in part."""

    protected: frozenset[str] = frozenset({SYSTEM})
    """Naming one of these is forbidden to everyone; where all are flushed, their shards fail alone."""
    forbidden: Mapping[str, str] = field(default_factory=dict)
    """The cause for which the shards of an index may not be flushed, by index."""
    error: Refusal | None = None
    held: Event | None = None
    """The event until which the answer is kept back."""
    asked: list[str] = field(default_factory=list)

    @staticmethod
    def denial(of: str) -> Refusal:
        """The refusal for what the user may not do."""
        return refusal("opensearch_rights", f"OpenSearch does not allow {of}.", "Give it.")

    def post_once(self, path: str, seconds: float, **_params: str) -> dict[str, Any]:
        self.asked.append(path)
        target = path.split("/")[1]
        if self.held is not None:
            self.held.wait()
        if self.error is not None:
            raise self.error
        if self.protected & {*target.split(",")}:
            raise refusal("opensearch_rights", "no permissions for []", "Give it.")
        failing = {**dict.fromkeys(self.protected, "no permissions for []"), **self.forbidden}
        named = [index for index in failing if index in target.split(",")]
        failures = [{"index": each, "status": "FORBIDDEN", "reason": {"reason": failing[each]}} for each in named]
        return {"_shards": {"failed": len(failures), **({"failures": failures} if failures else {})}}


def flushed(servers: Guarded, *indices: str) -> list[str]:
    """The journal of a flush that gives no reasons."""
    task = Task({})
    assert flush(task, cast(OpenSearchClient, servers), indices) == ()
    return [f"{each['action']} {each['target']}" for each in task.journal.as_result()]


def test_an_index_that_nobody_may_touch_is_left_out() -> None:
    servers = Guarded()
    assert flushed(servers, "orders", SYSTEM) == ["flushed 1 indices"]
    assert servers.asked == [f"/{SYSTEM},orders/_flush", "/orders/_flush"]


def test_what_is_behind_a_data_stream_belongs_to_users() -> None:
    stream = ".ds-logs-000001"
    assert flushed(Guarded(), stream, SYSTEM) == ["flushed 1 indices"]
    with pytest.raises(Refusal, match=stream):
        flushed(Guarded(forbidden={stream: ON_SHARDS}), stream, SYSTEM)


def test_where_there_is_no_other_nothing_is_flushed_and_nothing_claimed() -> None:
    servers = Guarded()
    assert flushed(servers, SYSTEM) == []
    assert servers.asked == [f"/{SYSTEM}/_flush"]


@pytest.mark.parametrize("indices", [("orders",), ("orders", SYSTEM)])
def test_a_flush_that_succeeds_while_no_shard_was_flushed_is_refused(indices: tuple[str, ...]) -> None:
    with pytest.raises(Refusal) as caught:
        flushed(Guarded(forbidden={"orders": ON_SHARDS}), *indices)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "opensearch_rights"
    assert f"the flush of orders: {ON_SHARDS}" in reason.message


def test_what_is_refused_without_system_indices_stays_refused() -> None:
    servers = Guarded(error=refusal("opensearch_rights", "no permissions for [indices:admin/flush]", "Give it."))
    for indices in (("orders",), ("orders", SYSTEM)):
        with pytest.raises(Refusal, match=r"\[indices:admin/flush\]"):
            flushed(servers, *indices)


UNANSWERED = Unreachable(refused("opensearch_unreachable", "There was no answer within request_timeout.", "Wait."))
NOT_TAKEN = refusal("opensearch_answer", "OpenSearch answered 400: an HTTP line is larger than 4096 bytes.", "Fix it.")


@pytest.mark.parametrize("error", [UNANSWERED, NOT_TAKEN])
def test_a_flush_that_does_not_end_well_is_a_remark_and_is_not_sent_again(error: Refusal) -> None:
    servers, lines = Guarded(error=error), list[str]()
    task, names = Task({}, voice=Lines(lines.append)), [f"{number:0250}" for number in range(50)]
    (remark,) = flush(task, cast(OpenSearchClient, servers), [*names, SYSTEM])
    assert (remark.state, remark.code) == (State.PASSED, "flush_unfinished")
    assert error.verdict.reasons[0].message.rstrip(".") in remark.message
    assert lines == [remark.message]
    assert len(servers.asked) == 1
    assert [(act["action"], act["answer"]) for act in task.journal.as_result()] == [("flushed", "lost")]


def test_a_shard_that_could_not_be_flushed_is_a_remark() -> None:
    class Failing(Guarded):
        def post_once(self, path: str, seconds: float, **_params: str) -> dict[str, Any]:
            failure = {"index": "orders", "status": "SERVICE_UNAVAILABLE", "reason": {"reason": "the primary is gone"}}
            return {"_shards": {"failed": 1, "failures": [failure]}}

    task = Task({})
    (remark,) = flush(task, cast(OpenSearchClient, Failing()), ["orders", "kept"])
    assert "The flush of orders was not completed: the primary is gone." in remark.message
    assert [act["target"] for act in task.journal.as_result()] == ["1 indices"]


@pytest.mark.parametrize(
    ("shards", "says"),
    [
        ({"failures": 1}, "failures"),
        ({"failures": [{"status": "FORBIDDEN"}]}, "failures"),
        ({"failures": [{"index": "orders", "reason": "plain"}]}, "reason"),
        ([], "_shards"),
        ({"failures": [{"index": "orders", "reason": {"type": "closed", "reason": None}}]}, "not completed: closed."),
    ],
)
def test_a_flush_whose_answer_cannot_be_read_is_a_remark(shards: Any, says: str) -> None:
    class Odd(Guarded):
        def post_once(self, path: str, seconds: float, **_params: str) -> dict[str, Any]:
            return {"_shards": shards}

    (remark,) = flush(Task({}), cast(OpenSearchClient, Odd()), ["orders", "kept"])
    assert (remark.state, remark.code) == (State.PASSED, "flush_unfinished")
    assert says in remark.message


class Lock:
    """The guard of a run, whose lock is lost, or which is asked to stop, at some look."""

    def __init__(self, *, looks: int, release: Event | None = None) -> None:
        self.left, self.release = looks, release

    def before_look(self, _doing: str, stoppable: bool) -> None:
        self.left -= 1
        if self.left == 0 and self.release is not None:
            self.release.set()
        elif self.left <= 0 and stoppable and self.release is None:
            raise refusal("stopped_by_request", "The run was asked to stop.", "Run again.")

    def before_act(self) -> None:
        if self.left <= 0 and self.release is None:
            raise refusal("lock_lost", "The run no longer holds the lock.", "Look.")


def test_while_a_long_flush_runs_the_lock_is_asked_for() -> None:
    held = Event()
    lock = Lock(looks=5, release=held)
    task = Task({}, clock=VirtualClock(), guard=lock)
    assert flush(task, cast(OpenSearchClient, Guarded(held=held)), ["orders"]) == ()
    assert lock.left <= 0


def test_an_abort_ends_a_long_flush_and_a_run_without_its_lock_sends_none() -> None:
    held = Event()
    servers = Guarded(held=held)
    with pytest.raises(Refusal, match="asked to stop"):
        flush(Task({}, clock=VirtualClock(), guard=Lock(looks=3)), cast(OpenSearchClient, servers), ["orders"])
    held.set()
    with pytest.raises(Refusal, match="no longer holds the lock"):
        flush(Task({}, clock=VirtualClock(), guard=Lock(looks=0)), cast(OpenSearchClient, servers), ["orders"])
    assert len(servers.asked) == 1


@given(st.sets(st.text(st.characters(codec="utf-8", exclude_characters="/,"), min_size=1, max_size=255), max_size=80))
def test_each_request_holds_as_many_names_as_a_line_takes(names: set[str]) -> None:
    parts = list(slices(names))
    assert sorted(name for part in parts for name in part) == sorted(names)
    lines = [",".join(quote(name, safe="") for name in part) for part in parts]
    assert all(len(line) <= LINE or len(part) == 1 for line, part in zip(lines, parts, strict=True))
    assert all(len(first) + len(then) > LINE for first, then in pairwise(lines))


def test_names_are_sent_as_an_address_has_them() -> None:
    servers = Guarded()
    flush(Task({}), cast(OpenSearchClient, servers), ["caf\u00e9+100%"])
    assert servers.asked == ["/caf%C3%A9%2B100%25/_flush"]


def test_a_synced_flush_is_asked_for_where_only_that_helps() -> None:
    servers = Guarded()
    assert flush(Task({}), cast(OpenSearchClient, servers), ["orders"], "_flush/synced") == ()
    assert servers.asked == ["/orders/_flush/synced"]
