"""The steps of the role member_os_image on a machine that is lost, and with an agent that fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible_collections.stateful.upgrade.plugins.plugin_utils import os_image_agent
from ansible_collections.stateful.upgrade.plugins.plugin_utils.on_machine import TaskMachine
from ansible_collections.stateful.upgrade.plugins.plugin_utils.os_image_settings import OsImage
from ansible_collections.stateful.upgrade.plugins.plugin_utils.os_image_steps import carried_out

IMAGE = {"url": "https://images.example.com/os.raw", "sha256": "ab" * 32}
GIVEN: Mapping[str, Any] = {
    "member_machine": {"kubelet": "1.35.4", "under_way": False},
    "member_os_image_command": ["osagent"],
    "member_os_image_course": "node",
    "member_os_image_folder": "/plans",
    "member_os_image_image": IMAGE,
    "member_os_image_interval": 30,
    "member_os_image_lock": {"name": "lock"},
    "member_os_image_node": "w-1",
    "member_os_image_timeout": 600,
    "target_version": "1.36.1",
}
Result = dict[str, Any]


@dataclass
class Machine:
    """A machine whose agent has done at once what it is asked for."""

    told: Result = field(default_factory=dict)
    given: Result = field(default_factory=lambda: dict(GIVEN))
    fails: Mapping[str, Exception | Result] = field(default_factory=dict)
    """What is raised, or the result, by the word that a command or an action ends with."""
    asked: list[str] = field(default_factory=list)
    called: list[tuple[str, Result]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    checks: bool = False

    def carried_out(self, state: str) -> Result:
        """A step."""
        machine = TaskMachine(self._execute, self._call, self.lines.append, checks=self.checks)
        return carried_out(machine, OsImage(self.given.get), state)

    def operated(self, state: str) -> tuple[Result, Result]:
        """The step before or after the drain, and the end of it."""
        done = self.carried_out(state)
        self.given["member_os_image_operated"] = done
        return done, self.carried_out("ended")

    def _execute(self, name: str, options: Result, _checks: bool) -> Result:
        words = options.get("argv") or [name]
        self.asked.append(" ".join(words))
        if words[0] == "tee" or words[-1] == "submit":
            self.called.append((words[0], json.loads(options["stdin"])))
        if words[-1] == "submit":
            self.told = {"operation": json.loads(options["stdin"])["operation"], "state": "Succeeded"}
            self.told["image"] = IMAGE["sha256"]
        said = {"stat": {"exists": True}} if name == "stat" else {"rc": 0, "stdout": ""}
        return self._failed(words, {**said, **({"stdout": json.dumps(self.told)} if words[-1] == "status" else {})})

    def _call(self, name: str, options: Result, on_controller: bool) -> Result:
        assert on_controller is not name.endswith("wait_for_connection")
        self.called.append((name.rpartition(".")[2], options))
        return self._failed([name, str(options.get("state", ""))], {"changed": False, "specified": {}})

    def _failed(self, words: list[str], result: Result) -> Result:
        found = next((each for word, each in self.fails.items() if any(part.endswith(word) for part in words)), result)
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that pass between looks at the agent."""
    found = list[float]()
    monkeypatch.setattr(os_image_agent, "pause", found.append)
    return found


def test_an_operation_is_noted_before_it_is_submitted_and_the_note_goes_with_its_end() -> None:
    machine = Machine()
    done, ended = machine.operated("after_drain")
    assert not done.get("failed")
    assert not ended.get("failed")
    assert done["machine"] == {"kubelet": "1.35.4", "under_way": False}
    assert [each["action"] for each in done["actions"]] == ["Submit the host configuration"]
    waits = "wait_for_connection"
    assert [name for name, _options in machine.called] == [
        *(waits, "machine_upgrade", "tee", "osagent"),
        *(waits, "machine_upgrade", "tee"),
    ]
    operation = machine.told["operation"]
    noted = [options for name, options in machine.called if name == "machine_upgrade"]
    assert [each["operation"] for each in noted] == [operation, ""]
    assert {each["wait_timeout"] for each in noted} <= {599, 600}
    delays = [options["delay"] for name, options in machine.called if name == waits]
    assert delays == [0, 30], "an agent may take a configuration after its answer"
    assert machine.lines == [f"The agent on w-1 gets operation {operation}."]


def test_without_a_lock_nothing_is_noted() -> None:
    machine = Machine(given={**GIVEN, "member_os_image_lock": {}})
    machine.operated("after_drain")
    assert "machine_upgrade" not in [name for name, _options in machine.called]


LOST = AnsibleConnectionFailure("Connection timed out")


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ({"tee": AnsibleError("no space")}, "no space"),
        ({"tee": KeyError("odd")}, "This is a bug in stateful.upgrade: KeyError: 'odd'"),
        ({"noted": {"failed": True, "msg": "the lock is lost"}}, "the lock is lost"),
    ],
)
def test_a_failure_behind_the_answer_of_the_agent_leaves_the_fact_that_an_operation_may_be_under_way(
    fails: Mapping[str, Any], said: str
) -> None:
    machine = Machine(fails=fails)
    done, ended = machine.operated("after_drain")
    assert not done.get("failed"), "the fact is set first"
    assert done["machine"]["under_way"] is True
    assert (ended["failed"], ended["msg"]) == (True, said)
    assert "osagent submit" not in machine.asked


def test_a_machine_that_is_lost_between_two_commands_counts_as_unreachable_and_not_as_failed() -> None:
    machine = Machine(fails={"tee": LOST})
    with pytest.raises(AnsibleConnectionFailure, match="Connection timed out"):
        machine.operated("after_drain")
    assert machine.given["member_os_image_operated"]["machine"]["under_way"] is True


def test_before_the_agent_was_asked_the_fact_stays_as_the_look_has_made_it() -> None:
    machine = Machine(fails={"file": {"failed": True, "msg": "read-only"}})
    done, ended = machine.operated("after_drain")
    assert done["machine"] == GIVEN["member_machine"]
    assert (ended["msg"], ended["failed_step"]) == ("read-only", "Make the folder of the stored plans")


def test_the_answer_to_a_submission_may_be_lost() -> None:
    machine = Machine(fails={"submit": LOST})
    done, ended = machine.operated("after_drain")
    assert (done["machine"]["under_way"], ended.get("failed")) == (False, None), "the next look has its result"


def test_after_a_failure_its_cause_comes_before_that_of_the_note() -> None:
    told = {"operation": "theirs-1", "state": "Running"}
    machine = Machine(told, {**GIVEN, "member_os_image_timeout": 1}, {"noted": {"failed": True, "msg": "busy"}})
    done, ended = machine.operated("after_drain")
    assert done["machine"]["under_way"] is True
    assert "operation theirs-1 is still at work after the time of the step. Correct that" in ended["msg"]
    assert ended["failed_step"] == "Refuse to go on after an operation that has failed"


@pytest.mark.parametrize(("state", "told", "exists"), [("before_drain", {}, False), ("after_drain", {}, True)])
def test_nothing_is_done_on_a_worker_before_its_drain_nor_in_check_mode(state: str, told: Result, exists: bool) -> None:
    machine = Machine(told, checks=exists, fails={"stat": {"stat": {"exists": exists}}})
    done, ended = machine.operated(state)
    assert (done["machine"], ended.get("failed"), machine.asked) == (GIVEN["member_machine"], None, ["stat"])


def test_the_agent_is_asked_again_until_its_time_is_over(pauses: list[float]) -> None:
    machine = Machine({"operation": "x-1", "state": "Running"})
    assert machine.carried_out("asked")["machine"]["under_way"] is True
    assert (machine.asked, pauses) == (["osagent status"] * 2, [30])


@pytest.mark.parametrize("cause", [LOST, AnsibleError("sudo wants a password")])
def test_an_agent_that_does_not_answer_the_look_leaves_the_fact_as_it_is(cause: Exception) -> None:
    machine = Machine(fails={"status": cause})
    assert machine.carried_out("asked")["machine"] == GIVEN["member_machine"]
    refused = machine.carried_out("prepared")
    assert refused["failed_step"] == "Refuse an agent that cannot be used"
    assert refused["msg"].startswith(f"w-1 was left alone, since the agent does not answer: {cause}.")


def test_the_image_of_the_specification_goes_before_that_of_the_variable() -> None:
    machine = Machine(given={**GIVEN, "member_os_image_field": "infraMachine.spec.image"})
    other = {**IMAGE, "sha256": f"sha256:{'cd' * 32}"}
    machine.fails = {"specified": {"specified": other}}
    machine.given["member_os_image_read"] = machine.carried_out("prepared")
    assert machine.given["member_os_image_read"]["specified"] == other
    role = OsImage(machine.given.get)
    assert (role.image(), OsImage(dict(GIVEN).get).image()) == (other, IMAGE)
    assert machine.called[0][1] == {
        "state": "specified",
        "field": "infraMachine.spec.image",
        "task_source": "",
        "target_version": "1.36.1",
        "batch": ["w-1"],
        "lock": {"name": "lock"},
    }


def test_the_failure_to_read_the_image_keeps_its_reasons() -> None:
    reasons = {"state": "refused", "reasons": [{"code": "field_unknown"}]}
    machine = Machine(given={**GIVEN, "member_os_image_field": "version"})
    machine.fails = {"specified": {"failed": True, "msg": "no such field", "verdict": reasons}}
    refused = machine.carried_out("prepared")
    assert (refused["msg"], refused["verdict"]) == ("no such field", reasons)


@pytest.mark.parametrize(
    "given",
    [
        {"member_os_image_url": "https://agents.example.com/w-1"},
        {"member_os_image_command": []},
        {"member_os_image_command": [], "member_os_image_url": "http://agents.example.com/w-1"},
        {"member_os_image_image": {**IMAGE, "sha256": "1"}},
        {"member_os_image_image": {**IMAGE, "url": ""}},
    ],
)
def test_what_names_no_image_or_not_one_agent_is_refused_without_asking_it(given: Result) -> None:
    machine = Machine(given={**GIVEN, **given})
    refused = machine.carried_out("prepared")
    assert (refused["failed"], refused["failed_step"]) == (True, "Refuse what says no image, or not one agent")
    assert (machine.asked, machine.called) == ([], [])
