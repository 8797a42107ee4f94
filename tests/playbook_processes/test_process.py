"""A forked run is a process of its own: its environment, its folder, its output, its end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.playbook_processes.process import PlaybookProcess, program, run

SAYS = """
import os, sys
print(os.getcwd(), os.environ["OWN"], sys.argv[1:], os.getpid() == os.getsid(0), flush=True)
print("beside", file=sys.stderr)
sys.exit(7)
"""
WAITS = "import signal; print('here', flush=True); signal.pause()"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program that says all it was given."""
    path = tmp_path / "says.py"
    path.write_text(SAYS, encoding="utf-8")
    return path


def test_a_run_has_what_it_was_given_and_its_exit_code(
    script: Path, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    for own in ("one", "two"):
        done = run([str(script), "a", own], {**ansible_environment, "OWN": own}, folder=tmp_path)
        assert (done.returncode, done.stdout) == (7, f"{tmp_path} {own} ['a', '{own}'] False\nbeside\n")
    controller = PlaybookProcess([str(script)], {**ansible_environment, "OWN": "three"}, own_session=True)
    assert controller.wait(60) == 7
    assert controller.output.startswith(f"{Path.cwd()} three [] True")
    assert controller.pid != os.getpid()


def test_a_run_that_takes_too_long_is_killed(tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    script = tmp_path / "waits.py"
    script.write_text(WAITS, encoding="utf-8")
    with pytest.raises(subprocess.TimeoutExpired):
        run([str(script)], ansible_environment, timeout=0.1)
    waiting = PlaybookProcess([str(script)], ansible_environment, own_session=True)
    assert waiting.poll() is None
    os.killpg(waiting.pid, signal.SIGKILL)
    assert (waiting.wait(60), waiting.poll()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_threads_that_wait_for_the_same_end_all_get_it(script: Path, ansible_environment: Mapping[str, str]) -> None:
    """The server that a test plays asks whether the run has ended, while the test waits for its end."""
    for _ in range(10):
        controller = PlaybookProcess([str(script)], {**ansible_environment, "OWN": "one"}, own_session=True)
        with ThreadPoolExecutor(8) as threads:
            assert {*threads.map(PlaybookProcess.wait, [controller] * 8)} == {7}


def test_ansible_says_the_same_as_a_process_that_is_started(ansible_environment: Mapping[str, str]) -> None:
    """Nothing of the process that prepares it is seen: not in the configuration, not in the version."""
    command = [program(), "--version"]
    started = subprocess.run(
        command, env=dict(ansible_environment), capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    assert run(command, ansible_environment).stdout == started.stdout + started.stderr
