"""The end of a run is judged once: the same failures, waits and codes for the record, the notice and people."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.end import NOTICES, End, RunResults
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import ENDINGS, Deed, UpgradeEvent

Json = dict[str, Any]
STOPPED: Json = {"batch": "batch-02", "task": "Prove it", "message": "The API is away.", "codes": ["unreachable"]}
ASKED: Json = {**STOPPED, "message": "A person asked it to stop.", "codes": ["stopped_by_request"]}


def reason(state: str, code: str, remedy: str = "") -> Json:
    return {"state": state, "code": code, "message": f"It says {code}.", "remedy": remedy}


def result(*reasons: Json, **more: Any) -> Json:
    return {"verdict": {"reasons": list(reasons)}, **more}


LATE, LEFT = reason("waiting", "late"), reason("passed", "left", "Look at it.")
REFUSED: Json = result(reason("refused", "denied"), msg="It may not.", actions=[{"action": "put_back"}])


@pytest.mark.parametrize(
    ("found", "event", "state", "statistics"),
    [
        (RunResults(), UpgradeEvent.COMPLETED, "completed", "done"),
        (RunResults(put_back=[result(LEFT)]), UpgradeEvent.COMPLETED, "completed", "done"),
        (RunResults(waiting=[LATE]), UpgradeEvent.PAUSED, "paused", "waiting"),
        (RunResults(gate=result(LATE)), UpgradeEvent.PAUSED, "paused", "waiting"),
        (RunResults(put_back=[result(LATE)]), UpgradeEvent.PAUSED, "paused", "waiting"),
        (RunResults(failure=STOPPED), UpgradeEvent.STOPPED, "failed", "refused"),
        (RunResults(failure=STOPPED, waiting=[LATE]), UpgradeEvent.STOPPED, "failed", "refused"),
        (RunResults(gate={**REFUSED}), UpgradeEvent.STOPPED, "failed", "refused"),
        (RunResults(put_back=[REFUSED]), UpgradeEvent.STOPPED, "failed", "refused"),
        (
            RunResults(own_failures=["A task of the user has failed."], own_codes=["own_tasks_failed"]),
            UpgradeEvent.STOPPED,
            "failed",
            "refused",
        ),
        (RunResults(failure=ASKED), UpgradeEvent.ABORTED, "cancelled", "refused"),
        (RunResults(failure=ASKED, put_back=[REFUSED]), UpgradeEvent.ABORTED, "cancelled", "refused"),
    ],
)
def test_an_end_has_one_name_for_each_reader(
    found: RunResults, event: UpgradeEvent, state: str, statistics: str
) -> None:
    end = End(found).as_result()
    assert (end["event"], end["recorded"]["event"]) == (event.value, event.value)
    assert (end["state"], end["statistics"]["upgrade_state"]) == (state, statistics)
    assert (end["well"], bool(end["shown"]["last_words"])) == (event is UpgradeEvent.COMPLETED, statistics == "refused")
    assert end["shown"]["aborted"] is (event is UpgradeEvent.ABORTED)


def test_every_end_of_the_record_has_a_notice() -> None:
    assert set(NOTICES) == set(ENDINGS)


def test_an_end_that_could_not_be_recorded_is_a_failure_for_people_and_pipelines() -> None:
    end = End(RunResults(ended=result(reason("refused", "lock_lost"), msg="The lock is lost."))).as_result()
    assert (end["event"], end["shown"]["failures"]) == ("completed", ["The lock is lost."])
    assert (end["statistics"]["upgrade_state"], end["statistics"]["upgrade_reasons"]) == ("refused", ["lock_lost"])
    assert end["shown"]["last_words"].startswith("The upgrade has failed.")


def test_an_api_out_of_reach_is_named_once() -> None:
    away = result(reason("refused", "unreachable"), msg="The API is away.")
    end = End(RunResults(failure=STOPPED, put_back=[away, away])).as_result()
    assert end["shown"]["failures"] == ["Stopped at batch-02 (Prove it): The API is away."]
    assert (end["codes"], end["not_put_back"]) == (["unreachable"], ["The API is away."])


def test_silences_that_could_not_be_ended_fail_no_run() -> None:
    end = End(RunResults(silences=result(LEFT, msg="Alertmanager is away."))).as_result()
    assert (end["event"], end["not_put_back"], end["stays"]) == ("completed", [], ["It says left. Look at it."])
    assert end["shown"]["remains"]
    assert not End(RunResults()).shown()["remains"]


def test_the_codes_are_those_of_the_failures_and_without_any_those_of_the_waits() -> None:
    assert End(RunResults(failure=STOPPED, waiting=[LATE])).codes == ["unreachable"]
    assert End(RunResults(waiting=[LATE])).codes == ["late"]
    assert End(RunResults(own_failures=["It failed."], own_codes=["step_failed"])).codes == ["step_failed"]


def test_the_record_gets_the_health_the_acts_and_the_waits() -> None:
    gate = {**result(), "before": {"status": "green"}, "green_seconds": 0, "waited": [{"seconds": 3}]}
    put_back = {**result(), "actions": [{"action": "restore"}], "waited": [{"seconds": 2}]}
    recorded = End(RunResults(gate=gate, put_back=[put_back, {"skipped": True}])).recorded()
    assert (recorded["health"], recorded["green_seconds"]) == ("green", 0)
    assert (recorded["acts"], recorded["waited"]) == ([{"action": "restore"}], [{"seconds": 3}, {"seconds": 2}])
    assert not {"health", "green_seconds"} & End(RunResults()).recorded().keys()


def test_capacity_stays_until_the_upgrade_is_completed() -> None:
    codes = [one["code"] for one in End(RunResults(waiting=[LATE], added="machines of md-0")).shown()["remarks"]]
    assert codes == ["capacity_stays"]
    assert End(RunResults(added="machines of md-0")).shown()["remarks"] == []


def test_a_restart_is_called_so() -> None:
    assert End(RunResults(failure=ASKED, deed=Deed.RESTART)).shown()["last_words"].startswith("The restart was aborted")
