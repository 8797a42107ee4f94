"""The effect of a changed setting: the table, a user's own effects, and that no value is shown."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.known_settings import DYNAMIC, STATIC
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import RULES, SettingEffect
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.settings_table import (
    HIDDEN,
    changes_between,
    effects_in,
    fits,
    judge_changes,
    looks_secret,
    rule_of,
)
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.sampled_from(
    ["cluster.name", "node.name", "http.port", "node.attr.zone", "cluster.max_shards_per_node", "my_plugin.depth"]
)
CONFIGURATIONS = st.dictionaries(NAMES, st.sampled_from(["a", "b", "1"]))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("cluster.routing.allocation.enable", SettingEffect.DYNAMIC),
        ("cluster.remote.far.seeds", SettingEffect.DYNAMIC),
        ("logger.org.opensearch.discovery", SettingEffect.DYNAMIC),
        ("plugins.security_config.ssl_dual_mode_enabled", SettingEffect.DYNAMIC),
        ("thread_pool.write.queue_size", SettingEffect.ROLLING),
        ("node.attr.zone", SettingEffect.ROLLING),
        ("node.roles", SettingEffect.ROLLING),
        ("discovery.seed_hosts", SettingEffect.ROLLING),
        ("indices.fielddata.cache.size", SettingEffect.ROLLING),
        ("bootstrap.memory_lock", SettingEffect.ROLLING),
        ("plugins.security.ssl.transport.pemcert_filepath", SettingEffect.ROLLING),
        ("xpack.security.transport.ssl.verification_mode", SettingEffect.ROLLING),
        ("xpack.ml.enabled", SettingEffect.ROLLING),
        ("xpack.license.self_generated.type", SettingEffect.ROLLING),
        ("http.port", SettingEffect.NEW_POD),
        ("transport.port", SettingEffect.NEW_POD),
        ("transport.profiles.client.port", SettingEffect.NEW_POD),
        ("cluster.name", SettingEffect.COORDINATED),
        ("discovery.type", SettingEffect.COORDINATED),
        ("node.attr.remote_store.segment.repository", SettingEffect.COORDINATED),
        ("plugins.security.disabled", SettingEffect.COORDINATED),
        ("plugins.security.ssl.transport.enabled", SettingEffect.COORDINATED),
        ("opendistro_security.ssl.transport.enabled", SettingEffect.COORDINATED),
        ("plugins.security.ssl.http.enabled", SettingEffect.ROLLING),
        ("xpack.security.enabled", SettingEffect.COORDINATED),
        ("xpack.security.transport.ssl.enabled", SettingEffect.COORDINATED),
        ("path.data", SettingEffect.NEVER),
        ("node.name", SettingEffect.NEVER),
        ("index.number_of_replicas", SettingEffect.NEVER),
        ("my_plugin.depth", SettingEffect.ROLLING),
    ],
)
def test_the_way_of_a_setting(name: str, way: SettingEffect) -> None:
    assert rule_of(name).way is way


def test_every_rule_says_why_and_where_from() -> None:
    for rule in RULES:
        assert rule.why, rule.pattern
        assert rule.source, rule.pattern


def test_a_setting_is_either_dynamic_or_static() -> None:
    assert not DYNAMIC & STATIC
    assert len(DYNAMIC) > 400
    assert len(STATIC) > 300


def test_a_setting_that_only_some_versions_take_while_they_run_is_restarted_for() -> None:
    assert {"script.cache.max_size", "cluster.publish.timeout"} <= STATIC
    assert rule_of("cluster.publish.timeout").way is SettingEffect.ROLLING


@pytest.mark.parametrize(
    ("pattern", "name", "fitting"),
    [
        ("node.attr.*", "node.attr.zone", True),
        ("node.attr.*", "node.attribute", False),
        ("*.port", "http.port", True),
        ("http.port", "httpXport", False),
        ("a*c*e", "abcde", True),
        ("*", "anything", True),
    ],
)
def test_a_star_stands_for_any_text_and_a_dot_for_itself(pattern: str, name: str, fitting: bool) -> None:
    assert fits(pattern, name) is fitting


def test_the_most_exact_way_of_the_user_comes_before_the_table() -> None:
    given_ways = {
        "cluster.*": SettingEffect.ROLLING,
        "cluster.na*": SettingEffect.NEW_POD,
        "cluster.name": SettingEffect.DYNAMIC,
    }
    assert rule_of("cluster.name", given_ways).way is SettingEffect.DYNAMIC
    del given_ways["cluster.name"]
    assert rule_of("cluster.name", given_ways).way is SettingEffect.NEW_POD
    assert rule_of("discovery.type", given_ways).way is SettingEffect.COORDINATED


def test_a_way_that_there_is_not_is_refused() -> None:
    assert effects_in({"a.*": "new_pod"}) == {"a.*": SettingEffect.NEW_POD}
    with pytest.raises(Refusal, match=r"For the setting cluster\.name an effect is given that is none of dynamic, "):
        effects_in({"cluster.name": "quickly"})


def test_a_setting_that_the_pod_sets_elsewhere_needs_a_new_pod() -> None:
    found = changes_between(
        {"node.attr.zone": "a"}, {"node.attr.zone": "b"}, elsewhere={"node.attr.zone": "the variable node.attr.zone"}
    )
    assert [(each.way, each.why) for each in found.changes] == [
        (SettingEffect.NEW_POD, "the variable node.attr.zone sets it, and wins over the file")
    ]


def test_the_strongest_way_is_enough_for_all() -> None:
    found = changes_between({}, {"cluster.max_shards_per_node": "9", "node.attr.zone": "a"})
    assert found.strongest is SettingEffect.ROLLING
    assert changes_between({"a": "1"}, {"a": "1"}).strongest is None


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_changes_are_exactly_the_settings_that_differ_and_the_strongest_is_one_of_their_ways(
    current: dict[str, str], wanted: dict[str, str]
) -> None:
    found = changes_between(current, wanted)
    assert set(found.named()) == {name for name in {*current, *wanted} if current.get(name) != wanted.get(name)}
    assert list(found.named()) == sorted(found.named())
    ways = {each.way for each in found.changes}
    assert (found.strongest in ways) if ways else (found.strongest is None)
    assert all(way.rank <= (found.strongest or way).rank for way in ways)
    back = changes_between(wanted, current)
    assert back.strongest is found.strongest
    assert changes_between(dict(reversed(current.items())), wanted) == found


def test_what_cannot_be_done_is_refused_and_what_is_guessed_is_said() -> None:
    verdict = judge_changes(changes_between({"path.data": "/a"}, {"path.data": "/b", "my_plugin.depth": "3"}))
    assert [(each.state.value, each.code) for each in verdict.reasons] == [
        ("refused", "setting_never"),
        ("passed", "setting_unknown"),
    ]
    two = judge_changes(changes_between({}, {"http.port": "9300", "cluster.name": "b"}))
    assert [each.code for each in two.reasons] == ["settings_need_two_ways"]
    assert "(for cluster.name) and new pods (for http.port)" in two.reasons[0].message


def test_a_weaker_way_of_the_user_is_said_and_a_stronger_one_is_not() -> None:
    weaker = changes_between({}, {"cluster.name": "b"}, {"cluster.name": SettingEffect.ROLLING})
    assert [each.message for each in judge_changes(weaker).reasons] == [
        "The setting cluster.name changes with the effect rolling, as the user says; the table says coordinated, since"
        " a member of another name is turned away at the handshake."
    ]
    stronger = changes_between({}, {"node.attr.zone": "b"}, {"node.*": SettingEffect.COORDINATED})
    assert not judge_changes(stronger).reasons


@pytest.mark.parametrize(
    "name",
    [
        "xpack.security.transport.ssl.keystore.password",
        "plugins.security.ssl.http.keystore_keypassword",
        "s3.client.default.access_key",
        "xpack.notification.slack.account.a.secure_url_token",
        "plugins.security.audit.config.username_and_Password",
        "cluster.remote.far.credentials",
    ],
)
def test_values_of_secrets_are_hidden_by_their_name(name: str) -> None:
    assert looks_secret(name)
    found = changes_between({name: "hunter2"}, {name: "hunter3"})
    assert found.shown() == ({name: HIDDEN}, {name: HIDDEN})


@pytest.mark.parametrize("value", ["https://user:hunter3@proxy:1", "-----BEGIN PRIVATE KEY hunter3", "Basic hunter3"])
def test_values_that_look_like_secrets_are_hidden(value: str) -> None:
    assert changes_between({}, {"http.proxy.host": value}).shown()[1] == {"http.proxy.host": HIDDEN}


def test_no_text_of_a_change_but_the_diff_has_a_value() -> None:
    found = changes_between({"node.attr.zone": "hunter2"}, {"node.attr.zone": "hunter3", "cluster.name": "hunter4"})
    told = [repr(found), *(each.sentence() for each in found.changes)]
    assert "hunter" not in " ".join([*told, str(judge_changes(found))])
    assert found.shown() == ({"node.attr.zone": "hunter2"}, {"cluster.name": "hunter4", "node.attr.zone": "hunter3"})
    assert found.changes[0].sentence() == (
        "cluster.name is set (coordinated: a member of another name is turned away at the handshake)"
    )
