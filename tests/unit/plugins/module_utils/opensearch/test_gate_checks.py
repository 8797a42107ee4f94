"""The checks of the gates by name: made, skipped, added."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.health_gate import CONTRACT, run
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import (
    ADDABLE,
    CHECKS,
    MOMENTS,
    SKIPPABLE,
    Selection,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.gates import JUDGES
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.certificates import Certificate
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.configured import Configured
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.disk import (
    Disks,
    MemberDisk,
    Watermark,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explanation import Explanation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.last_snapshot import Saved
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.managed_indices import (
    Managed,
    ManagedIndex,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import ROUTING, Settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.tasks import LongTask
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
    index_metadata,
    snapshot,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.gate_case import (
    ALL,
    ENABLE,
    UPGRADED,
    WHOLE,
    case,
)

FULL = Disks((MemberDisk("b", 100, 5),), dict.fromkeys(("low", "high", "flood_stage"), Watermark("90%", used=0.9)))
REINDEX = (LongTask("x:7", "reindex", "reindex from [logs] to [copy]", "a"),)
FOR_EVER = (Explanation("k", 0, False, "no", {identity(name): frozenset({"filter"}) for name in ALL}),)
YELLOW: Json = {
    "copies": [*WHOLE, copy("k", "a", primary=True), copy("k", "c"), copy("k", None)],
    "status": "yellow",
    "explanations": FOR_EVER,
}
SAVING = [snapshot("one", ("i", "SUCCESS", "b"), ("j", "INIT", "c"))]


def test_every_check_of_the_table_has_its_judge() -> None:
    assert [check.name for check in CHECKS if check.in_gate] == list(JUDGES)


FOUND: list[tuple[str, str, Json, tuple[str, State]]] = [
    ("disk", "before_upgrade", {"disks": FULL}, ("disk_watermark", State.REFUSED)),
    ("tasks", "before_upgrade", {"tasks": REINDEX}, ("long_task", State.WAITING)),
    ("tasks", "before_batch", {"tasks": REINDEX, "batch": "b"}, ("long_task", State.WAITING)),
    ("snapshots", "before_upgrade", {"parts": {"snapshots": SAVING}}, ("snapshot_running", State.WAITING)),
    (
        "snapshots",
        "before_batch",
        {"parts": {"snapshots": SAVING}, "batch": "c"},
        ("snapshot_running", State.WAITING),
    ),
    ("unassigned", "before_upgrade", YELLOW, ("unassigned", State.REFUSED)),
    ("unassigned", "before_batch", {**YELLOW, "batch": "b"}, ("unassigned", State.REFUSED)),
    ("unassigned", "after_upgrade", {**YELLOW, "versions": UPGRADED}, ("unassigned", State.REFUSED)),
    (
        "archived",
        "before_upgrade",
        {"settings": Settings({"archived.old": "1"}, {})},
        ("archived_setting_found", State.PASSED),
    ),
    (
        "allocation",
        "before_upgrade",
        {"settings": Settings({ENABLE: "none"}, {})},
        ("allocation_disabled", State.REFUSED),
    ),
    (
        "overrides",
        "before_upgrade",
        {
            "parts": {
                "indices": {"i": index_metadata(number_of_replicas="1", routing={"allocation": {"enable": "none"}})}
            }
        },
        ("index_allocation_disabled", State.REFUSED),
    ),
    (
        "progress",
        "after_upgrade",
        {"versions": UPGRADED, "copies": [*WHOLE, copy("k", "b", "INITIALIZING")]},
        ("recovering", State.WAITING),
    ),
    (
        "certificates",
        "before_upgrade",
        {"certificates": (Certificate("a:9200", datetime(2026, 12, 1, tzinfo=timezone.utc), 5 * 86400),)},
        ("certificate_ends", State.PASSED),
    ),
    (
        "settings",
        "before_upgrade",
        {"configured": Configured({"a": frozenset({"gateway.expected_nodes"})})},
        ("setting_removed", State.REFUSED),
    ),
    (
        "search_role",
        "before_upgrade",
        {"roles": {"b": ("data", "search")}},
        ("search_role_changed", State.REFUSED),
    ),
    (
        "index_management",
        "before_upgrade",
        {"managed": Managed((ManagedIndex("i", "shrink"),), 1, 1, asked=True)},
        ("index_action_running", State.WAITING),
    ),
    ("last_snapshot", "before_upgrade", {"saved": Saved()}, ("no_snapshot", State.PASSED)),
    ("pending_tasks", "before_upgrade", {"health": {"timed_out": True}}, ("tasks_pending", State.WAITING)),
]


@pytest.mark.parametrize(("name", "moment", "changes", "expected"), FOUND)
def test_a_check_is_made_and_when_it_is_skipped_that_is_said(
    name: str, moment: str, changes: Json, expected: tuple[str, State]
) -> None:
    assert case(**changes).said(moment) == {expected}
    skipping = case(**changes, skip=(name,)).judged(moment)
    (said,) = skipping.reasons
    assert (said.code, said.state) == ("check_skipped", State.PASSED)
    assert name in said.message


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        (ENABLE, "primaries", "allocation_disabled"),
        (f"{ROUTING}node_concurrent_incoming_recoveries", "0", "recoveries_disabled"),
        (f"{ROUTING}require._name", "a", "members_excluded"),
        (f"{ROUTING}awareness.attributes", ["zone"], "members_excluded"),
        (f"{ROUTING}awareness.attributes", "", ""),
    ],
)
def test_the_configuration_of_the_elected_manager_counts_where_the_cluster_sets_nothing(
    name: str, value: Any, code: str
) -> None:
    def said(of: str, **of_cluster: Any) -> list[tuple[str, str]]:
        configured = Configured(allocation={of: {name: value}})
        judged = case(configured=configured, settings=Settings(of_cluster, {})).judged("before_upgrade")
        return [(each.code, each.remedy) for each in judged.reasons]

    remedy = "It is set in opensearch.yml of a. Change it there, or set another value in the cluster."
    assert said("a") == [(code, remedy)] * bool(code)
    # Another member allocates nothing.
    assert said("b") == []
    assert said("a", **{name: {"primaries": "all", "0": "5"}.get(str(value), "")}) == []


def test_the_configuration_of_an_elasticsearch_is_in_its_own_file() -> None:
    configured = Configured(allocation={"a": {ENABLE: "primaries"}})
    elasticsearch = dict.fromkeys(ALL, "8.19.4")
    (reason,) = case(configured=configured, versions=elasticsearch, target=None).judged("before_upgrade").reasons
    assert reason.remedy.startswith("It is set in elasticsearch.yml of a.")


def test_every_check_that_can_be_skipped_was_tried() -> None:
    elsewhere = {check.name for check in CHECKS if not check.in_gate}
    assert {name for name, _moment, _changes, _expected in FOUND} == set(SKIPPABLE) - elsewhere


def test_a_snapshot_that_needs_nothing_of_the_batch_goes_on() -> None:
    assert case(parts={"snapshots": SAVING}, batch="b").said("before_batch") == set()
    (reason,) = case(parts={"snapshots": SAVING}, batch="c").judged("before_batch").reasons
    for word in ("nightly/one", "j[0]", " c"):
        assert word in reason.message


@pytest.mark.parametrize(
    ("name", "moment", "changes", "expected"),
    [
        (
            "progress",
            "before_batch",
            {"copies": [*WHOLE, copy("k", "c", "INITIALIZING")], "batch": "b", "status": "yellow"},
            ("recovering", State.WAITING),
        ),
        ("disk", "before_batch", {"disks": FULL, "batch": "b"}, ("disk_watermark", State.REFUSED)),
        (
            "overrides",
            "before_batch",
            {
                "batch": "b",
                "parts": {
                    "indices": {"i": index_metadata(number_of_replicas="1", routing={"allocation": {"enable": "none"}})}
                },
            },
            ("index_allocation_disabled", State.REFUSED),
        ),
    ],
)
def test_a_check_is_made_where_it_is_added(name: str, moment: str, changes: Json, expected: tuple[str, State]) -> None:
    assert name in ADDABLE
    assert case(**changes).said(moment) == set()
    assert case(**changes, add=(name,)).said(moment) == {expected}


@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_skips_the_proof(moment: str) -> None:
    everything = Selection(frozenset(check.name for check in CHECKS))
    proof = {check.name for check in CHECKS if check.proof and moment in check.moments}
    assert everything.at(moment) == proof
    assert {reason.message.split()[2] for reason in everything.said(moment).reasons} == {
        check.name for check in CHECKS if moment in check.moments and not check.proof
    }
    assert {"copies", "recoveries", "voting", "present", "blocks", "elected", "primaries"} <= everything.at(
        "before_batch"
    )


def test_a_lost_primary_is_waited_for_before_the_upgrade() -> None:
    red = case(copies=[*WHOLE, copy("k", None, primary=True)], status="red", skip=("unassigned",))
    assert ("primary_unassigned", State.WAITING) in red.said("before_upgrade")


def test_delayed_shards_are_counted() -> None:
    (reason,) = (
        case(versions=UPGRADED, copies=YELLOW["copies"], status="yellow", health={"delayed": 4})
        .judged("after_upgrade")
        .reasons
    )
    assert "4 delayed" in reason.message


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"skip_checks": ["voting"]}, "check_is_proof"),
        ({"skip_checks": ["disk"], "add_checks": ["disk"]}, "check_skipped_and_added"),
    ],
)
def test_what_cannot_be_skipped_is_refused_before_anything_is_asked(options: Json, code: str) -> None:
    defaults = {name: option.get("default") for name, option in CONTRACT.argument_spec.items()}
    result = perform(run, Task({**defaults, "moment": "before_upgrade", **options}))
    assert result["failed"]
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == [code]


@pytest.mark.parametrize("gain", [None, "10Gi", -1, 1.5, {"bytes": 1}])
def test_a_gain_that_is_no_number_of_bytes_is_refused_in_one_sentence(gain: object) -> None:
    own = {"moment": "before_upgrade", "gains": {"a": gain}, "opensearch": {"hosts": ["http://search"]}}
    result = perform(run, Task(CONTRACT.arguments({}, **own)))
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["gains_unreadable"]
