"""A change of the scheme of HTTP needs the addresses of after it, by the names of its settings and by no others."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.http_scheme import (
    GivenAddresses,
    scheme_change,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.on_hosts import Configuration
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import SettingEffect
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.settings_table import (
    changes_between,
    details_of_scheme,
    judge_changes,
)

HTTP = ("plugins.security.ssl.http.enabled", "opendistro_security.ssl.http.enabled", "xpack.security.http.ssl.enabled")
PLUGIN, OLDER, XPACK = HTTP
OFF = "plugins.security.disabled"


@pytest.mark.parametrize("name", HTTP)
def test_the_setting_that_turns_tls_of_http_on_or_off_is_refused_by_name(name: str) -> None:
    for before, after in (({}, {name: "true"}), ({name: "true"}, {}), ({name: "true"}, {name: "false"})):
        found = judge_changes(changes_between(before, after))
        assert [(each.code, name in each.message) for each in found.deciding()] == [("setting_changes_scheme", True)]
    # A user who knows the setting better cannot have the run see what it cannot see.
    given = judge_changes(changes_between({}, {name: "true"}, {name: SettingEffect.ROLLING}))
    assert [each.code for each in given.deciding()] == ["setting_changes_scheme"]


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ({}, {PLUGIN: "false"}, set()),
        ({PLUGIN: "true"}, {OLDER: "true"}, set()),
        ({PLUGIN: "true"}, {PLUGIN: "true", OFF: "true"}, {OFF}),
        ({PLUGIN: "false"}, {PLUGIN: "false", OFF: "true"}, set()),
        ({PLUGIN: "true", OFF: "true"}, {}, set()),
        ({XPACK: "true"}, {XPACK: "true", "xpack.security.enabled": "false"}, {"xpack.security.enabled"}),
        ({XPACK: "true"}, {XPACK: "true", "xpack.security.enabled": "true"}, set()),
        ({PLUGIN: "true"}, {PLUGIN: "${HTTP_TLS}"}, {PLUGIN}),
        ({PLUGIN: "${HTTP_TLS}"}, {PLUGIN: "${HTTP_TLS}", "node.attr.rack": "r1"}, set()),
        ({}, {"http.port": "9201"}, set()),
    ],
)
def test_the_scheme_depends_on_security_as_a_whole_too(
    before: dict[str, str], after: dict[str, str], names: set[str]
) -> None:
    assert scheme_change(before, after).names == names


def test_a_setting_that_the_pod_itself_gives_has_no_effect_in_the_file() -> None:
    assert scheme_change({}, {PLUGIN: "true"}, {PLUGIN}).names == set()


def test_on_plain_hosts_it_is_refused_as_well() -> None:
    changes = Configuration("a", "", f"{PLUGIN}: true").changes()
    assert "setting_changes_scheme" in {each.code for each in judge_changes(changes).deciding()}


@pytest.mark.parametrize("name", HTTP)
def test_with_the_addresses_of_after_members_restart_one_after_the_other(name: str) -> None:
    for before, after, schemes in (
        ({}, {name: "true"}, ("http", "https")),
        ({name: "true"}, {name: "false"}, ("https", "http")),
    ):
        changes = changes_between(before, after)
        assert changes.strongest is SettingEffect.ROLLING
        assert judge_changes(changes, GivenAddresses(*schemes, "b")).passed
        (line,) = details_of_scheme(changes, GivenAddresses(*schemes, "b"))
        assert f"answers by {schemes[1]} alone" in line
        assert f"{schemes[0]} ends" in line
        wrong = judge_changes(changes, GivenAddresses(schemes[0], schemes[0], f"{schemes[0]}://b"))
        assert [each.code for each in wrong.deciding()] == ["after_of_other_scheme"]


def test_a_variable_may_be_either_scheme() -> None:
    changes = changes_between({PLUGIN: "true"}, {PLUGIN: "${HTTP_TLS}"})
    assert [each.code for each in judge_changes(changes).deciding()] == ["setting_changes_scheme"]
    for scheme in ("http", "https"):
        assert judge_changes(changes, GivenAddresses("https", scheme, "b")).passed
    assert details_of_scheme(changes, GivenAddresses("https", "http", "b")) == []


def test_security_as_a_whole_still_stops_all_members_at_once() -> None:
    changes = changes_between({PLUGIN: "true"}, {PLUGIN: "true", OFF: "true"})
    assert changes.strongest is SettingEffect.COORDINATED
    assert judge_changes(changes, GivenAddresses("https", "http", "b")).passed


def test_without_a_change_of_the_scheme_clients_lose_nothing() -> None:
    changes = changes_between({}, {"node.attr.rack": "r1"})
    assert details_of_scheme(changes, GivenAddresses("http", "https", "b")) == []
