"""The result of a shipped module, whatever its work gives back: plain data, or one sentence without a secret."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible.module_utils.common.parameters import PASS_VARS
from ansible_collections.stateful.upgrade.plugins.module_utils.common.ancestry import of_module
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract, Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.entry import entry

Json = dict[str, Any]
SECRET = "a-secret-word"
CONTRACT = Contract(
    {"password": {"type": "str", "no_log": True}, "lock": {"type": "dict"}, "opensearch": {"type": "dict"}}
)
# Newer versions of ansible-core only give the arguments where they are asked for them.
TOLD = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}


@contextmanager
def given(arguments: Json) -> Iterator[None]:
    """The arguments of a module, as each version of ansible-core hands them over."""
    try:
        testing = importlib.import_module("ansible.module_utils.testing")
    except ImportError:  # 2.16
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
            yield
    else:
        with testing.patch_module_args(arguments):
            yield


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Callable[..., Json]:
    """Runs a work as a shipped module, and gives what it printed."""

    def run(work: Callable[[Task], Outcome], **mode: Any) -> Json:
        with given({"password": SECRET, **TOLD, **mode}), pytest.raises(SystemExit) as ended:
            entry.run_as_module(CONTRACT, work)
        printed = capsys.readouterr().out
        assert SECRET not in printed
        result: Json = json.loads(printed)
        assert bool(ended.value.code) is result.get("failed", False)
        return result

    return run


def test_what_the_work_gives_is_printed(ran: Callable[..., Json]) -> None:
    result = ran(lambda _task: Outcome(Verdict(), True, {"a": 1}, more={"members": ("b", "c")}))
    assert (result["changed"], result["before"], result["members"]) == (True, {"a": 1}, ["b", "c"])


def test_a_refusal_is_a_failure_with_all_that_is_known(ran: Callable[..., Json]) -> None:
    def work(task: Task) -> Outcome:
        task.journal.did("set", "a")
        raise refusal("broken", f"It is broken: {SECRET}.", "Mend it.")

    result = ran(work)
    assert result["failed"] is True
    assert result["msg"].startswith("It is broken: ")
    assert (result["verdict"]["reasons"][0]["code"], len(result["actions"])) == ("broken", 1)


def test_a_short_secret_is_masked_as_a_value_and_not_inside_of_words(ran: Callable[..., Json]) -> None:
    def work(task: Task) -> Outcome:
        raise refusal("broken", f"The password {task.params['password']} is not accepted.", "Mend it.")

    result = ran(work, password="s")
    assert result["msg"] == "The password ******** is not accepted. Mend it."
    assert "s" not in (result.get("invocation") or {"module_args": {}})["module_args"].values()


def test_credentials_in_a_url_are_masked(ran: Callable[..., Json]) -> None:
    result = ran(lambda _task: Outcome(Verdict()), opensearch={"hosts": [f"https://me:{SECRET}@search"]})
    # Older versions of ansible-core keep the name next to the password.
    assert result["invocation"]["module_args"]["opensearch"]["hosts"][0].endswith("********@search")


@pytest.mark.parametrize("value", [{SECRET}, object(), b"bytes"])
def test_a_result_that_is_no_plain_data_is_a_bug_in_one_sentence(value: object, ran: Callable[..., Json]) -> None:
    result = ran(lambda _task: Outcome(Verdict(), True, {"seen": value}))
    assert result["failed"] is True
    assert result["msg"].startswith("This is a bug in stateful.upgrade: TypeError: ")
    assert "\n" not in result["msg"]


def test_a_bug_is_told_without_secrets_and_in_one_line(ran: Callable[..., Json]) -> None:
    def work(task: Task) -> Outcome:
        raise RuntimeError(f"unforeseen:\n  {task.params['password']}")

    result = ran(work)
    assert result["msg"].startswith("This is a bug in stateful.upgrade: RuntimeError: unforeseen: ")
    assert "\n" not in result["msg"]


def test_a_bug_tells_what_was_done_before(ran: Callable[..., Json]) -> None:
    def work(task: Task) -> Outcome:
        task.journal.did("delete_pod", "data-2", secret=SECRET, odd=object())
        raise KeyError("uid")

    result = ran(work)
    assert (result["failed"], result["changed"]) == (True, True)
    assert [(each["action"], each["target"]) for each in result["actions"]] == [("delete_pod", "data-2")]


def test_the_processes_that_must_live_on(ran: Callable[..., Json]) -> None:
    result = ran(lambda task: Outcome(Verdict(), more={"parents": task.parents, "here": task.in_controller}))
    assert (tuple(result["parents"]), result["here"]) == (of_module(), False)


@pytest.mark.parametrize("asked", [True, False])
def test_the_modes_go_through(asked: bool, ran: Callable[..., Json]) -> None:
    def work(task: Task) -> Outcome:
        return Outcome(Verdict(), task.check_mode, {"a": 1}, {"a": 2})

    result = ran(work, _ansible_check_mode=asked, _ansible_diff=asked)
    assert result["changed"] is asked
    assert ("diff" in result) is asked
