"""The order of a run, from the variables of localhost."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.order_of_run import OrderOfRun

BATCH = {"name": "batch-01", "members": ["data-0"], "pools": ["data"], "reason": "serial", "proof": "green"}
PLAN: dict[str, Any] = {
    "batches": [BATCH],
    "pools": [],
    "digest": "abc",
    "lock": {"name": "search"},
    "verdict": {"state": "passed", "reasons": []},
}


def asked(question: str, about: Any = None, **variables: Any) -> Any:
    """The answer, for a run with a plan and these variables, at second 100."""
    whole = {"begin_plan": PLAN, "groups": {}, "upgrade_system": "stateful.upgrade.opensearch", **variables}
    return OrderOfRun(whole.get, whole, clock=lambda: 100.0).asked(question, about)


def test_consent_beforehand_spares_the_question() -> None:
    assert asked("to_lock") == ["confirm.yml", "locked.yml"]
    assert asked("to_lock", upgrade_confirm="abc") == ["locked.yml"]
    assert asked("to_lock", ansible_check_mode=True) == ["give.yml", "locked.yml"]
    assert asked("to_lock", begin_plan={**PLAN, "batches": []}) == ["locked.yml"]
    assert asked("to_lock", begin_plan={**PLAN, "batches": [], "asks_without_batches": True}) == [
        "confirm.yml",
        "locked.yml",
    ]


@pytest.mark.parametrize("value", ["", False, "false", None])
def test_an_answer_of_a_survey_that_is_empty_is_none(value: Any) -> None:
    assert asked("to_plan", upgrade_supersede=value, upgrade_groups="") == []
    assert asked("to_plan", upgrade_supersede="true", upgrade_groups="members") == ["supersede.yml"]


def test_a_request_that_waits_for_its_turn_waits_before_the_plan() -> None:
    request = {"source": "upgradetask/next", "awaits": True}
    assert asked("to_plan", begin_request=request) == ["await.yml"]
    assert asked("to_plan", begin_request=request, upgrade_supersede="true") == ["supersede.yml", "await.yml"]
    assert asked("to_plan", begin_request={**request, "awaits": False}) == []


def test_a_request_and_a_webhook_get_notices() -> None:
    assert asked("to_line_up") == ["line_up.yml"]
    assert asked("to_line_up", upgrade_webhook="https://hook") == ["notice.yml", "line_up.yml"]
    assert asked("to_line_up", begin_request={"source": "file"}) == ["notice.yml", "line_up.yml"]


def test_no_batch_is_lined_up_after_a_step_that_has_failed_or_waits() -> None:
    assert [each["name"] for each in asked("hosts", upgrade_run_timeout="50")] == ["batch-01"]
    assert asked("hosts", upgrade_run_timeout="50")[0]["deadline"] == 150
    assert asked("hosts", roll_failure={"message": "It has failed."}) == []
    assert asked("hosts", steps_waiting=[{"message": "It waits."}]) == []


HOSTS: dict[str, Any] = {
    "groups": {"data": ["h1", "h2"], "managers": ["h3"]},
    "hostvars": {
        "h1": {"upgrade_member": "data-0", "begin_reached": {"ping": "pong"}},
        "h2": {"upgrade_member": "data-1", "begin_reached": {"unreachable": True, "msg": "Connection refused"}},
        "h3": {"upgrade_member": "h3", "begin_reached": {}},
    },
    "upgrade_groups": "data, managers",
    "upgrade_confirm": "abc",
}


def test_only_hosts_whose_members_go_down_have_to_be_reached() -> None:
    assert asked("to_lock", **HOSTS) == ["locked.yml"]
    assert [each["name"] for each in asked("hosts", **HOSTS)] == ["batch-01", "h1"]
    lost = {**HOSTS, "begin_plan": {**PLAN, "batches": [{**BATCH, "members": ["data-0", "data-1"]}]}}
    assert asked("to_lock", **lost) == ["lost_hosts.yml", "locked.yml"]
    end = asked("lost", **lost)
    assert (
        end["cause"]
        == end["statistics"]["upgrade_cause"]
        == (
            "Nothing was begun, since members would be taken down on hosts that cannot be reached or seen: "
            "h2: Connection refused. Fix the connection, or what has failed there, and run again."
        )
    )
    assert (end["codes"], end["statistics"]["upgrade_state"]) == (["hosts_unreachable"], "refused")


def test_with_a_configuration_the_plan_has_to_see_every_host_of_a_chosen_member() -> None:
    """A plan without a batch says that all have their configuration, also the member of a host that is not seen."""
    noted = {"member_configuration": {"present": "a", "wanted": "a"}}
    seen = {**HOSTS, "hostvars": {**HOSTS["hostvars"], "h1": {**HOSTS["hostvars"]["h1"], **noted}}}
    for plan in (PLAN, {**PLAN, "batches": []}):
        for stage in ("to_lock", "to_show"):
            assert "lost_hosts.yml" in asked(stage, **{**seen, "begin_plan": plan})
            assert "lost_hosts.yml" not in asked(stage, **{**HOSTS, "begin_plan": plan})
    # The host that can be reached and has none, h3, is one that gets none.
    assert "cannot be reached or seen: h2: Connection refused." in asked("lost", **seen)["cause"]
    assert asked("to_lock", **seen, upgrade_members=["data-0"]) == ["locked.yml"]
    assert "lost_hosts.yml" in asked("to_lock", **seen, upgrade_members="data-0, data-1")


def test_a_host_of_the_inventory_with_the_name_of_a_batch_is_not_taken_for_it() -> None:
    inventory = {**HOSTS, "groups": {**HOSTS["groups"], "all": ["h1", "h2", "h3", "batch-01"]}}
    assert [each["name"] for each in asked("hosts", **inventory)] == ["upgrade-batch-01", "h1"]


def looked_at(**notes: Any) -> dict[str, Any]:
    """The variables of a run with three hosts that can be reached; `notes` are their own notes of the look."""
    there = {host: {**each, "begin_reached": {"ping": "pong"}} for host, each in HOSTS["hostvars"].items()}
    return {**HOSTS, "hostvars": {host: {**each, **notes[host]} for host, each in there.items()}}


def test_a_host_whose_look_has_failed_or_was_cut_off_is_refused_like_one_that_cannot_be_reached() -> None:
    seen: dict[str, Any] = {"begin_unseen": ""}
    assert asked("to_lock", **looked_at(h1=seen, h2=seen, h3=seen)) == ["locked.yml"]
    failed = looked_at(h1={"begin_unseen": "See the file: permission denied."}, h2=seen, h3={})
    assert asked("to_lock", **failed) == ["lost_hosts.yml", "locked.yml"]
    assert "reached or seen: h1: See the file: permission denied. Fix" in asked("lost", **failed)["cause"]
    cut_off = looked_at(h1={}, h2=seen, h3={})
    assert "reached or seen: h1: its connection was lost, or a task has failed" in asked("lost", **cut_off)["cause"]
    assert asked("to_lock", **looked_at(h1=seen, h2={}, h3={})) == ["locked.yml"], "the plan takes h1 down alone"
    # Its configuration is not known, so that the plan without it says nothing.
    noted = {**seen, "member_configuration": {"present": "a", "wanted": "a"}}
    failed = looked_at(h1=noted, h2={"begin_unseen": "See the file: permission denied."}, h3=seen)
    for plan in (PLAN, {**PLAN, "batches": []}):
        assert "lost_hosts.yml" in asked("to_lock", **{**failed, "begin_plan": plan})


def test_capacity_stays_until_the_upgrade_is_completed() -> None:
    assert asked("keeps_capacity") is False
    assert asked("keeps_capacity", begin_plan={**PLAN, "adds": ["one member more"]}) is True
    assert asked("keeps_capacity", steps_waiting=[{"message": "It waits."}]) is True
    assert asked("keeps_capacity", opensearch_gate={"msg": "It is red."}) is True


def test_own_tasks_after_the_last_batch_come_at_a_good_end_of_an_upgrade() -> None:
    own = {"upgrade_tasks_after": "a.yml, b.yml"}
    assert asked("own_tasks_after", **own) == ["a.yml", "b.yml"]
    assert asked("own_tasks_after", **own, roll_failure={"batch": "b", "task": "t", "message": "It has failed."}) == []
    done = {**own, "begin_plan": {**PLAN, "batches": []}}
    record = {"name": "search", "phase": "Upgrading"}
    assert asked("own_tasks_after", **done) == []
    assert asked("own_tasks_after", **done, finish_known={"records": [record]}) == ["a.yml", "b.yml"]
    assert asked("own_tasks_after", **done, finish_known={"records": [{**record, "name": "other"}]}) == []
    assert asked("own_tasks_after", **done, finish_known={"records": [{**record, "phase": "Completed"}]}) == []
    # The record could not be asked, and the end of this run makes the upgrade Completed.
    assert asked("own_tasks_after", **done, finish_known={"msg": "No answer."}) == ["a.yml", "b.yml"]
    # The lock of this run is shown, and there is no record: no earlier run has left anything.
    assert asked("own_tasks_after", **done, finish_known={"records": [{"name": "search", "lock": {}}]}) == []


def test_nobody_has_agreed_to_the_plan() -> None:
    assert asked("unconsented", "yes") == {}
    assert asked("unconsented", "")["verdict"]["reasons"][0]["code"] == "not_confirmed"
    assert asked("unconsented", "", upgrade_confirm="abc") == {}


@pytest.mark.parametrize(
    ("batches", "confirm", "said"),
    [
        ([BATCH], "", "The plan p1 was not confirmed. Without -e upgrade_confirm=p1 no run starts it, unless someone"),
        ([BATCH], "p2", "upgrade_confirm names the plan p2, and the plan is p1. Without -e upgrade_confirm=p1 no run"),
        ([BATCH], "p1", ""),
        ([], "", ""),
    ],
)
def test_a_plan_that_waits_says_whether_a_later_run_may_start_it(batches: list[Any], confirm: str, said: str) -> None:
    later = {"code": "starts_later", "state": "waiting", "message": "It starts at two.", "remedy": ""}
    plan = {"digest": "p1", "batches": batches, "verdict": {"state": "waiting", "reasons": [later]}}
    first, *more = asked("not_begun", begin_plan=plan, upgrade_confirm=confirm)["sentences"]
    assert first == "It starts at two."
    assert [each[: len(said)] for each in more] == ([said] if said else [])
    refused = {
        "verdict": {"state": "refused", "reasons": [{**later, "state": "refused", "message": "An alert fires."}]}
    }
    ended = asked("not_begun", begin_plan=plan, upgrade_confirm=confirm, begin_refused=refused)
    assert not [each for each in ended["sentences"] if "upgrade_confirm" in each]


def test_the_last_batch_that_has_begun_says_for_what_the_pass_has_waited() -> None:
    waits = {"code": "shards_moving", "state": "waiting", "message": "Shards move.", "remedy": ""}
    waiting = {"failed": False, "verdict": {"state": "waiting", "reasons": [waits]}}
    hosts: dict[str, Any] = {
        "batch-01": {"upgrade_batch": BATCH, "upgrade_batch_host": "batch-01", "roll_recorded": {"failed": False}},
        "batch-02": {
            "upgrade_batch": {**BATCH, "name": "batch-02"},
            "opensearch_roll_before": waiting,
            "upgrade_wait": False,
        },
        "batch-03": {"upgrade_batch": {**BATCH, "name": "batch-03"}},
    }
    play = {"groups": {"stateful_upgrade_batches": [*hosts]}, "hostvars": hosts}
    assert [asked(question, **play) for question in ("waits", "stopped", "keeps_silences")] == [True, True, True]
    assert asked("to_put_back", **play) == ["put_back.yml"]
    assert asked("keeps_silences", **play, roll_failure={"message": "It has failed."}) is False
    done = {**play, "hostvars": {**hosts, "batch-02": {**hosts["batch-02"], "upgrade_wait": True}}}
    assert [asked(question, **done) for question in ("waits", "stopped")] == [False, False]
    assert asked("to_put_back", **done) == ["prove.yml", "put_back.yml"]
    # A person may end a pause only days later, so nothing stays until then.
    by_person = {**waiting, "verdict": {"state": "waiting", "reasons": [{**waits, "code": "paused_on_request"}]}}
    paused = {**play, "hostvars": {**hosts, "batch-02": {**hosts["batch-02"], "opensearch_roll_before": by_person}}}
    assert [asked(question, **paused) for question in ("waits", "stopped")] == [False, True]
