"""The parts of a run in their order, and the hosts that are lined up."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.order import (
    GROUP,
    ORDER,
    RunFacts,
    RunStage,
    hop_with,
    is_reserved,
    lined_up,
    not_begun,
    parts,
    sizes,
    unconsented,
)
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[5]
PLANNED = RunFacts(planned=True, agreeable=True, batches=True, asks=True)
OTHERS = ("refused", "waits", "checks")
"""The facts of a run that has another end."""
EVERYTHING = replace(PLANNED, **{each.name: True for each in fields(RunFacts) if each.name not in OTHERS})
STANDINGS = st.builds(RunFacts, **{each.name: st.booleans() for each in fields(RunFacts)})
PLAN: dict[str, Any] = {
    "batches": [
        {"name": "batch-01", "members": ["data-0", "data-1"], "pools": ["data"], "reason": "serial", "proof": "green"},
        {"name": "batch-02", "members": ["main-0"], "pools": ["main"], "reason": "serial", "proof": "green"},
    ],
    "pools": [{"name": "data"}, {"name": "main"}],
}
PLACES = {"data-0": "a", "data-1": "b", "main-0": "c"}


def order(run: RunFacts) -> list[list[str]]:
    """The parts of a run that acts, by stage."""
    return [parts(stage, run) for stage in RunStage if stage is not RunStage.TO_SHOW]


def test_an_ordinary_run_has_no_part_that_does_nothing() -> None:
    put_back = ["prove.yml", "put_back.yml"]
    assert order(PLANNED) == [[], ["confirm.yml", "locked.yml"], ["line_up.yml"], put_back, ["end.yml"]]


def test_a_run_with_everything_has_all_parts_but_those_of_another_end() -> None:
    files = {name for stage in order(replace(EVERYTHING, passed_over=False, stopped=False)) for name in stage}
    acting = {name for stage, chosen in ORDER.items() if stage is not RunStage.TO_SHOW for name, _due in chosen}
    assert acting - files == {"waiting.yml", "refuse.yml", "give.yml"}


def test_a_plan_that_is_only_made_is_given_to_the_caller() -> None:
    assert parts(RunStage.TO_SHOW, PLANNED) == ["give.yml"]
    assert parts(RunStage.TO_SHOW, replace(PLANNED, waits=True)) == ["give.yml", "would_wait.yml"]
    assert parts(RunStage.TO_SHOW, replace(PLANNED, agreeable=False, waits=True)) == ["no_plan.yml"]
    assert parts(RunStage.TO_LOCK, replace(PLANNED, checks=True)) == ["give.yml", "locked.yml"]


@given(STANDINGS, st.sampled_from([RunStage.TO_SHOW, RunStage.TO_LOCK, RunStage.TO_LINE_UP]))
def test_nothing_comes_after_a_plan_that_is_refused(run: RunFacts, stage: RunStage) -> None:
    assert parts(stage, replace(run, refused=True)) == ["refuse.yml"]


def test_a_pass_that_waits_neither_takes_the_lock_nor_ends_a_run() -> None:
    assert parts(RunStage.TO_LOCK, replace(EVERYTHING, waits=True)) == ["waiting.yml"]
    waited = replace(EVERYTHING, waits=True, passed_over=True)
    assert [parts(stage, waited) for stage in (RunStage.TO_PUT_BACK, RunStage.TO_END)] == [[], []]


def test_a_play_without_a_plan_is_refused_at_its_end() -> None:
    assert [parts(stage, RunFacts()) for stage in (RunStage.TO_PUT_BACK, RunStage.TO_END)] == [["refuse.yml"], []]


def test_steps_after_the_last_batch_are_due_if_an_earlier_run_has_begun_one() -> None:
    left = replace(PLANNED, batches=False, commenced=True, steps_after=True)
    assert parts(RunStage.TO_END, left) == ["steps.yml", "end.yml"]
    own = replace(left, own_tasks_after=True)
    assert parts(RunStage.TO_END, own) == ["steps.yml", "own_tasks.yml", "end.yml"]
    assert parts(RunStage.TO_END, replace(left, commenced=False)) == ["end.yml"]


@given(STANDINGS)
def test_check_mode_asks_nobody_and_takes_no_task_of_the_user(run: RunFacts) -> None:
    checked = {name for stage in order(replace(run, checks=True)) for name in stage}
    assert not checked & {"confirm.yml", "supersede.yml", "await.yml", "steps.yml", "own_tasks.yml"}


@given(STANDINGS)
def test_the_whole_is_proven_before_all_is_put_back_unless_the_run_has_stopped(run: RunFacts) -> None:
    chosen = parts(RunStage.TO_PUT_BACK, run)
    assert ("prove.yml" in chosen) == (run.ends and not run.stopped and not run.checks)
    assert chosen in ([], ["refuse.yml"], ["put_back.yml"], ["prove.yml", "put_back.yml"])


@given(STANDINGS)
def test_everything_is_put_back_and_told_by_every_run_that_has_taken_the_lock(run: RunFacts) -> None:
    locks = "locked.yml" in parts(RunStage.TO_LOCK, run) and run.planned and not run.passed_over
    ends = parts(RunStage.TO_PUT_BACK, run)[-1:] == ["put_back.yml"] and parts(RunStage.TO_END, run)[-1:] == ["end.yml"]
    assert ends or not locks


def test_each_part_is_a_task_file_of_its_role() -> None:
    for stage, chosen in ORDER.items():
        role = "finish" if stage in (RunStage.TO_PUT_BACK, RunStage.TO_END) else "begin"
        for name, _due in chosen:
            assert (ROOT / "roles" / role / "tasks" / name).is_file(), name


def test_each_batch_is_a_host() -> None:
    first, _second = lined_up(PLAN, {}, 100)
    assert (first["name"], first["of"], first["local"], first["deadline"]) == ("batch-01", "batch-01", True, 100)
    assert first["label"] == "batch-01: serial; green"
    assert "places" not in first
    assert sizes(PLAN, {}) == [1, 1]


def test_a_batch_is_no_host_of_the_inventory() -> None:
    taken = {"a", "b", "c", "batch-02", "upgrade-batch-02"}
    hosts = lined_up(PLAN, PLACES, 100, taken=taken)
    assert [(each["name"], each["of"]) for each in hosts if each["local"]] == [
        ("batch-01", "batch-01"),
        ("upgrade-upgrade-batch-02", "upgrade-upgrade-batch-02"),
    ]
    assert [each["of"] for each in hosts if each["name"] == "c"] == ["upgrade-upgrade-batch-02"]
    assert hosts[-2]["batch"]["name"] == "batch-02"


def test_hosts_of_members_follow_their_batch() -> None:
    hosts = lined_up(PLAN, PLACES, 100)
    assert [(each["name"], each["of"], each["local"]) for each in hosts] == [
        ("batch-01", "batch-01", True),
        ("a", "batch-01", False),
        ("b", "batch-01", False),
        ("batch-02", "batch-02", True),
        ("c", "batch-02", False),
    ]
    assert [each["places"] for each in hosts if each["local"]] == [PLACES, PLACES]
    assert not any("batch" in each for each in hosts if not each["local"])
    assert sizes(PLAN, PLACES) == [3, 2]


def test_each_version_of_a_chain_has_a_play_of_its_own_where_members_are_on_hosts() -> None:
    """A host is in a play once."""
    first, second = PLAN["batches"]
    on_the_way = [{**each, "target_version": "1.35.4"} for each in (first, second)]
    again = [{**first, "name": "batch-03"}, {**second, "name": "batch-04"}]
    plan = {**PLAN, "target_version": "1.36.1", "batches": [*on_the_way, *again]}
    for number, names, groups, version in (
        (1, ["batch-01", "a", "b", "batch-02", "c"], [GROUP], "1.35.4"),
        (2, ["batch-03", "a", "b", "batch-04", "c"], [GROUP, f"{GROUP}_2"], "1.36.1"),
    ):
        hosts = lined_up(plan, PLACES, 100, number)
        assert [each["name"] for each in hosts] == names
        assert all((each["groups"], each["version"]) == (groups, version) for each in hosts)
        assert sizes(plan, PLACES, number) == [3, 2]
    assert lined_up(plan, PLACES, 100, 3) == []
    assert [each["name"] for each in lined_up(plan, {}, 100)] == ["batch-01", "batch-02", "batch-03", "batch-04"]
    assert hop_with(plan["batches"], again[1]).number == 2
    assert hop_with([], first).batches == [first]


@pytest.mark.parametrize(
    ("group", "reserved"), [(GROUP, True), (f"{GROUP}_2", True), (f"{GROUP}_two", False), ("workers", False)]
)
def test_the_names_of_groups_that_runs_make_are_reserved(group: str, reserved: bool) -> None:
    assert is_reserved(group) is reserved


@pytest.mark.parametrize(("consent", "answer"), [("abc", ""), ("", "yes"), ("", " YES "), ("abc", "no")])
def test_consent_is_the_digest_or_a_yes(consent: str, answer: str) -> None:
    assert unconsented("abc", consent, answer) == {}


@pytest.mark.parametrize(
    ("consent", "answer", "calmly", "says"),
    [
        ("", "", False, "The plan abc was not confirmed, so nothing was done. Look at the plan above"),
        ("", "no", True, "Nothing was done: plan abc was not confirmed."),
        ("old", "", False, "upgrade_confirm names the plan old, and the plan is abc, so nothing was done."),
        ("old", "yes", False, "upgrade_confirm names the plan old"),
    ],
)
def test_without_consent_the_plan_is_refused(consent: str, answer: str, calmly: bool, says: str) -> None:
    refused = unconsented("abc", consent, answer)
    assert refused["msg"].startswith(says)
    assert refused["calmly"] is calmly
    assert not_begun(refused)["codes"] == ["not_confirmed"]


WAITS = {"state": "waiting", "code": "start_delayed", "message": "It is Sunday.", "remedy": "Run again on Monday."}


def test_a_plan_that_waits_says_for_what() -> None:
    remark = {"state": "passed", "code": "old", "message": "It is old.", "remedy": ""}
    end = not_begun({"verdict": {"state": "waiting", "reasons": [WAITS, remark, WAITS]}})
    assert (end["state"], end["cause"], end["codes"]) == ("delayed", "It is Sunday.", ["start_delayed"])
    assert end["sentences"] == ["It is Sunday. Run again on Monday."]
    assert end["statistics"] == {
        **{"upgrade_state": "waiting", "upgrade_waiting_for": ["It is Sunday."], "upgrade_reasons": ["start_delayed"]},
    }


def test_a_notice_before_the_start_has_what_an_early_look_has_found_and_one_of_a_delay_stays_as_it_is() -> None:
    gone = {"state": "refused", "code": "gone", "message": "A member is gone.", "remedy": ""}
    later = {"state": "waiting", "code": "starts_later", "message": "It starts later.", "remedy": ""}
    end = not_begun({"verdict": {"state": "waiting", "reasons": [later]}, "to_fix": [gone]})
    assert (end["state"], end["codes"]) == ("waiting", ["starts_later", "gone"])
    assert end["cause"] == "It starts later. To be fixed before the start: A member is gone."
    assert end["statistics"]["upgrade_reasons"] == ["starts_later", "gone"]
    found = "To be fixed before the start: A member is gone."
    assert end["statistics"]["upgrade_waiting_for"] == ["It starts later.", found]
    late = not_begun({"verdict": {"state": "waiting", "reasons": [WAITS]}, "to_fix": [gone]})
    assert (late["cause"], late["codes"]) == ("It is Sunday.", ["start_delayed"])


def test_a_window_that_is_over_is_a_failure() -> None:
    over = {"state": "refused", "code": "window_over", "message": "It is over.", "remedy": ""}
    end = not_begun({"msg": "It is over.", "verdict": {"state": "refused", "reasons": [over]}})
    assert (end["state"], end["codes"], end["statistics"]["upgrade_state"]) == ("failed", ["window_over"], "refused")


def test_a_refusal_names_only_the_codes_that_refuse() -> None:
    refusing = {"state": "refused", "code": "disk_full", "message": "The disk is full.", "remedy": ""}
    end = not_begun({"msg": "The disk is full.", "verdict": {"state": "refused", "reasons": [WAITS, refusing]}})
    assert (end["state"], end["cause"], end["codes"]) == ("refused", "The disk is full.", ["disk_full"])
    assert end["statistics"]["upgrade_waiting_for"] == []
    assert not_begun({"msg": "It has failed."})["statistics"] == {
        **{"upgrade_state": "refused", "upgrade_waiting_for": [], "upgrade_reasons": []},
        "upgrade_cause": "It has failed.",
    }
