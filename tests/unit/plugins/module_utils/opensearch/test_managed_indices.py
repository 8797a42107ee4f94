"""Index state management at work while members go: how it is asked in pages, and what is waited for."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotServed, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import Selection
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.looking import MANAGED, look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import PAGE
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.managed_indices import (
    CONFIGURATION,
    Managed,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.gate_case import case
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

EXPLAIN = ("GET", "/_plugins/_ism/explain")


def index(name: str, action: str = "", step: str = "", status: str = "condition_not_met", **more: Any) -> Json:
    """A managed index as the plugin shows it."""
    at = {"action": {"name": action, "failed": more.pop("failed", False)}} if action else {}
    on = {"step": {"name": step, "step_status": status}} if step else {}
    return {name: {"index": name, "enabled": True, **at, **on, "info": {"message": f"On {name}"}, **more}}


def page(*indices: Json, total: int | None = None) -> Json:
    found: Json = {}
    for each in indices:
        found |= each
    return {**found, "total_managed_indices": len(indices) if total is None else total}


def servers(*pages: Json) -> Any:
    found: Any = Servers(
        state=state_answer("abc", [copy(CONFIGURATION, "a", primary=True), copy(CONFIGURATION, "b")], elected="a")
    )
    found.managed = list(pages)
    return found


def test_names_of_indices_have_dots() -> None:
    (reason,) = judged(index("logs-2026.11.23", "shrink"), index(CONFIGURATION))
    assert "shrinks logs-2026.11.23" in reason.message


def judged(*indices: Json, **changes: Any) -> list[Reason]:
    managed = changes.pop("managed", None) or Managed().with_page(page(*indices))
    return list(case(managed=managed, **changes).judged("before_upgrade").reasons)


@pytest.mark.parametrize(
    ("action", "step", "words"),
    [
        ("shrink", "wait_for_move_shards_step", "shrinks logs"),
        ("force_merge", "wait_for_force_merge", "force-merges logs"),
        ("snapshot", "wait_for_snapshot", "takes a snapshot of logs"),
        ("convert_index_to_remote", "wait_for_restore", "converts to a remote store logs"),
    ],
)
def test_an_action_that_a_restart_would_spoil_is_waited_for(action: str, step: str, words: str) -> None:
    (reason,) = judged(index("logs", action, step))
    assert (reason.code, reason.state.value, reason.about) == ("index_action_running", "waiting", "logs")
    assert f"{words} (step {step}): On logs." in reason.message
    assert "skip_checks: [index_management]" in reason.remedy


def test_waiting_for_a_condition_is_no_work_and_short_actions_are_counted() -> None:
    assert judged(index("a", "rollover", "attempt_rollover"), index("b", "transition", "attempt_transition")) == []
    (reason,) = judged(
        index("a", "rollover", "attempt_rollover", "starting"),
        index("b", "delete", "attempt_delete", "starting"),
        index("c", "delete", "attempt_delete", "starting"),
    )
    assert (reason.code, reason.state.value) == ("index_action_short", "passed")
    assert "delete of 2, rollover of 1." in reason.message


def test_what_has_failed_or_is_switched_off_or_done_is_not_waited_for() -> None:
    found = judged(
        index("a", "shrink", "attempt_shrink_step", "failed", failed=True),
        index("b", "force_merge", "wait_for_force_merge", retry_info={"failed": True}),
        index("c", "shrink", "wait_for_shrink_step", enabled=False),
        index("d", policy_completed=True),
    )
    assert [(reason.code, reason.state.value) for reason in found] == [("index_action_failed", "passed")]
    assert "failed on a, b, on a with: On a." in found[0].message


def test_indices_that_are_not_shown_are_told() -> None:
    (nothing,) = judged(managed=Managed().with_page(page()))
    assert (nothing.code, "shows 0 of 0" in nothing.message) == ("index_management_unread", True)
    (some,) = judged(managed=Managed().with_page(page(index("a"), total=5)))
    assert "shows 1 of 5 managed indices" in some.message
    assert "indices:admin/opensearch/ism/managedindex" in some.remedy


def test_a_cluster_without_its_index_is_not_asked() -> None:
    client: Any = Servers()
    assert look(client, "before_upgrade", 0).managed == Managed()
    assert EXPLAIN not in client.asked
    assert judged(managed=Managed()) == []


def test_it_is_asked_page_by_page_before_the_upgrade_alone() -> None:
    client = servers(page(index("a", "shrink"), total=PAGE + 1), page(index("b", "shrink"), total=PAGE + 1))
    managed = look(client, "before_upgrade", 0).managed
    assert managed is not None
    assert ([each.name for each in managed.indices], managed.read, managed.total) == (["a", "b"], 2, PAGE + 1)
    assert client.asked.count(EXPLAIN) == 2
    client.asked.clear()
    assert look(client, "before_batch", 0).managed is None
    client.managed = [page()]
    look(client, "before_batch", 0, Selection(added=frozenset({"index_management"})))
    assert client.asked.count(EXPLAIN) == 1


def test_it_is_asked_again_only_as_long_as_it_is_waited_for_and_only_now_and_then() -> None:
    client = servers(page(index("a", "shrink")), page(index("a", "transition")))
    first = look(client, "before_upgrade", 0, due={MANAGED})
    at_once = look(client, "before_upgrade", 0, before=first)
    assert at_once.managed is first.managed
    later = look(client, "before_upgrade", 0, before=at_once, due={MANAGED})
    assert later.managed is not None
    assert [each.action for each in later.managed.indices] == ["transition"]
    look(client, "before_upgrade", 0, before=later, due={MANAGED})
    assert client.asked.count(EXPLAIN) == 2


def test_a_plugin_that_is_gone_manages_nothing_and_an_outage_or_a_denial_is_no_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = servers()
    answers: list[Refusal] = [
        NotServed.because("opensearch_answer", "OpenSearch answered 400: no handler found.", "Fix it."),
        Unreachable.because("opensearch_unavailable", "It cannot answer.", "Wait."),
    ]

    served = client.get

    def get(path: str, **params: Any) -> Json:
        if path == EXPLAIN[1] and answers:
            raise answers.pop(0)
        found: Json = served(path, **params)
        return found

    monkeypatch.setattr(client, "get", get)
    assert look(client, "before_upgrade", 0).managed == Managed()
    with pytest.raises(Unreachable):
        look(client, "before_upgrade", 0)
    client.denied = {EXPLAIN[1]: "cluster:admin/opendistro/ism/managedindex/explain"}
    client.managed = []
    with pytest.raises(Refusal, match=r"skip_checks: \[index_management\]"):
        look(client, "before_upgrade", 0)


def test_an_answer_without_the_number_of_all_is_not_understood() -> None:
    with pytest.raises(Refusal, match="total_managed_indices is missing"):
        look(servers(index("a")), "before_upgrade", 0)
