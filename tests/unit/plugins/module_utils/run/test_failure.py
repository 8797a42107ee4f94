"""The failure of a task of a run."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.failure import HIDDEN, failure_of

REFUSED = {"state": "refused", "code": "cluster_unreachable", "message": "It does not answer."}
WAITING = {"state": "waiting", "code": "pod_starting", "message": "It starts."}


def test_a_failure_has_the_codes_of_its_reasons() -> None:
    result = {"msg": "It does not answer.", "verdict": {"state": "refused", "reasons": [REFUSED, WAITING]}}
    failure = failure_of({"name": "", "action": "stateful.upgrade.cluster_health_gate"}, result, ["step_failed"])
    assert failure.as_result() == {
        "task": "stateful.upgrade.cluster_health_gate",
        "message": "It does not answer.",
        "codes": ["cluster_unreachable"],
        "unreachable": True,
    }


def test_a_failure_without_a_verdict_has_the_code_that_was_given() -> None:
    assert failure_of({"name": "Back up"}, {"msg": ""}, ["step_failed"]).codes == ["step_failed"]
    assert failure_of({"name": "Back up"}, {"msg": ""}).message == "failed"


@pytest.mark.parametrize("hidden", [True, "true", "yes"])
def test_a_result_that_may_hold_a_secret_is_not_told(hidden: Any) -> None:
    assert failure_of({"name": "Log in", "no_log": hidden}, {"msg": "password s3cr3t"}).message == HIDDEN


@pytest.mark.parametrize(
    ("result", "unreachable"),
    [({"unreachable": True}, True), ({"status": -1}, True), ({"status": 500}, False), ({}, False)],
)
def test_a_host_or_a_server_that_gives_no_answer_is_told_apart(result: dict[str, Any], unreachable: bool) -> None:
    assert failure_of({"name": "Ask"}, result).unreachable is unreachable


def test_a_task_that_takes_several_steps_names_the_one_that_has_failed() -> None:
    assert failure_of({"name": "Fetch"}, {"msg": "no", "failed_step": "See the packages"}).task == "See the packages"
