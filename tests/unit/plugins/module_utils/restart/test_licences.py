"""Licences of Elasticsearch: those that turn security or TLS on or off restart the whole cluster, both ways."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.licences import (
    SECURITY,
    TLS,
    Licence,
    Protection,
    judge_licence,
    licence_change,
    protection,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import SettingEffect
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.settings_table import changes_between
from hypothesis import given
from hypothesis import strategies as st

BASIC, TRIAL, GOLD, PLATINUM = Licence.BASIC, Licence.TRIAL, Licence.GOLD, Licence.PLATINUM
OFF: dict[str, str] = {SECURITY: "false"}
ON = {SECURITY: "true", TLS: "true"}
CONFIGURATIONS = st.dictionaries(st.sampled_from([SECURITY, TLS]), st.sampled_from(["true", "false"]))
LICENCES = st.sampled_from(Licence)


@pytest.mark.parametrize("paid", [TRIAL, GOLD, PLATINUM, Licence.ENTERPRISE])
@pytest.mark.parametrize("major", [7, 8, 9])
def test_between_basic_without_and_a_paid_one_with_security_all_members_restart_both_ways(
    paid: Licence, major: int
) -> None:
    up = licence_change(BASIC, paid, OFF, ON, major)
    assert (up.effect, up.restarts_first) == (SettingEffect.COORDINATED, True)
    (said,) = judge_licence(up).reasons
    assert (said.state.value, said.code) == ("passed", "licence_switches_security")
    assert "turns security on and TLS between members on, so all members stop" in said.message
    assert "before the licence is changed" in said.message
    down = licence_change(paid, BASIC, ON, OFF, major)
    assert (down.effect, down.restarts_first) == (SettingEffect.COORDINATED, False)
    assert "turns security off and TLS between members off" in judge_licence(down).reasons[0].message
    assert "after the licence is changed" in judge_licence(down).reasons[0].message


def test_a_licence_that_switches_nothing_needs_no_restart() -> None:
    for settings in (OFF, ON):
        change = licence_change(BASIC, PLATINUM, settings, settings, 8)
        assert change.effect is SettingEffect.DYNAMIC
        assert not judge_licence(change).reasons


def test_before_8_security_that_nobody_configured_comes_with_a_paid_licence() -> None:
    change = licence_change(BASIC, GOLD, {}, {}, 7)
    assert (change.was, change.becomes) == (Protection(False, False), Protection(True, False))
    assert [each.code for each in judge_licence(change).reasons] == ["licence_needs_tls"]
    with_tls = licence_change(BASIC, GOLD, {}, {TLS: "true"}, 7)
    assert with_tls.effect is SettingEffect.COORDINATED
    assert licence_change(BASIC, TRIAL, {}, {}, 7).effect is SettingEffect.DYNAMIC
    assert licence_change(BASIC, GOLD, {TLS: "true"}, {TLS: "true"}, 8).effect is SettingEffect.DYNAMIC


def test_a_trial_can_begin_without_tls() -> None:
    change = licence_change(BASIC, TRIAL, OFF, {SECURITY: "true"}, 8)
    assert (change.effect, change.restarts_first) == (SettingEffect.COORDINATED, False)
    assert [each.code for each in judge_licence(change).reasons] == ["licence_switches_security"]


@given(LICENCES, LICENCES, CONFIGURATIONS, CONFIGURATIONS, st.sampled_from([7, 8, 9]))
def test_a_restart_of_all_is_planned_exactly_if_the_protection_changes_and_in_both_directions(
    before: Licence, after: Licence, current: dict[str, str], wanted: dict[str, str], major: int
) -> None:
    ends = ((before, current), (after, wanted))
    there, back = (
        licence_change(since, then, old, new, major) for (since, old), (then, new) in (ends, tuple(reversed(ends)))
    )
    same = protection(current, before, major) == protection(wanted, after, major)
    assert there.effect is back.effect is (SettingEffect.DYNAMIC if same else SettingEffect.COORDINATED)
    assert bool(there.switches()) is not same
    assert not (there.becomes.tls and wanted.get(SECURITY) == "false")


def test_the_table_of_settings_says_the_same_of_the_switches_themselves() -> None:
    assert changes_between(OFF, ON).strongest is SettingEffect.COORDINATED
