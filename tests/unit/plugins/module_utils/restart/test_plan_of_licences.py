"""Plans of restarts with another licence, on an API server in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import licence_plan, restart_plan
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.restart_plan import SYSTEM
from ansible_collections.stateful.upgrade.plugins.module_utils.run.runs import contract_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import (
    Room,
    order_of,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.test_licence_acts import (
    GOLD,
    Elasticsearch,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.test_restart_plan import (
    codes,
    plan,
    room,
)

__all__ = ["room"]


@pytest.fixture
def servers(room: Room, monkeypatch: pytest.MonkeyPatch) -> Elasticsearch:
    """The same cluster, of Elasticsearch, with its licence."""
    for name in room.versions:
        room.versions[name] = "8.19.0"
    made = Elasticsearch()
    monkeypatch.setattr(licence_plan, "connect", lambda *_options: made)
    monkeypatch.setattr(restart_plan, "connect", lambda *_options: made)
    return made


def test_opensearch_has_no_licence(room: Room) -> None:
    assert codes(plan(room, "", licence="basic"))["licence_of_elasticsearch"] == "refused"


def test_a_licence_that_needs_no_restart_is_brought_when_the_run_begins(room: Room, servers: Elasticsearch) -> None:
    result = plan(room, "", licence="trial")
    assert result["details"] == [
        "The licence changes from basic to trial by the API of the servers, before the restarts."
    ]
    assert (result["course"], result["batches"], result["licence_first"]) == ("nothing", [], True)
    assert result["asks_without_batches"]
    assert servers.changes() == []
    given = {name: option.get("default") for name, option in contract_of(SYSTEM).argument_spec.items()}
    task = Task({**given, "namespace": "search", "opensearch": {}, "kubernetes": {}, "licence": "trial"})
    assert SYSTEM.first is not None
    SYSTEM.first(replace(task, check_mode=True), Outcome(Verdict(), more=result))
    assert servers.changes() == []
    SYSTEM.first(task, Outcome(Verdict(), more=result))
    assert servers.changes() == [("POST", "/_license/start_trial")]
    assert plan(room, "", licence="trial")["details"] == []


@pytest.mark.parametrize(
    ("held", "wanted", "security", "added", "comes_first"),
    [
        (
            "basic",
            GOLD,
            {"enabled": "false"},
            "xpack.security.enabled: true\nxpack.security.transport.ssl.enabled: true\n",
            False,
        ),
        (
            "gold",
            "basic",
            {"enabled": "true", "transport": {"ssl": {"enabled": "true"}}},
            "xpack.security.enabled: false\n",
            True,
        ),
    ],
)
def test_a_licence_that_turns_security_on_or_off_restarts_all_at_once_both_ways(
    room: Room, servers: Elasticsearch, held: str, wanted: Any, security: Any, added: str, comes_first: bool
) -> None:
    servers.held = {"type": held, "uid": "before"}
    servers.settings = {"nodes": {"one": {"settings": {"xpack": {"security": security}}}}}
    result = plan(room, added, licence=wanted)
    assert (result["course"], result["licence_first"], len(order_of(result))) == ("coordinated", comes_first, 6)
    assert codes(result)["licence_switches_security"] == "passed"
    assert "hunter" not in str(result)
