"""A replaced pod gets its configuration right before its deletion: noted, then written, wherever a run is killed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import list_pods
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import pod_roll
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import replacing
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration import checksum
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import CHOSEN, FOUND, PHASE
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.secret_room import (
    contents,
    pod,
    put_secret,
    room,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import Passing

from tests.sandbox.kubernetes.in_process import InProcess

OLD, NEW, LATER = b"node.attr.rack: r1\n", b"node.attr.rack: r2\n", b"node.attr.rack: r3\n"
PATH = "/api/v1/namespaces/search/pods/data-0"


class Killed(BaseException):
    """The run is gone, at this very instruction."""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """A pod that is marked, with its configuration. A roll makes the last act for it, and would then delete it."""
    made = room()
    made.put_there(PATH, pod("data-0", {}, annotations={PHASE: "schedule-rolling"}))
    put_secret(made, {"data-0": OLD})

    def roll(task: Task, before: Callable[[Pod], None] = lambda _pod: None) -> Outcome:
        (found,) = list_pods(made.client(), "search")
        before(found)
        return Outcome(Verdict(), changed=True)

    monkeypatch.setattr(kubernetes, "connect", lambda _options: made.client())
    monkeypatch.setattr(pod_roll, "run", roll)
    return made


def replaced(wanted: bytes | None) -> Task:
    """One run of the module for this content, None for no configuration."""
    given = [] if wanted is None else [{"pool": "data", "content": wanted.decode()}]
    params: dict[str, Any] = {"namespace": "search", "kubernetes": {}, "pools": ["data"], "batch": ["data-0"]}
    task = Task({**params, "replace_marked": [PHASE], "configuration": given}, clock=Passing())
    replacing.run(task)
    return task


def noted(api: InProcess) -> str:
    return str((api.objects[PATH]["metadata"].get("annotations") or {}).get(CHOSEN, ""))


def test_the_content_is_noted_at_the_pod_and_then_written_with_what_was_there_before(api: InProcess) -> None:
    task = replaced(NEW)
    assert contents(api) == {"data-0": NEW, "data-0.previous": OLD}
    assert noted(api) == checksum(NEW)
    acts = [each["target"] for each in task.journal.as_result()]
    assert acts == ["data-0", "Secret data-configuration"]
    assert "r2" not in str(task.journal.as_result())


def test_without_a_configuration_nothing_is_written(api: InProcess) -> None:
    replaced(None)
    assert (contents(api), noted(api)) == ({"data-0": OLD}, "")


def test_a_run_that_was_killed_at_any_request_is_gone_on_with_and_ends_the_same(api: InProcess) -> None:
    def kill() -> None:
        raise Killed

    pod_before, secret_before = deepcopy(api.objects[PATH]), contents(api)
    for request in range(12):
        api.put_there(PATH, deepcopy(pod_before))
        put_secret(api, secret_before)
        api.before[:] = [*[lambda: None] * request, kill]
        try:
            replaced(NEW)
        except Killed:
            assert noted(api) == checksum(NEW) or contents(api) == {"data-0": OLD}
            api.before.clear()
            replaced(NEW)
            assert (contents(api), noted(api)) == ({"data-0": NEW, "data-0.previous": OLD}, checksum(NEW))
        else:
            break
    else:
        pytest.fail("the run makes more requests than that")
    assert request >= 4


def test_a_request_that_was_reverted_before_its_content_was_written_leaves_the_one_of_before(api: InProcess) -> None:
    api.objects[PATH]["metadata"]["annotations"][CHOSEN] = checksum(NEW)
    replaced(OLD)
    assert contents(api) == {"data-0": OLD}


def test_a_word_that_is_no_phase_by_now_is_refused_before_anything_is_written(api: InProcess) -> None:
    api.objects[PATH]["metadata"]["annotations"][PHASE] = "sometime"
    with pytest.raises(Refusal) as refused:
        replaced(NEW)
    assert [each.code for each in refused.value.verdict.reasons] == ["phase_unknown"]
    assert contents(api) == {"data-0": OLD}


def test_a_later_edit_waits_until_the_content_that_was_written_is_through(api: InProcess) -> None:
    replaced(NEW)
    replaced(LATER)
    assert contents(api) == {"data-0": NEW, "data-0.previous": OLD}


def test_a_pod_is_not_replaced_over_what_somebody_else_has_written_since_the_run_began(api: InProcess) -> None:
    api.objects[PATH]["metadata"]["annotations"][FOUND] = checksum(OLD)
    put_secret(api, {"data-0": LATER})
    with pytest.raises(Refusal) as refused:
        replaced(NEW)
    assert [each.code for each in refused.value.verdict.reasons] == ["configuration_edited"]
    assert contents(api) == {"data-0": LATER}
