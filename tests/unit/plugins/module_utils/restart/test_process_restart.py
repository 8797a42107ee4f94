"""Restarting the processes of a batch: the proof, the phases, a kill at every act, and the marks of a person."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import Process
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import copy, state_answer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed, World


@pytest.fixture
def there() -> World:
    return World()


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def actions(result: dict[str, Any]) -> list[str]:
    return [member["action"] for member in result["members"]]


def scheduled(there: World, *names: str) -> World:
    for name in names or NAMES:
        there.annotate(name, restart_phase="schedule-rolling")
    return there


def test_a_process_is_restarted_once_and_its_pod_stays(there: World) -> None:
    result = scheduled(there).restart("data-1")
    assert (codes(result), actions(result), result["changed"]) == ([], ["restarted"], True)
    assert (there.stopped, there.processes["data-1"]) == (["data-1/1"], 2)
    assert there.pods["data-1"]["metadata"]["uid"] == "uid-data-1"
    # The others wait for their turn, and nothing is left on the pod.
    assert there.phases() == {"data-0": "schedule-rolling", "data-2": "schedule-rolling"}
    assert there.pods["data-1"]["metadata"]["annotations"] == {}


def test_a_pod_without_a_phase_is_left_alone(there: World) -> None:
    result = there.restart("data-1")
    assert (codes(result), actions(result), result["changed"]) == ([], ["untouched"], False)
    assert there.stopped == []


def test_the_pods_are_scheduled_and_the_phase_of_their_set_is_handed_on(there: World) -> None:
    there.annotate("data", restart_phase="schedule-coordinated")
    there.annotate("data-0", restart_phase="schedule")
    result = there.restart(*NAMES, state="scheduled")
    assert result["changed"]
    assert there.phases() == {"data-0": "schedule", "data-1": "schedule-coordinated", "data-2": "schedule-coordinated"}
    assert there.sets["data"]["metadata"]["annotations"] == {}
    assert not there.restart(*NAMES, state="scheduled")["changed"]


def test_pods_of_a_scheduled_set_that_a_run_leaves_out_keep_its_phase_and_name_no_run(there: World) -> None:
    there.annotate("data", restart_phase="schedule-rolling")
    lock = {"run": "run-1", "name": "lock-1", "kept_in": "kubernetes", "namespace": "search"}
    for state in ("scheduled", "unscheduled"):
        assert codes(there.restart("data-0", state=state, lock=lock)) == []
        assert there.sets["data"]["metadata"]["annotations"] == {}
        assert {*there.phases()} == ({*NAMES} if state == "scheduled" else {"data-1", "data-2"})
        assert not any("upgrade.stateful/restart-run" in pod["metadata"]["annotations"] for pod in there.pods.values())


def test_pods_of_a_scheduled_set_that_are_not_unscheduled_keep_its_phase(there: World) -> None:
    there.annotate("data", restart_phase="schedule-rolling")
    there.annotate("data-2", restart_phase="schedule")
    assert codes(there.restart("data-0", state="unscheduled")) == []
    assert there.sets["data"]["metadata"]["annotations"] == {}
    assert there.phases() == {"data-1": "schedule-rolling", "data-2": "schedule"}
    assert not there.restart("data-0", state="unscheduled")["changed"]


def test_only_pods_whose_restart_has_not_begun_are_unscheduled(there: World) -> None:
    scheduled(there, "data-0").annotate("data-1", restart_phase="stop", restart_process="data-1/1")
    there.restart(*NAMES, state="unscheduled")
    assert there.phases() == {"data-1": "stop"}


def test_nothing_is_stopped_whose_shard_has_no_copy_elsewhere(there: World) -> None:
    there.servers.state = state_answer(NAMES, [copy("i", "data-1", primary=True)], elected="data-2")
    result = scheduled(there).restart("data-1", wait=False)
    assert (result["verdict"]["state"], there.stopped) == ("refused", [])
    assert there.phases()["data-1"] == "schedule-rolling"


def test_nothing_is_stopped_while_another_pod_is_not_ready(there: World) -> None:
    there.pods["data-0"]["status"]["conditions"][0]["status"] = "False"
    result = scheduled(there).restart("data-1", wait=False)
    assert (codes(result), there.stopped) == (["other_pod_not_ready"], [])


def test_nothing_is_stopped_while_the_restart_of_another_is_under_way(there: World) -> None:
    there.annotate("data-0", restart_phase="stop", restart_process="data-0/1")
    result = scheduled(there, "data-1").restart("data-1", wait=False)
    assert (codes(result), there.stopped) == (["restart_under_way"], [])


def test_check_mode_names_the_acts_and_makes_none(there: World) -> None:
    result = scheduled(there).restart("data-1", check=True)
    assert [(each["action"], each["target"]) for each in result["actions"]] == [("marked_pod", "data-1")]
    assert (there.acts, there.phases()["data-1"]) == (0, "schedule-rolling")


def test_a_word_that_is_no_phase_is_refused(there: World) -> None:
    there.annotate("data-1", restart_phase="soon")
    assert codes(there.restart("data-1", wait=False)) == ["phase_unknown"]


def test_a_pod_that_a_person_wants_stopped_is_refused_by_a_way_that_cannot_keep_it_stopped(there: World) -> None:
    scheduled(there).annotate("data-1", stop="true")
    assert codes(there.restart("data-1")) == ["stop_needs_agent"]
    assert there.stopped == []


@pytest.mark.parametrize("kill_at", range(10))
def test_a_run_that_is_killed_at_an_act_goes_on_and_never_stops_a_process_twice(there: World, kill_at: int) -> None:
    """The acts are: the mark `stop`, the signal, the mark `start`, the end of the marks."""
    scheduled(there).kill_at = kill_at
    try:
        there.restart("data-1")
    except Killed:
        there.kill_at = None
    result = there.restart("data-1")
    assert codes(result) == []
    assert (there.stopped, there.processes["data-1"]) == (["data-1/1"], 2)
    assert there.phases() == {"data-0": "schedule-rolling", "data-2": "schedule-rolling"}


def test_every_act_of_a_restart_was_killed_at(there: World) -> None:
    scheduled(there).restart("data-1")
    assert there.acts * 2 == 8


def test_a_process_that_has_died_and_come_back_since_the_mark_is_not_stopped_again(there: World) -> None:
    there.annotate("data-1", restart_phase="stop", restart_process="data-1/0", restart_member="ephemeral-before")
    result = there.restart("data-1")
    assert (codes(result), actions(result)) == ([], ["followed"])
    assert (there.stopped, there.phases()) == ([], {})


def test_a_member_of_before_that_is_still_listed_is_not_taken_for_its_successor(there: World) -> None:
    listed = there.servers.state["nodes"]
    member = next(each for each in listed.values() if each["name"] == "data-1")
    there.annotate("data-1", restart_phase="start", restart_process="data-1/0", restart_member=member["ephemeral_id"])
    result = there.restart("data-1", wait=False)
    assert codes(result) == ["process_starting"]
    assert there.phases() == {"data-1": "start"}


def test_a_process_that_does_not_start_again_stops_the_run_and_its_log_is_told(there: World) -> None:
    scheduled(there).crashes = 6
    result = there.restart("data-1")
    assert codes(result) == ["process_starting", "container_crashes"]
    (member,) = result["members"]
    assert (member["phase"], member["total_seconds"], member["log"]) == ("start", None, ["last words of data-1"])
    assert result["verdict"]["reasons"][-1]["message"].endswith(" Its log ends with: last words of data-1.")
    # The next run goes on with it, and stops it no second time.
    there.on_tick = there.on_tick[-2:]
    assert codes(there.restart("data-1")) == []
    assert there.stopped == ["data-1/1"]


def test_restarts_of_before_are_no_crashes(there: World) -> None:
    """A container that people have restarted often waits for the back-off of the kubelet, and is well."""
    there.pods["data-1"]["status"]["containerStatuses"][0]["restartCount"] = 9
    scheduled(there).crashes = 1
    result = there.restart("data-1")
    assert codes(result) == []
    assert {each["code"] for each in result["waited"]} == {"pod_starting", "process_starting", "process_stopping"}


def test_a_server_that_did_not_run_at_the_beginning_is_followed_until_it_does(there: World) -> None:
    """The kubelet waits with the next start of a container that crashes, and no process can be named then."""
    scheduled(there, "data-1").running.discard("data-1")
    there.pods["data-1"]["status"]["containerStatuses"] = [objects.waiting("CrashLoopBackOff")]
    there.on_tick = [lambda: None, lambda: there.begin("data-1"), lambda: there.joined("data-1")]
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.phases()) == ([], {})


def test_nothing_is_stopped_by_a_proof_that_is_older_than_the_answer_of_an_agent(there: World) -> None:
    """The last other copy is lost while the agent of the member is silent."""
    scheduled(there, "data-1")
    silent, found = [1, 1, 1], there.look

    def look(pod: Pod, file: str = "") -> Process:
        if silent and silent.pop():
            raise Unreachable.because("agent_unreachable", "The agent is silent.", "It passes.")
        return found(pod, file)

    def lose() -> None:
        there.servers.state.update(state_answer(NAMES, [copy("i", "data-1", primary=True), copy("i", None)]))

    there.look = look  # type: ignore[method-assign]
    there.on_tick = [lambda: None, lose]
    result = there.restart("data-1")
    assert (result["verdict"]["state"], there.stopped, there.phases()) == (
        "refused",
        [],
        {"data-1": "schedule-rolling"},
    )


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("state", ["restarted", "scheduled", "unscheduled"])
def test_a_mark_whose_answer_is_lost_is_made_once(there: World, made: bool, state: str) -> None:
    scheduled(there, *(() if state == "scheduled" else ("data-1",)))
    if state == "scheduled":
        there.pods["data-1"]["metadata"]["annotations"] = {}
    patch, lost = there.patch, [1]

    def losing(path: str, body: Any, kind: str, dry_run: bool = False) -> Any:
        if not lost:
            return patch(path, body, kind, dry_run)
        lost.pop()
        if made:
            patch(path, body, kind, dry_run)
        raise Unreachable.because("kubernetes_unreachable", "The answer is lost.", "It passes.")

    there.patch = losing  # type: ignore[method-assign]
    result = there.restart("data-1", state=state)
    assert result["verdict"]["state"] == "passed"
    assert there.stopped == (["data-1/1"] if state == "restarted" else [])
    assert there.phases().get("data-1", "") == ("schedule-rolling" if state == "scheduled" else "")


def other_version(there: World) -> None:
    """The controller writes the status of the set."""
    there.sets["data"]["metadata"]["resourceVersion"] = "77"


@pytest.mark.parametrize("disturbed", ["lost", "made", "conflict"])
def test_the_phase_of_a_set_is_taken_away_whatever_comes_between(there: World, disturbed: str) -> None:
    there.annotate("data", restart_phase="schedule-rolling")
    patch, left = there.patch, [1]

    def losing(path: str, body: Any, kind: str, dry_run: bool = False) -> Any:
        if "/statefulsets/" not in path or not left:
            return patch(path, body, kind, dry_run)
        left.pop()
        if disturbed == "conflict":
            other_version(there)
            return patch(path, body, kind, dry_run)
        if disturbed == "made":
            patch(path, body, kind, dry_run)
            other_version(there)
        raise Unreachable.because("kubernetes_unreachable", "The answer is lost.", "It passes.")

    there.patch = losing  # type: ignore[method-assign]
    result = there.restart(*NAMES, state="scheduled")
    assert (codes(result), there.sets["data"]["metadata"]["annotations"]) == ([], {})
    assert there.phases() == dict.fromkeys(NAMES, "schedule-rolling")


def test_a_phase_that_a_person_gives_a_set_later_stays(there: World) -> None:
    there.annotate("data", restart_phase="schedule-rolling")
    patch = there.patch

    def changed(path: str, body: Any, kind: str, dry_run: bool = False) -> Any:
        if "/statefulsets/" in path:
            other_version(there)
            there.annotate("data", restart_phase="schedule")
        return patch(path, body, kind, dry_run)

    there.patch = changed  # type: ignore[method-assign]
    assert codes(there.restart(*NAMES, state="scheduled")) == []
    assert there.sets["data"]["metadata"]["annotations"] == {"upgrade.stateful/restart-phase": "schedule"}


def test_a_word_that_is_no_phase_and_comes_during_a_mark_is_refused(there: World) -> None:
    scheduled(there, "data-1")
    patch = there.patch

    def changed(path: str, body: Any, kind: str, dry_run: bool = False) -> Any:
        there.pods["data-1"]["metadata"]["resourceVersion"] = "77"
        there.annotate("data-1", restart_phase="soon")
        return patch(path, body, kind, dry_run)

    there.patch = changed  # type: ignore[method-assign]
    assert (codes(there.restart("data-1")), there.stopped) == (["phase_unknown"], [])


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("returns", [True, False])
def test_a_pod_that_loses_its_mark_on_the_way_is_followed_until_it_is_ready(
    there: World, replaced: bool, returns: bool
) -> None:
    """The controller of the set has made it anew, or someone has removed the mark, while its process was down."""
    scheduled(there, "data-1")

    def lost() -> None:
        metadata = there.pods["data-1"]["metadata"]
        metadata["annotations"] = {}
        if replaced:
            metadata["uid"] = "uid-2"

    stop = there.stop

    def stopped(pod: Pod, process: Process) -> None:
        stop(pod, process)
        there.on_tick = [lost, *[lambda: None] * 10, *(there.on_tick if returns else ())]

    there.stop = stopped  # type: ignore[method-assign]
    result = there.restart("data-1", wait_timeout=20, until="joined")
    assert (result["verdict"]["state"], there.stopped) == ("passed" if returns else "refused", ["data-1/1"])
    (member,) = result["members"]
    assert (member["total_seconds"] is not None) == returns
    assert returns or "data-1 has no mark of its restart any more, and is not Ready" in str(result["verdict"])


def test_a_word_that_is_no_phase_at_another_pod_is_refused_before_a_process_ends(there: World) -> None:
    scheduled(there, "data-1")
    there.annotate("data-0", restart_phase="sometime")
    result = there.restart("data-1")
    assert (codes(result), there.stopped) == (["phase_unknown"], [])
    assert "pod data-0" in result["verdict"]["reasons"][0]["message"]
