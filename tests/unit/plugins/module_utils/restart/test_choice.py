"""The effect of a run: the least that is enough for each member, all refusals at once, and one line for a setting."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.choice import (
    ChosenRestart,
    Course,
    PoolToRestart,
    RunBy,
    chosen_restart,
    lines_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.pod_spec import Mounted
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import SettingEffect
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.settings_table import (
    SettingChanges,
    changes_between,
)
from hypothesis import given
from hypothesis import strategies as st

ROLLING, DYNAMIC, POD, TOGETHER, NEVER = (
    "node.attr.rack",
    "cluster.max_shards_per_node",
    "http.port",
    "cluster.name",
    "path.data",
)
NAMES = frozenset({"data-0", "data-1", "data-2"})


VALUE = "a value"
BY_SUB_PATH = Mounted("", "by subPath", new_pod_reads=True)


def changes(*names: str, value: str = VALUE) -> SettingChanges:
    return changes_between({}, dict.fromkeys(names, value))


def asked(pool: str = "data", *settings: str, **more: object) -> PoolToRestart:
    """A pool of three, all of whose members get these settings."""
    members = frozenset(f"{pool}-{number}" for number in range(3))
    found = dict.fromkeys(sorted(members), changes(*settings)) if settings else {}
    base = PoolToRestart(pool, members, members if settings else frozenset(), changes=found)
    return replace(base, **more)  # type: ignore[arg-type]


def codes(choice: ChosenRestart) -> dict[str, str]:
    return {reason.code: reason.state.value for reason in choice.verdict.reasons}


@pytest.mark.parametrize(
    ("settings", "by", "course", "due", "replaced"),
    [
        ((), RunBy.AUTO, Course.NOTHING, 0, 0),
        ((ROLLING,), RunBy.AUTO, Course.ROLLING, 3, 0),
        ((ROLLING, DYNAMIC), RunBy.AUTO, Course.ROLLING, 3, 0),
        ((DYNAMIC,), RunBy.AUTO, Course.DYNAMIC, 0, 0),
        ((DYNAMIC,), RunBy.PROCESS, Course.ROLLING, 3, 0),
        ((DYNAMIC,), RunBy.POD, Course.REPLACED, 3, 3),
        ((POD, ROLLING), RunBy.AUTO, Course.REPLACED, 3, 3),
        ((ROLLING,), RunBy.POD, Course.REPLACED, 3, 3),
        ((TOGETHER, ROLLING), RunBy.AUTO, Course.COORDINATED, 3, 0),
        ((TOGETHER,), RunBy.PROCESS, Course.COORDINATED, 3, 0),
    ],
)
def test_each_change_gets_the_least_that_is_enough(
    settings: tuple[str, ...], by: RunBy, course: Course, due: int, replaced: int
) -> None:
    choice = chosen_restart([asked("data", *settings)], by)
    assert (choice.course, len(choice.due), len(choice.replaced)) == (course, due, replaced)
    assert choice.verdict.passed


@pytest.mark.parametrize(
    ("settings", "by", "code"),
    [
        ((NEVER,), RunBy.AUTO, "setting_never"),
        ((POD,), RunBy.PROCESS, "setting_needs_new_pod"),
        ((TOGETHER,), RunBy.POD, "restart_together_by_pods"),
        ((TOGETHER, POD), RunBy.AUTO, "settings_need_two_ways"),
    ],
)
def test_a_change_that_the_demand_does_not_allow_is_refused(settings: tuple[str, ...], by: RunBy, code: str) -> None:
    choice = chosen_restart([asked("data", *settings)], by)
    assert codes(choice)[code] == "refused"


def test_all_refusals_come_at_once() -> None:
    choice = chosen_restart(
        [asked("data", POD, NEVER), asked("warm", ROLLING, mounted=Mounted("", "no volume"))], RunBy.PROCESS
    )
    refused = [code for code, state in codes(choice).items() if state == "refused"]
    assert sorted(refused) == ["configuration_needs_new_pod", "setting_needs_new_pod", "setting_never"]


def test_two_ways_in_two_pools_are_refused() -> None:
    assert "settings_need_two_ways" in codes(chosen_restart([asked("data", TOGETHER), asked("warm", POD)], RunBy.AUTO))


def test_a_person_or_a_licence_may_want_all_at_once() -> None:
    one = asked("data", due=frozenset({"data-1"}), marked=frozenset({"data-1"}))
    marked = chosen_restart([one], RunBy.AUTO, together=["the phase of data-1"])
    licence = chosen_restart([asked()], RunBy.AUTO, everywhere=["the licence"])
    assert (marked.course, marked.due) == (Course.COORDINATED, frozenset({"data-1"}))
    assert (licence.course, licence.due) == (Course.COORDINATED, NAMES)
    both = chosen_restart([asked("data", POD)], RunBy.AUTO, everywhere=["the licence"])
    assert codes(both)["settings_need_two_ways"] == "refused"


def test_a_setting_that_members_have_to_agree_on_takes_all_with_it_and_may_not_differ() -> None:
    other = asked("warm")
    choice = chosen_restart([asked("data", TOGETHER), other], RunBy.AUTO)
    assert choice.due == NAMES | other.members
    differing = dict(zip(sorted(NAMES), (changes(TOGETHER, value=each) for each in "aab"), strict=True))
    refused = chosen_restart([asked("data", TOGETHER, changes=differing)], RunBy.AUTO)
    assert codes(refused)["setting_differs"] == "refused"


def test_a_mount_that_follows_nothing_takes_new_pods_and_only_where_something_changes() -> None:
    choice = chosen_restart(
        [asked("data", ROLLING, mounted=BY_SUB_PATH), asked("warm", mounted=BY_SUB_PATH)], RunBy.AUTO
    )
    assert choice.replaced == NAMES
    assert [each.message.partition(":")[0] for each in choice.verdict.reasons] == [
        "A new configuration of pool data needs new pods"
    ]
    assert codes(chosen_restart([asked("data", ROLLING, mounted=BY_SUB_PATH)], RunBy.PROCESS)) == {
        "configuration_needs_new_pod": "refused"
    }
    assert (
        codes(chosen_restart([asked("data", TOGETHER, mounted=BY_SUB_PATH)], RunBy.AUTO))["configuration_needs_new_pod"]
        == "refused"
    )


def test_pods_of_an_older_template_are_replaced_unless_pods_are_to_stay() -> None:
    old = asked("data", due=NAMES, marked=NAMES, outdated=frozenset({"data-1"}))
    choice = chosen_restart([old], RunBy.AUTO)
    assert (choice.course, choice.replaced) == (Course.REPLACED, frozenset({"data-1"}))
    assert [choice.by(batch) for batch in (["data-0"], ["data-1"], ["data-0", "data-1"])] == ["process", "pod", "pod"]
    stays = chosen_restart([old], RunBy.PROCESS)
    assert (stays.course, codes(stays)) == (Course.ROLLING, {"template_kept": "passed"})


def test_new_pods_that_may_run_another_version_are_refused() -> None:
    unknown = asked("data", POD, same_version=False)
    assert codes(chosen_restart([unknown], RunBy.AUTO)) == {"replacing_changes_version": "refused"}
    assert codes(chosen_restart([replace(unknown, changes={}, marked=NAMES)], RunBy.AUTO)) == {}


def test_a_marked_member_restarts_although_all_its_changes_are_dynamic() -> None:
    choice = chosen_restart([asked("data", DYNAMIC, marked=frozenset({"data-0"}))], RunBy.AUTO)
    assert (choice.course, choice.due) == (Course.ROLLING, frozenset({"data-0"}))
    assert codes(choice) == {"settings_dynamic": "passed"}


def test_a_thousand_members_with_one_change_are_one_line() -> None:
    names = [f"data-{number}" for number in range(1000)]
    same = dict.fromkeys(names, changes(ROLLING))
    pool = PoolToRestart("data", frozenset(names), frozenset(names), changes=same)
    (line,) = chosen_restart([pool, asked("warm", ROLLING)], RunBy.AUTO).lines
    assert (line.sentence, line.whose) == (f"{ROLLING} is set", "pools data, warm")
    part = replace(pool, changes={**same, "data-0": changes(ROLLING, POD)})
    assert [(each.name, each.whose) for each in lines_of([part])] == [(POD, "data-0"), (ROLLING, "pool data")]


def test_the_plan_tells_the_way_of_the_run_and_the_need_of_each_setting() -> None:
    usual = chosen_restart([asked("data", ROLLING)], RunBy.AUTO)
    assert usual.details() == [
        "node.attr.rack is set for pool data, which needs a restart of each process: each member reads it when it"
        " starts"
    ]
    old = asked("data", ROLLING, outdated=frozenset({"data-1"}))
    assert chosen_restart([old], RunBy.AUTO).details()[0] == (
        "1 pod is replaced; the processes of the others restart in their pods."
    )
    assert chosen_restart([asked("data", POD)], RunBy.AUTO).details()[0] == "3 pods are replaced."
    assert chosen_restart([asked("data", DYNAMIC)], RunBy.AUTO).details()[0].startswith("Nothing restarts")
    assert chosen_restart([asked("data", TOGETHER)], RunBy.AUTO).details()[0].startswith("All processes stop")
    assert chosen_restart([asked()], RunBy.AUTO).details() == []


def test_no_line_has_a_value() -> None:
    assert VALUE not in str(chosen_restart([asked("data", ROLLING, POD, TOGETHER)], RunBy.PROCESS))
    assert VALUE not in str(chosen_restart([asked("data", ROLLING, POD)], RunBy.AUTO).as_result())


SETTINGS = st.sets(st.sampled_from([ROLLING, DYNAMIC, POD, TOGETHER]), max_size=3)
POOLS = st.builds(
    lambda pool, settings, mounted, outdated, version: asked(
        pool, *sorted(settings), mounted=mounted, outdated=outdated, same_version=version
    ),
    st.just("data"),
    SETTINGS,
    st.sampled_from([Mounted("/configuration"), BY_SUB_PATH]),
    st.sets(st.sampled_from(sorted(NAMES))).map(frozenset),
    st.booleans(),
)


@given(POOLS, st.sampled_from(RunBy))
def test_no_choice_that_passes_leaves_a_need_unmet(pool: PoolToRestart, by: RunBy) -> None:
    """The rules written from the definition: each setting of a member that goes gets its effect or more."""
    choice = chosen_restart([pool], by)
    if not choice.verdict.passed:
        return
    assert choice.replaced <= choice.due <= pool.members
    assert choice.due or choice.course in (Course.NOTHING, Course.DYNAMIC)
    for name, found in pool.changes.items():
        ways = {each.way for each in found.changes}
        if SettingEffect.NEW_POD in ways or pool.mounted.cause:
            assert name in choice.replaced or (name not in choice.due and ways == {SettingEffect.DYNAMIC})
        if SettingEffect.COORDINATED in ways:
            assert choice.course is Course.COORDINATED
            assert choice.due == pool.members
        if ways - {SettingEffect.DYNAMIC}:
            assert name in choice.due
    assert not (choice.replaced and choice.course is Course.COORDINATED)
    assert by is not RunBy.PROCESS or not choice.replaced
    assert by is not RunBy.POD or choice.replaced == choice.due
    assert pool.same_version or not choice.replaced
