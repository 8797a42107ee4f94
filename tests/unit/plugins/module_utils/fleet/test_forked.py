"""Playbooks are forks of one process, or processes of their own where none can be forked."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import forked
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.forked import ForkedProcess
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.prepared import POLL, PreparedProcess

WAITS = """
- hosts: localhost
  gather_facts: false
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  tasks:
    - ansible.builtin.shell: {cmd: "echo started > started; exec sleep 600", chdir: "{{ playbook_dir }}"}
"""

REFUSES_ONCE = """
import errno, os, runpy, sys

fork, asked = os.fork, []

def short():
    asked.append(1)
    if len(asked) == 1:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    return fork()

os.fork = short
sys.path.insert(0, "")
runpy.run_path("{program}", run_name="__main__")
"""


@pytest.fixture
def surroundings(ansible_environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those of a controller that has started a fleet."""
    monkeypatch.setattr(forked, "_FORKS", [])
    for name, value in ansible_environment.items():
        monkeypatch.setenv(name, value)
    # pytest keeps the name of the running step there, and changes it.
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    settings = SimpleNamespace(DEFAULT_INTERNAL_POLL_INTERVAL=0.001)
    forked.prepare(settings)
    assert settings.DEFAULT_INTERNAL_POLL_INTERVAL == POLL
    yield
    forked._FORKS.clear()


def waiting(folder: Path) -> ForkedProcess:
    """A playbook whose only task has started, and runs for ten minutes.

    Its worker must have written nothing for a while: Ansible's queue has a lock that a worker takes with it if the
    interrupt comes in the instant after it has written, and its controller then waits for that lock for ever.
    """
    os.mkfifo(folder / "started")
    (folder / "waits.yml").write_text(WAITS)
    playbook = forked.started(["-i", "localhost,", "-c", "local", str(folder / "waits.yml")], dict(os.environ))
    assert playbook is not None
    with open(os.open(folder / "started", os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as started:
        assert select.select([started], [], [], 60)[0], "The task of the playbook has not started."
    return playbook


@pytest.mark.usefixtures("surroundings")
def test_several_playbooks_are_forks_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    version = forked.started(["--version"], dict(os.environ))
    wrong = forked.started(["--no-such-option"], {**os.environ, "STATEFUL_UPGRADE_STATS_FILE": "x"})
    waits = waiting(tmp_path)
    assert version is not None
    assert wrong is not None
    assert "ansible-playbook" in version.stdout.read()
    assert "usage: ansible-playbook" in wrong.stdout.read()
    assert (version.wait(), wrong.wait(), waits.poll()) == (0, 2, None)
    assert "PLAY [localhost]" in next(line for line in waits.stdout if line.strip())
    waits.send_signal(signal.SIGINT)
    assert waits.wait(60)
    monkeypatch.setenv("OWN_OF_THE_TASK", "yes")
    assert forked.started(["--version"], dict(os.environ)) is None


@pytest.mark.usefixtures("surroundings")
def test_a_playbook_is_followed_and_ended_without_the_process_that_has_forked_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may end that one when memory is short; the upgrade goes on, and must not be left to itself."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    waits = waiting(tmp_path)
    (forks,) = forked._FORKS
    assert forks._process is not None
    forks._process.kill()
    forks._process.wait()
    assert waits.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        waits.wait(0.0)
    try:
        waits.send_signal(signal.SIGINT)
        assert waits.wait(60)
    finally:
        waits.kill()
    assert waits.poll()


@pytest.mark.usefixtures("surroundings")
def test_a_process_that_cannot_be_made_ready_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    program = tmp_path / "prepared.py"
    program.write_text("raise SystemExit(1)")
    monkeypatch.setattr(forked, "PROGRAM", program)
    assert forked.started(["--version"], dict(os.environ)) is None
    (forks,) = forked._FORKS
    assert not forks.serve


def test_where_no_process_can_be_forked_its_worker_is_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def short() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", short)
    for name in ("signal", "set_wakeup_fd"):
        monkeypatch.setattr(signal, name, lambda *_given: None)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    waits, status = socket.socketpair()
    reads, writes = os.pipe()
    with ours, theirs, waits, status, os.fdopen(reads), os.fdopen(writes, "w") as output:
        socket.send_fds(ours, [b"r"], [output.fileno(), output.fileno(), status.fileno()])
        status.close()
        ours.shutdown(socket.SHUT_WR)
        assert PreparedProcess(theirs).serve() is None
        assert waits.recv(4) == b"0\n"


@pytest.mark.usefixtures("surroundings")
def test_one_fork_that_is_refused_keeps_no_later_one_from_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory is short, processes with imports of their own would make it shorter."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    program = tmp_path / "prepared.py"
    program.write_text(REFUSES_ONCE.format(program=forked.PROGRAM))
    monkeypatch.setattr(forked, "PROGRAM", program)
    assert forked.started(["--version"], dict(os.environ)) is None
    version = forked.started(["--version"], dict(os.environ))
    assert version is not None
    assert "ansible-playbook" in version.stdout.read()
    assert version.wait() == 0
