"""The duties of the first process of a container: signals, orphans, and the end of the container."""

from __future__ import annotations

import signal

import pytest

from tests.unit.agent.agents import Agent, Place, agent, namespace

SHELL_WITHOUT_TRAPS = """
sh -c 'trap "echo the server ends; exit 5" TERM; echo serving; while :; do tail -f /dev/null & wait $!; done' ; true
"""
"""An entry point as that of OpenSearch 2: the shell waits for the server in front, and SIGTERM ends the shell alone."""

DEAF = "trap '' TERM; echo deaf; while :; do tail -f /dev/null; done"
DEAF_SERVER = f'sh -c "{DEAF}" & wait'


def test_it_is_the_first_process_where_this_machine_permits(place: Place) -> None:
    with agent(place, ["sh", "-c", "echo parent $PPID; tail -f /dev/null"]) as running:
        running.await_log(f"parent {1 if namespace() else running.pid}\n")


@pytest.mark.parametrize("name", ["INT", "HUP", "USR1", "USR2", "QUIT"])
def test_signals_reach_the_process(place: Place, name: str) -> None:
    with agent(place) as running:
        running.await_log("begun")
        running.signal(signal.Signals[f"SIG{name}"])
        running.await_log(f"got {name}\n")
        assert running.ask("GET", "/es/status").said["running"]


def test_a_container_that_has_to_stop_ends_with_the_code_of_the_process(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        running.signal(signal.SIGTERM)
        assert running.ended() == 3
        assert "got TERM" in running.log()


@pytest.mark.parametrize(
    ("command", "code"), [("exit 0", 0), ("exit 9", 9), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)]
)
def test_a_process_that_dies_by_itself_ends_the_container(place: Place, command: str, code: int) -> None:
    with agent(place, ["sh", "-c", f"echo last words; {command}"]) as running:
        assert running.ended() == code
        assert "last words" in running.log()


def test_what_it_starts_has_no_signal_blocked_or_ignored(place: Place) -> None:
    # Not by way of a shell, since that may set the mask itself.
    with agent(place, ["grep", "^Sig", "/proc/self/status"]) as running:
        assert running.ended() == 0
        seen = dict(line.split(":\t") for line in running.log().splitlines() if line.startswith("Sig"))
        # glibc lets its own two, 32 and 33, be ignored in whatever posix_spawn starts.
        ignored = int(seen["SigIgn"], 16) & ~(1 << 31 | 1 << 32)
        assert (int(seen["SigBlk"], 16), ignored) == (0, 0)


def test_orphans_are_reaped(place: Place) -> None:
    orphans = "for each in 1 2 3 4 5; do (true & (sh -c 'echo orphan' &) &) ; done; exec tail -f /dev/null"
    with agent(place, ["sh", "-c", orphans]) as running:
        running.await_log("orphan", times=5)
        running.await_that("one process", lambda: list(running.processes().values()) == ["S"] or None)


def test_a_server_that_its_shell_leaves_behind_ends_in_good_order_before_the_process_counts_as_stopped(
    place: Place,
) -> None:
    with agent(place, ["bash", "-c", SHELL_WITHOUT_TRAPS]) as running:
        running.await_log("serving")
        assert running.stop().said["changed"]
        seen = running.await_status(running=False)
        assert "the server ends" in running.log()
        assert (seen["exit_code"], seen["stopping"]) == (143, False)
        assert running.processes() == {}


def test_a_container_that_has_to_stop_lets_such_a_server_end_too(place: Place) -> None:
    with agent(place, ["bash", "-c", SHELL_WITHOUT_TRAPS]) as running:
        running.await_log("serving")
        running.signal(signal.SIGTERM)
        assert running.ended() == 143
        assert "the server ends" in running.log()


@pytest.mark.parametrize("command", [DEAF, DEAF_SERVER])
def test_what_does_not_end_is_killed_after_the_patience(place: Place, command: str) -> None:
    with agent(place, ["sh", "-c", command]) as running:
        running.await_log("deaf")
        said = running.stop(patience=3600).said
        assert (said["running"], said["stopping"], said["stopped_by_request"]) == (True, True, True)
        assert running.start().said["error"] == "The process is about to end; ask again when it has ended."
        assert not running.stop(patience=0).said["changed"]
        running.await_status(running=False, stopping=False)
        assert running.processes() == {}


def test_a_stopped_process_leaves_the_container_up_and_the_signals_that_end_it_do(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        running.stop()
        seen = running.await_status(running=False)
        assert (seen["pid"], seen["exit_code"], seen["running_checksum"]) == (None, 3, None)
        running.signal(signal.SIGUSR1)
        assert running.ask("GET", "/es/status").status == 200
        running.signal(signal.SIGQUIT)
        assert running.ended() == 0


def test_a_signal_for_the_container_ends_it_while_the_process_stops_by_request(place: Place) -> None:
    with agent(place, ["sh", "-c", DEAF]) as running:
        running.await_log("deaf")
        running.stop(patience=3600)
        running.signal(signal.SIGTERM)
        running.await_status(stopping=True)
        running.stop(patience=0)
        assert running.ended() == 137


def test_a_command_that_cannot_be_run_ends_the_container(place: Place) -> None:
    with pytest.raises(ValueError), agent(place, ["/no/such/command"]) as running:  # noqa: PT012 - it may end at once
        assert running.ended() == 127
        assert "The command of the process cannot be run: No such file or directory." in running.log()
        raise ValueError


def test_the_output_keeps_its_streams_and_the_last_lines(place: Place) -> None:
    talk = "for each in $(seq 30); do echo line $each; done; head -c 3000 /dev/zero | tr '\\0' x; echo; echo err >&2"
    with agent(place, ["sh", "-c", f"{talk}; tail -f /dev/null"]) as running:
        lines = running.await_that("all lines", lambda: _all_lines(running))
        assert len(lines) == 20
        assert max(map(len, lines)) == 1_000
        assert "line 30" in lines
        assert "x" * 3_000 in running.log()


def _all_lines(running: Agent) -> list[str] | None:
    lines: list[str] = running.ask("GET", "/es/status").said["log"]
    return lines if "err" in lines and "x" * 1_000 in lines else None
