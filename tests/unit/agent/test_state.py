"""Stop and start: idempotent, kept over a restart of the container, and only on the configuration that is expected."""

from __future__ import annotations

import json
import signal

import pytest

from tests.unit.agent.agents import Agent, Place, agent


def restarted(running: Agent) -> None:
    """Lets the container end, as a liveness probe would."""
    running.signal(signal.SIGTERM)
    running.ended()


def test_stop_and_start_change_something_once(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        first = running.await_status(running=True)
        assert running.stop(request_id="r1").said["changed"]
        assert not running.stop(request_id="r1").said["changed"]
        assert not running.stop(request_id="r2").said["changed"]
        running.await_status(running=False, stopped_by_request=True)
        started = running.start(request_id="r1").said
        assert (started["changed"], started["running"], started["stopped_by_request"]) == (True, True, False)
        assert started["pid"] != first["pid"]
        assert started["started_at"] > first["started_at"]
        again = running.start(request_id="r3").said
        assert (again["changed"], again["pid"]) == (False, started["pid"])
        assert again["last_start"] == "r3"
        running.await_log("begun", times=2)
        assert running.log().count("got TERM") == 1


def test_a_stale_request_never_ends_or_starts_a_process_again(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        running.stop(request_id="r1")
        running.await_status(running=False)
        running.start(request_id="r1")
        pid = running.await_status(running=True)["pid"]
        stale = running.stop(request_id="r1").said
        assert (stale["changed"], stale["stopped_by_request"], stale["pid"]) == (False, False, pid)
        running.stop(request_id="r2")
        running.await_status(running=False)
        stale = running.start(request_id="r1").said
        assert (stale["changed"], stale["running"]) == (False, False)
        assert running.log().count("got TERM") == 2


def test_a_stop_that_comes_after_the_start_of_the_same_restart_does_nothing(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        running.start(request_id="r1")
        assert not running.stop(request_id="r1").said["changed"]
        assert running.ask("GET", "/es/status").said["running"]
        assert running.stop(request_id="r2").said["changed"]


def test_the_oldest_of_many_requests_are_forgotten(place: Place) -> None:
    with agent(place) as running:
        for number in range(80):
            running.start(request_id=f"r{number}")
        assert len(json.loads((place.state / "state.json").read_text())["requests"]) == 64


def test_a_process_starts_only_on_the_expected_configuration(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        before = place.checksum()
        running.stop()
        running.await_status(running=False, checksum=before)
        place.config.write_text("cluster.name: two\n")
        refused = running.start(checksum=before, request_id="r1")
        assert refused.status == 409
        assert refused.said["error"] == "The mounted configuration is not the expected one."
        assert (refused.said["checksum"], refused.said["last_start"]) == (place.checksum(), None)
        started = running.start(request_id="r1").said
        assert (started["changed"], started["running_checksum"]) == (True, place.checksum())


def test_a_process_that_runs_stays_whatever_is_asked(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        before = running.await_status(running=True)
        place.config.write_text("cluster.name: two\n")
        refused = running.start(request_id="r1")
        assert refused.status == 409
        assert refused.said["error"] == "The process runs with another configuration than the expected one."
        assert (refused.said["checksum"], refused.said["running_checksum"]) == (place.checksum(), before["checksum"])
        assert refused.said["pid"] == before["pid"]


def test_a_configuration_that_is_not_there_has_no_checksum(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        expected = place.checksum()
        running.stop()
        running.await_status(running=False)
        place.config.unlink()
        refused = running.start(checksum=expected)
        assert (refused.status, refused.said["checksum"]) == (409, None)


def test_several_files_have_one_checksum(place: Place) -> None:
    other = place.folder / "jvm.options"
    other.write_text("-Xmx1g\n")
    with agent(place, options=["--config", str(other)]) as running:
        before = running.await_status(running=True)["checksum"]
        assert before != place.checksum()
        other.write_text("-Xmx2g\n")
        assert running.ask("GET", "/es/status").said["checksum"] != before
        other.unlink()
        assert running.ask("GET", "/es/status").said["checksum"] is None


def test_a_stop_outlives_the_container_and_so_do_the_requests(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        running.stop(request_id="r1")
        running.await_status(running=False)
        restarted(running)
    with agent(place) as running:
        seen = running.ask("GET", "/es/status").said
        assert (seen["running"], seen["stopped_by_request"], seen["exit_code"]) == (False, True, 3)
        assert seen["last_stop"] == "r1"
        assert running.start(request_id="r1").said["changed"]
        running.await_log("begun")
        restarted(running)
    with agent(place) as running:
        assert running.await_status(running=True)["last_start"] == "r1"
        assert not running.stop(request_id="r1").said["changed"]


def test_a_stop_is_kept_although_the_container_dies_before_the_process_has_ended(place: Place) -> None:
    with agent(place, ["sh", "-c", "trap '' TERM; echo deaf; while :; do tail -f /dev/null; done"]) as running:
        running.await_log("deaf")
        running.stop(patience=3600)
    with agent(place) as running:
        assert not running.ask("GET", "/es/status").said["running"]


def test_a_state_that_cannot_be_read_starts_nothing(place: Place) -> None:
    for broken in ("", "{", "[]", '{"stopped": 1}', '{"requests": [1]}', '{"requests": 1}'):
        (place.state / "state.json").write_text(broken)
        with agent(place) as running:
            seen = running.ask("GET", "/es/status").said
            assert (seen["running"], seen["stopped_by_request"]) == (False, True), broken
            assert "The kept state cannot be read" in running.log()
            assert running.start().said["changed"]


def test_a_stop_that_cannot_be_kept_is_not_begun(place: Place) -> None:
    with agent(place) as running:
        running.await_log("begun")
        place.state.rename(place.folder / "elsewhere")
        refused = running.stop(request_id="r1")
        assert refused.status == 503
        assert refused.said == {"error": "The state of the process cannot be kept: No such file or directory."}
        assert running.ask("GET", "/es/status").said["running"]
        (place.folder / "elsewhere").rename(place.state)
        assert running.stop(request_id="r1").said["changed"]


def test_a_command_that_is_gone_leaves_the_process_stopped(place: Place) -> None:
    command = place.folder / "server"
    command.write_text("#!/bin/sh\necho begun\nexec tail -f /dev/null\n")
    command.chmod(0o755)
    with agent(place, [str(command)]) as running:
        running.await_log("begun")
        running.stop()
        running.await_status(running=False)
        command.rename(place.folder / "away")
        refused = running.start(request_id="r1")
        assert refused.status == 409
        assert refused.said["error"] == "The command of the process cannot be run: No such file or directory."
        assert (refused.said["stopped_by_request"], refused.said["last_start"]) == (True, None)
        (place.folder / "away").rename(command)
        assert running.start(request_id="r1").said["changed"]


def test_the_first_start_waits_for_the_expected_configuration_and_later_ones_do_not(place: Place) -> None:
    expected = place.checksum()
    place.config.write_text("cluster.name: old\n")
    with agent(place, options=["--expected-checksum", expected]) as running:
        seen = running.ask("GET", "/es/status").said
        assert (seen["running"], seen["awaited_checksum"]) == (False, expected)
        place.config.write_text("cluster.name: one\n")
        seen = running.await_status(running=True)
        assert (seen["awaited_checksum"], seen["running_checksum"]) == (None, expected)
        running.start(request_id="r1")
        restarted(running)
    place.config.write_text("cluster.name: two\n")
    with agent(place, options=["--expected-checksum", expected]) as running:
        assert running.await_status(running=True)["running_checksum"] == place.checksum()


@pytest.mark.parametrize("requested", [False, True])
def test_a_container_that_begins_anew_does_not_wait_for_the_content_of_the_first_start(
    place: Place, requested: bool
) -> None:
    """A person changes the configuration much later, and the kubelet starts the container again. No run was there."""
    expected = place.checksum()
    options = ["--expected-checksum", expected]
    if requested:
        place.config.write_text("cluster.name: old\n")
    with agent(place, options=options) as running:
        if requested:
            assert running.start(request_id=None, checksum=place.checksum()).said["changed"]
        running.await_status(running=True)
    place.config.write_text("cluster.name: two\n")
    with agent(place, options=options) as running:
        assert running.await_status(running=True)["running_checksum"] == place.checksum()


def test_without_a_folder_for_the_state_a_stop_ends_with_the_container(place: Place) -> None:
    options = place.options()
    at = options.index("--state-directory")
    del options[at : at + 2]
    place.options = lambda: options  # type: ignore[method-assign]
    with agent(place) as running:
        running.await_log("begun")
        running.stop()
        running.await_status(running=False)
        restarted(running)
    with agent(place) as running:
        running.await_status(running=True)


@pytest.mark.parametrize("answered", [True, False])
def test_a_stop_while_the_first_start_waits_keeps_it_from_starting(place: Place, answered: bool) -> None:
    expected = place.checksum()
    place.config.write_text("cluster.name: old\n")
    with agent(place, options=["--expected-checksum", expected]) as running:
        if answered:
            assert running.stop().said["changed"]
        place.config.write_text("cluster.name: one\n")
        assert running.await_status(running=not answered)["awaited_checksum"] is None
