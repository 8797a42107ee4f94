"""The ancestors of real processes: numbers alone would not do, and zombies do nothing any more."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common import ancestry
from hypothesis import given
from hypothesis import strategies as st

LIVES = [sys.executable, "-c", "print(flush=True); input()"]
"""A process that says that it is there, and ends when its input does."""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(LIVES, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def hide(monkeypatch: pytest.MonkeyPatch, nowhere: Path) -> None:
    """As where processes of other users are hidden, or there is no /proc."""
    monkeypatch.setattr(ancestry, "_PROC", nowhere)


def test_those_above_are_named_nearest_first() -> None:
    above = ancestry.ancestors(3)
    assert ancestry.number_of(above[0]) == os.getppid()
    assert above[0] == ancestry.identity_of(os.getppid())
    assert len(set(above)) == len(above)
    assert ancestry.ancestors(2) == above[:2]
    assert ancestry.ancestors(0) == ()


def test_those_above_end_with_the_first_process() -> None:
    above = ancestry.ancestors(1000)
    assert len(above) < 1000
    assert all(ancestry.alive(each) for each in above)


def test_those_above_another_process(child: subprocess.Popen[str]) -> None:
    assert ancestry.ancestors(2, child.pid) == (ancestry.identity_of(child.pid), ancestry.identity())


def test_a_child_lives_until_it_has_ended(child: subprocess.Popen[str]) -> None:
    identity = ancestry.identity_of(child.pid)
    assert ancestry.alive(identity)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert (ancestry._stat(child.pid) or "?")[0] == "Z"
    assert not ancestry.alive(identity), "a zombie is there and does nothing"
    child.wait()
    assert not ancestry.alive(identity)


def test_a_number_that_was_given_again_is_another_process(child: subprocess.Popen[str]) -> None:
    number, _dot, started = ancestry.identity_of(child.pid).partition(".")
    assert not ancestry.alive(f"{number}.{int(started) - 1}")


def test_an_identity_without_a_start_is_alive_as_long_as_its_number(child: subprocess.Popen[str]) -> None:
    """It was written where the process could not be looked at: it is better that one waits than that two act."""
    assert ancestry.alive(str(child.pid))
    child.kill()
    child.wait()
    assert not ancestry.alive(str(child.pid))


def test_a_hidden_process_counts_as_alive_while_its_number_exists(
    child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = ancestry.identity_of(child.pid)
    hide(monkeypatch, tmp_path)
    assert ancestry.identity_of(child.pid) == str(child.pid)
    assert ancestry.alive(seen)
    child.kill()
    child.wait()
    assert not ancestry.alive(seen)


def test_a_process_of_another_user_counts_as_alive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def forbidden(_pid: int, _signal: int) -> None:
        raise PermissionError

    hide(monkeypatch, tmp_path)
    monkeypatch.setattr(os, "kill", forbidden)
    assert ancestry.alive("7.1")


@pytest.mark.parametrize("identity", ["", "0", "-1", "text", ".5", "0.5", "9" * 5000])
def test_what_names_no_process_is_not_alive(identity: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not ancestry.alive(identity)
    hide(monkeypatch, tmp_path)
    assert not ancestry.alive(identity)


@given(st.text())
def test_a_number_is_read_from_any_text(text: str) -> None:
    assert ancestry.number_of(text) >= 0


def test_a_place_is_this_boot_and_this_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    boot, _slash, container = ancestry.place().partition("/")
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    assert int(container) == os.stat("/proc/self/ns/pid").st_ino
    hide(monkeypatch, tmp_path)
    assert ancestry.place() == ""


CONTROLLER = "/venv/bin/python /venv/bin/ansible-playbook site.yml"
SHELL = "/bin/sh -c /usr/bin/python AnsiballZ_pool_order.py && sleep 0"


@pytest.mark.parametrize(
    ("commands", "known"),
    [
        ([SHELL, SHELL, CONTROLLER, CONTROLLER, "-bash", "sshd: ops"], 4),
        ([SHELL, CONTROLLER, CONTROLLER, "-bash"], 3),
        ([SHELL, "sudo -H -S -n -u root /bin/sh", "/bin/sh -c sudo", CONTROLLER, CONTROLLER, "tmux"], 5),
        ([SHELL, "bash -c /bin/sh", "sshd: ops@notty", "sshd: ops [priv]", "sshd"], 3),
        (["python async_wrapper.py 1 60", "python async_wrapper.py 1 60", "systemd"], 1),
        ([CONTROLLER, CONTROLLER, "-bash"], 2),
        (["bash"] * 9, 6),
    ],
    ids=["local", "local-one-shell", "local-become", "ssh", "asynchronous", "no-shell", "shells-for-ever"],
)
def test_what_is_above_a_shipped_module(
    commands: list[str], known: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number, command in enumerate(commands, start=101):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "cmdline").write_text(command.replace(" ", "\0") + "\0")
        above = number + 1 if number < 100 + len(commands) else 0
        (folder / "stat").write_text(f"{number} (a (strange) name) S {above} {'0 ' * 17}{number * 7} 0\n")
    monkeypatch.setattr(ancestry, "_PROC", tmp_path)
    monkeypatch.setattr(os, "getppid", lambda: 101)
    assert [ancestry.number_of(each) for each in ancestry.of_module()] == [*range(101, 101 + known)]


def test_where_there_is_no_proc_only_the_nearest_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide(monkeypatch, tmp_path)
    assert ancestry.of_module() == (str(os.getppid()),)
