# SPDX-License-Identifier: GPL-3.0-or-later
"""Flushing where the security plugin guards indices; the answers are those of 2.19.1 and 3.4.0 with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.flush import FLUSH_BY_NAME, flush

ON_SHARDS = "no permissions for [indices:admin/flush[s]] and User [name=upgrader]"
SYSTEM = ".opendistro_security"


@dataclass
class Guarded:
    """Servers whose indices may be flushed in part."""

    protected: frozenset[str] = frozenset({SYSTEM})
    """Naming one of these is forbidden to everybody; where all are flushed, their shards fail alone."""
    forbidden: Mapping[str, str] = field(default_factory=dict)
    """Index → why its shards may not be flushed."""
    error: Refusal | None = None
    asked: list[str] = field(default_factory=list)

    def post(self, path: str, **_params: str) -> dict[str, Any]:
        self.asked.append(path)
        target = path.split("/")[1]
        if self.error is not None:
            raise self.error
        if self.protected & {*target.split(",")}:
            raise refusal("opensearch_rights", "no permissions for []", "Give it.")
        failing = {**dict.fromkeys(self.protected, "no permissions for []"), **self.forbidden}
        named = [index for index in failing if target == "_all" or index in target.split(",")]
        failures = [{"index": each, "status": "FORBIDDEN", "reason": {"reason": failing[each]}} for each in named]
        return {"_shards": {"failed": len(failures), **({"failures": failures} if failures else {})}}


def flushed(servers: Guarded, *indices: str) -> list[str]:
    """What the journal says of it."""
    task = Task({})
    flush(task, cast(OpenSearchClient, servers), indices)
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


def test_among_all_it_does_not_count() -> None:
    names = [f"orders-{number}" for number in range(FLUSH_BY_NAME)]
    assert flushed(Guarded(), SYSTEM, *names) == [f"flushed {FLUSH_BY_NAME} indices"]


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


def test_no_answer_is_no_refusal() -> None:
    servers = Guarded(error=Unreachable(refused("opensearch_unavailable", "It is not there.", "Wait.")))
    with pytest.raises(Unreachable):
        flushed(servers, "orders", SYSTEM)
    assert len(servers.asked) == 1
