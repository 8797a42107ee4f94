"""Settings that the target does not have any more: the table against what servers register, and the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import Selection
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.retired_settings import (
    BACK,
    DEPRECATED,
    REMOVED,
    names_for_indices,
    retired_in,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.looking import look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.configured import (
    Configured,
    parse_allocation,
    parse_of_indices,
    parse_started_with,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import index_metadata
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.gate_case import UPGRADED, case
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

RECORDED = Path(__file__).with_name("recorded") / "retired-settings.json"
"""The names that one version registers and the next one does not, and those that the next one calls deprecated.

Both are from `ClusterSettings`, `IndexScopedSettings` and `FeatureFlagSettings` of the published jars. From 2.19.6 to
3.8.0 the names that real servers answered with `include_defaults` are compared, too.
"""
PAIRS: list[dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
NODES = "gateway.recover_after_nodes"
EXTENSIONS = "index.store.hybrid.mmap.extensions"


def names(version: str, *, removed: bool) -> set[str]:
    """The settings of the server itself."""
    retired = retired_in(Version.parse(version))
    return {each.name for each in retired if each.removed is removed and not each.of_plugin}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['from']} to {pair['to']}")
def test_the_table_has_what_the_next_version_does_not_register_and_nothing_else(pair: dict[str, Any]) -> None:
    # The settings that modules and thread pools register are only known of servers that have answered.
    answered = {*(name for name in REMOVED["3.0.0"] if name.startswith("thread_pool.")), "reindex.remote.whitelist"}
    of_both = names(pair["to"], removed=True) - names(pair["from"], removed=True)
    known = of_both if (pair["from"], pair["to"]) == ("2.19.6", "3.8.0") else of_both - answered
    # Settings that were there for a few versions in between are in the table, too.
    passing = {*REMOVED["3.4.0"], *REMOVED["3.6.0"]} if pair["from"] != "3.0.0" else set()
    assert known - passing == set(pair["gone"]) - set(BACK if pair["to"] == "3.8.0" else ())


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['from']} to {pair['to']}")
def test_the_table_has_what_a_version_calls_deprecated_and_nothing_else(pair: dict[str, Any]) -> None:
    assert names(pair["to"], removed=False) == set(pair["deprecated"])


def test_a_version_in_between_has_what_goes_later_and_what_has_come_back() -> None:
    length = "search.query.max_query_string_length"
    assert length in names("3.2.0", removed=True)
    assert length not in names("3.3.0", removed=True)
    assert NODES in names("2.19.6", removed=False)
    assert NODES not in names("3.8.0", removed=False)
    assert "discovery.zen.ping_timeout" not in {each.name for each in retired_in(Version.parse("1.3.20"))}


def test_what_takes_the_place_of_a_setting_is_there() -> None:
    named = {instead for table in (REMOVED, DEPRECATED) for names in table.values() for instead in names.values()}
    assert not named & {name for name in names("3.8.0", removed=True) if "*" not in name}


def judged(configured: Configured, **changes: Any) -> dict[str, Reason]:
    reasons = case(configured=configured, **changes).judged("before_upgrade").reasons
    return {reason.code: reason for reason in reasons}


def test_members_that_would_not_start_are_named_with_setting_and_cure() -> None:
    configured = Configured({"a": frozenset({NODES, "plugins.own"}), "b": frozenset({NODES}), "c": frozenset()})
    (found,) = judged(configured).values()
    assert (found.code, found.state.value) == ("setting_removed", "refused")
    assert f"setting {NODES} in their own configuration: a, b. OpenSearch 3.8.0 does not know it" in found.message
    assert "gateway.recover_after_data_nodes" in found.remedy
    assert "skip_checks: [settings]" in found.remedy
    assert set(judged(configured, skip=("settings",))) == {"check_skipped"}
    assert set(judged(configured, target=Version.parse("2.19.7"))) == {"setting_deprecated"}
    assert not judged(configured, target=None)


def test_a_member_that_runs_the_target_has_started_with_its_settings() -> None:
    configured = Configured({"a": frozenset({NODES}), "b": frozenset({NODES})})
    assert ": b." in judged(configured, versions={"a": "3.8.0"})["setting_removed"].message
    assert not judged(configured, versions=UPGRADED)


def test_an_index_whose_copies_would_not_start_is_refused() -> None:
    found = judged(Configured({}, {"logs": frozenset({EXTENSIONS}), "more": frozenset({"index.number_of_shards"})}))
    assert set(found) == {"index_setting_removed"}
    assert found["index_setting_removed"].state.value == "refused"
    assert f"Indices have the setting {EXTENSIONS}: logs." in found["index_setting_removed"].message
    assert "PUT <index>/_settings" in found["index_setting_removed"].remedy


def test_settings_of_the_cluster_and_deprecated_ones_are_remarks_with_all_their_places() -> None:
    settings = Settings({"wlm.query_group.mode": "enforced", "transport.tcp.port": "9300"}, {"foo.bar": 1})
    configured = Configured({"a": frozenset({"transport.tcp.port"})}, {"i": frozenset({"archived.index.foo"})})
    found = judged(configured, settings=settings)
    assert {code: reason.state.value for code, reason in found.items()} == dict.fromkeys(
        ("cluster_setting_removed", "setting_deprecated", "index_setting_archived"), "passed"
    )
    forgotten = found["cluster_setting_removed"]
    assert (
        "The persistent setting wlm.query_group.mode = 'enforced' is unknown to OpenSearch 3.8.0" in forgotten.message
    )
    assert "wlm.workload_group.mode" in forgotten.remedy
    old = found["setting_deprecated"]
    assert "set in the persistent settings of the cluster and in the configuration of a, is" in old.message
    assert "transport.port" in old.remedy
    assert "index.foo of i is archived" in found["index_setting_archived"].message


FROZEN = {"indices": {"i": index_metadata(store={"type": "remote_snapshot"})}}


def test_members_that_hold_searchable_snapshots_need_another_role_from_3_0_on() -> None:
    roles = {"b": ["search"], "c": ["search"]}
    (found,) = judged(Configured(), roles=roles, parts=FROZEN).values()
    assert (found.code, found.state.value) == ("search_role_changed", "refused")
    assert (
        "Searchable snapshots (i) are on members with the role search: b, c. From OpenSearch 3.0.0 on" in found.message
    )
    assert "the role warm in place of search" in found.remedy
    assert "skip_checks: [search_role]" in found.remedy
    # It is accepted alone: the check of the settings is still made.
    settings = Configured({"a": frozenset({NODES})})
    assert set(judged(settings, roles=roles, parts=FROZEN, skip=("search_role",))) == {
        "check_skipped",
        "setting_removed",
    }
    assert "search_role_changed" in judged(settings, roles=roles, parts=FROZEN, skip=("settings",))
    assert not judged(Configured(), roles=roles)
    assert not judged(Configured(), roles=roles, parts=FROZEN, target=Version.parse("2.19.7"))
    assert not judged(Configured(), roles=roles, parts=FROZEN, versions={"b": "3.6.0", "c": "3.6.0"})
    assert not judged(Configured(), parts=FROZEN)
    # Elasticsearch 9 is counted as 3.
    elastic = dict.fromkeys("abc", "8.19.1")
    of_elastic = judged(Configured(), roles=roles, parts=FROZEN, versions=elastic, target=Version.parse("9.1.0"))
    assert "search_role_changed" not in of_elastic


def test_a_member_with_the_role_search_and_others_would_not_start_on_3_0() -> None:
    (found,) = judged(Configured(), roles={"b": ["data", "search"], "c": ["search"]}).values()
    assert (found.code, found.state.value) == ("search_role_changed", "refused")
    assert "the role search together with others: b. From OpenSearch 3.0.0 on a member with both" in found.message


@pytest.mark.parametrize(
    ("setting", "instead"),
    [("knn.plugin.enabled", ""), ("opendistro.sql.enabled", "plugins.sql.enabled"), ("plugins.sql.delete.enabled", "")],
)
def test_settings_that_a_plugin_of_the_distribution_has_lost_are_named(setting: str, instead: str) -> None:
    configured = Configured({"a": frozenset({setting, "knn.memory.circuit_breaker.limit"})})
    (found,) = judged(configured).values()
    assert (found.code, found.state.value) == ("setting_removed", "refused")
    assert f"setting {setting} in their own configuration: a." in found.message
    assert instead in found.remedy
    (scoped,) = judged(Configured(), settings=Settings({setting: "x"}, {})).values()
    assert scoped.code == "cluster_setting_removed"
    # A version of the same major has it.
    minor = judged(configured, target=Version.parse("2.19.7"))
    assert set(minor) == ({"setting_deprecated"} if setting.startswith("opendistro") else set())


def test_an_index_with_a_setting_of_k_nn_that_is_removed_is_refused() -> None:
    (found,) = judged(Configured({}, {"vectors": frozenset({"index.knn.space_type", "index.knn"})})).values()
    assert (found.code, found.state.value) == ("index_setting_removed", "refused")
    assert "the setting index.knn.space_type: vectors." in found.message
    assert "space_type in the method of the field in the mapping" in found.remedy
    assert "index.knn.algo_param.m" in names_for_indices()


def test_other_old_names_of_plugins_are_deprecated() -> None:
    found = judged(Configured({"a": frozenset({"opendistro.alerting.input_timeout", "opendistro.ppl.enabled"})}))
    assert {code: reason.state.value for code, reason in found.items()} == {
        "setting_removed": "refused",
        "setting_deprecated": "passed",
    }
    assert "opendistro.ppl.enabled" not in found["setting_deprecated"].message
    assert "opendistro.alerting.input_timeout" in found["setting_deprecated"].message


def test_a_target_whose_settings_nobody_has_read_is_told() -> None:
    configured = Configured({"a": frozenset({NODES})})
    assert set(judged(configured, target=Version.parse("3.9.0"))) == {"settings_unknown", "setting_removed"}
    elastic = judged(configured, target=Version.parse("8.19.1"), versions=dict.fromkeys("abc", "7.17.0"))
    assert set(elastic) == {"settings_unknown"}
    assert "settings Elasticsearch 8.19.1 does not have" in elastic["settings_unknown"].message


def test_names_with_a_part_of_the_user() -> None:
    configured = Configured({"a": frozenset({"search.remote.west.seeds", "transport.profiles.x.tcp_no_delay"})})
    old = {"target": Version.parse("2.19.6"), "versions": dict.fromkeys("abc", "1.3.20")}
    found = judged(configured, **old)
    assert "search.remote.west.seeds" in found["setting_removed"].message
    assert "transport.profiles.x.tcp_no_delay" in found["setting_deprecated"].message


def test_the_names_come_from_members_and_from_the_cluster_state() -> None:
    client: Any = Servers(started_with={"b": {NODES: "2", "path.home": "/x"}})
    client.state["metadata"]["indices"] = {}
    seen = look(client, "before_upgrade", 0)
    assert seen.configured is not None
    assert seen.configured.members["b"] == {NODES, "path.home"}
    client.asked.clear()
    assert look(client, "before_upgrade", 0, before=seen).configured is seen.configured
    assert ("GET", "/_nodes/_all/settings") not in client.asked


def test_a_member_that_does_not_answer_is_waited_for_and_a_user_without_the_right_is_told() -> None:
    client: Any = Servers()
    client.denied = {"/_nodes/_all/settings": "cluster:monitor/nodes/info"}
    with pytest.raises(Refusal, match=r"skip_checks: \[settings\]"):
        look(client, "before_upgrade", 0)
    silent: Any = Servers(silent=[{"reason": "x"}])
    with pytest.raises(Unreachable, match=r"did not report their settings"):
        look(silent, "before_upgrade", 0, Selection(frozenset({"disk", "tasks"})))


def test_values_are_kept_of_allocation_alone() -> None:
    kept = {"cluster.routing.allocation.awareness.attributes": ["zone"], "indices.recovery.max_bytes_per_sec": "1kb"}
    nodes = {"x": {"name": "a", "settings": {**kept, "plugins.own.password": "x"}}, "y": {"name": "b"}}
    assert parse_allocation({"nodes": nodes}) == {"a": kept, "b": {}}


def test_settings_are_read_by_their_whole_names() -> None:
    nodes = {"nodes": {"x": {"name": "a", "settings": {"a.b": "1", "a.c": ["2"]}}, "y": {"name": "b"}}}
    assert parse_started_with(nodes) == {"a": {"a.b", "a.c"}, "b": frozenset()}
    inner = {"index": {"store": {"hybrid": {"mmap": {"extensions": ["nvd"]}}}}, "archived": {"index.x": "1"}}
    state = {"metadata": {"indices": {"i": {"settings": inner}}}}
    assert parse_of_indices(state) == {"i": {EXTENSIONS, "archived.index.x"}}
    assert parse_of_indices({}) == {}
    assert EXTENSIONS in names_for_indices()
