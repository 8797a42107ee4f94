"""The features that only the form in the controller process has: live lines, signals, refusals of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .playbook_runner import ELSEWHERE, HERE, OTHER_PYTHON, PlaybookRunner, ansible_playbook

MODULE = "parity.fixture.every_feature"
TALK: dict[str, Any] = {"name": "talk", MODULE: {"do": "talk", "password": "pa55word-Zx"}}
LONG_ENOUGH = 120_000
"""Milliseconds after which a process that should have ended, or said something, counts as stuck."""


def test_become_is_refused(runner: PlaybookRunner) -> None:
    played = runner.play([{**TALK, "become": True}])
    assert played.results["talk"]["msg"] == (
        f"{MODULE} asks an API from the controller process and cannot become another user there:"
        " set become: false for this task."
    )
    assert played.lines == []


def test_become_of_the_play_can_be_turned_off(runner: PlaybookRunner) -> None:
    played = runner.play([{**TALK, "become": False}], become=True)
    assert played.results["talk"]["status"] == "ok"


def test_become_that_a_variable_says_of_all_hosts_does_not_concern_the_controller(runner: PlaybookRunner) -> None:
    """Such as ansible_become in group_vars/all, which no keyword of a play overrides."""
    played = runner.play([TALK], become=False, vars={"ansible_become": True})
    assert played.results["talk"]["status"] == "ok"


def test_delegation_from_elsewhere_runs_here(runner: PlaybookRunner) -> None:
    played = runner.play([{**TALK, "delegate_to": HERE}], ELSEWHERE)
    assert "[elsewhere] two lines" in played.lines


def test_other_places_and_other_pythons_get_the_shipped_module(runner: PlaybookRunner) -> None:
    other = {"ansible_python_interpreter": str(runner.directory / "python")}
    tasks = [
        {**TALK, "name": "elsewhere", "delegate_to": ELSEWHERE},
        {**TALK, "name": "another Python there", "delegate_to": OTHER_PYTHON},
        {**TALK, "name": "another Python here", "vars": other},
        {**TALK, "name": "asynchronous", "async": 60, "poll": 1},
    ]
    played = runner.play(tasks)
    assert [result["status"] for result in played.results.values()] == ["ok"] * len(tasks)
    assert played.lines == []


def test_discovery_names_no_python(runner: PlaybookRunner) -> None:
    assert runner.play([{**TALK, "vars": {"ansible_python_interpreter": "auto_silent"}}]).lines != []


def test_silent_under_no_log(runner: PlaybookRunner) -> None:
    played = runner.play([{**TALK, "no_log": True}])
    assert played.lines == []
    assert "censored" in played.results["talk"]


def test_silent_under_the_no_log_setting(runner: PlaybookRunner) -> None:
    played = runner.play([TALK], settings={"ANSIBLE_NO_LOG": "1"}, options=["-vvvv"])
    assert played.lines == []
    assert "flood" not in played.output


def test_lines_go_beside_output_for_programs(runner: PlaybookRunner) -> None:
    played = runner.play([TALK], settings={"ANSIBLE_STDOUT_CALLBACK": "parity.fixture.json"})
    assert json.loads(played.stdout) == {"hosts": ["here"]}
    assert "[here] two lines" in played.stderr


def test_log_file_holds_no_secret(runner: PlaybookRunner) -> None:
    log = runner.directory / "ansible.log"
    tasks = [TALK, {"name": "print", MODULE: {"do": "print", "password": "pa55word-Zx"}}]
    runner.play(tasks, settings={"ANSIBLE_LOG_PATH": str(log)}, options=["-vvvv"])
    text = log.read_text(encoding="utf-8")
    assert "two lines" in text
    assert "pa55word-Zx" not in text


def test_traceback_only_when_asked_for_and_masked(runner: PlaybookRunner) -> None:
    crash = {"name": "crash", MODULE: {"do": "crash", "password": "pa55word-Zx"}}
    assert "Traceback" not in runner.play([crash]).output
    asked = runner.play([crash], settings={"ANSIBLE_DISPLAY_TRACEBACK": "error"}, options=["-vvv"])
    assert "Traceback" in asked.output
    assert "in crash" in asked.output
    assert "pa55word-Zx" not in asked.output + json.dumps(asked.results)


def test_free_strategy(runner: PlaybookRunner) -> None:
    assert "[here] two lines" in runner.play([TALK], strategy="free").lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_work(runner: PlaybookRunner, number: signal.Signals) -> None:
    with hanging(runner) as (controller, worker):
        os.killpg(controller.pid, number)
        assert readable(worker)
        assert controller.wait() not in (0, -signal.SIGKILL)


@pytest.mark.parametrize("host", [HERE, OTHER_PYTHON])
def test_a_killed_controller_leaves_nobody_working(runner: PlaybookRunner, host: str) -> None:
    """Neither the worker of Ansible, nor a shipped module under the shell of a worker that lives on."""
    with hanging(runner, host) as (controller, worker):
        controller.kill()
        assert readable(worker)


def test_live_in_the_events_of_a_job_runner(runner: PlaybookRunner, tmp_path: Path) -> None:
    """ansible-runner, as AWX runs jobs; in a process of its own, because it takes over the signals of its process."""
    pytest.importorskip("ansible_runner")
    (tmp_path / "project").mkdir()
    play = {"hosts": HERE, "gather_facts": False, "tasks": [TALK]}
    (tmp_path / "project" / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ansible_runner", "run", str(tmp_path), "--playbook", "play.yml", "--ident", "job"),
            *("--inventory", str(runner.directory / "inventory.yml"), "--quiet"),
        ],
        env={**runner.environment(), "RECORD_FILE": os.devnull},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.glob("artifacts/job/job_events/*.json")]
    lines = [event["stdout"] for event in map(json.loads, texts) if event["event"] == "verbose"]
    assert (done.returncode, done.stderr) == (0, "")
    assert "[here] two lines" in lines
    assert [text for text in texts if "pa55word-Zx" in text] == []


@contextmanager
def hanging(runner: PlaybookRunner, host: str = HERE) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A playbook in the middle of a task that waits, and a descriptor of the process that waits."""
    pipe = runner.directory / "process"
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    number = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    hang = {MODULE: {"do": "hang", "file": str(pipe), "wait_timeout": 600, "wait_sleep": 0.1}}
    playbook = runner.directory / "hang.yml"
    playbook.write_text(json.dumps([{"hosts": host, "gather_facts": False, "tasks": [hang]}]), encoding="utf-8")
    controller = subprocess.Popen(
        [*ansible_playbook(), "-i", str(runner.directory / "inventory.yml"), str(playbook)],
        cwd=runner.directory,
        env={**runner.environment(), "RECORD_FILE": os.devnull},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    watchdog = threading.Timer(LONG_ENOUGH / 1000, controller.kill)
    watchdog.start()
    with controller:
        worker = -1
        try:
            if host == HERE:
                read_live_line(controller)
            if not readable(number):
                raise AssertionError("the task did not come to its second look")
            worker = os.pidfd_open(int(os.read(number, 20)))
            yield controller, worker
        finally:
            watchdog.cancel()
            os.close(number)
            if controller.poll() is None:
                controller.kill()
            if worker >= 0:
                if not readable(worker, 0):
                    signal.pidfd_send_signal(worker, signal.SIGKILL)
                os.close(worker)


def read_live_line(controller: subprocess.Popen[str]) -> None:
    """Come back when the worker has said, through a pipe and while it works, that it is about to wait."""
    said: list[str] = []
    for line in controller.stdout or ():
        if line.startswith("[here] It is about to wait."):
            return
        said.append(line)
    raise AssertionError(f"the task did not come to its wait: {''.join(said)}")


def readable(descriptor: int, milliseconds: int = LONG_ENOUGH) -> bool:
    """Whether a descriptor has something to read in time; that of a process has when the process ends."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(milliseconds))
