# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs beside one another, left alone, aborted and disturbed: one acts, nothing twice, all is put back."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping

import pexpect  # type: ignore[import-untyped]  # it has no type hints
import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.circumstances import POOL, lose
from tests.scenarios.cluster import BOOT, Cluster
from tests.scenarios.ground import Ground
from tests.scenarios.interruptions import ACTS, EXCLUDE, KILLS, Siege
from tests.scenarios.playbook import PATIENCE as LONGEST
from tests.scenarios.playbook import PLAYBOOK, Playing, command_of
from tests.scenarios.wire import Trap, Wire

FROM, TO = "2.19.6", "3.8.0"
ENABLE = "cluster.routing.allocation.enable"
PATIENCE = 120.0
SLOW = 12.0
GROUP = KILLS["SIGKILL to its process group"]
NUMBERS = itertools.count(1)


@pytest.fixture
def siege(ground: Ground, ansible_environment: Mapping[str, str]) -> Iterator[Siege]:
    cluster = Cluster.start(ground, f"runs-{next(NUMBERS)}", three_combined, FROM)
    yield Siege.lay(cluster, TO, ansible_environment)
    cluster.remove()


def until_deleting(wire: Wire, run: Playing) -> str:
    """The first member that a run takes down, as soon as it does."""

    def deletion() -> str:
        assert not run.ended
        return next((act.path.rpartition("/")[2] for act in wire.acts if "/pods/" in act.path), "")

    return until("the first deletion", deletion, PATIENCE)


@contextlib.contextmanager
def slow_first(siege: Siege, seconds: float = SLOW) -> Iterator[str]:
    """The first member to go takes so long to stop that what is asked meanwhile comes before the second one."""
    faults, first = siege.cluster.ground.faults, siege.first_to_go()
    faults.slow_stop(siege.cluster.namespace, first, seconds)
    try:
        yield first
    finally:
        faults.mend(siege.cluster.namespace, first)


def has_completed(siege: Siege) -> None:
    assert set(siege.cluster.versions().values()) == {TO}
    assert siege.deleted() == sorted(siege.before.pods)
    assert siege.left_behind() == {}


@pytest.mark.parametrize("kept_in", ["kubernetes", "opensearch"])
def test_of_two_runs_that_begin_together_one_acts(siege: Siege, kept_in: str) -> None:
    where = {"upgrade_lock_kept_in": kept_in}
    with siege.running(**where) as (one, first), siege.running(**where) as (other, second):
        played = [first.wait(), second.wait()]

    assert sorted(each.code == 0 for each in played) == [False, True], [each.message for each in played]
    (refused,) = [each for each in played if each.code]
    print(refused.message)
    assert " has held the lock since " in refused.message
    assert "upgrade_take_over" in refused.message
    idle = other if played[0].code == 0 else one
    # That its plan is refused may stand in an event: a message, and no act.
    made = [act for act in idle.acts if act.status is not None and act.status < 300 and "/events" not in act.path]
    assert made == []
    has_completed(siege)


def test_what_a_killed_run_left_is_settled_without_it(siege: Siege) -> None:
    assert siege.killed_at("restrict", after=True, kill=GROUP)
    assert json.loads(siege.cluster.ask("/_cluster/settings"))["persistent"]["cluster"]["routing"]

    status = siege.beside("stateful.upgrade.status")
    assert status.code == 0
    assert "was interrupted" in status.output

    settled = siege.beside("stateful.upgrade.settle")
    print(settled.output)
    assert settled.code == 0, settled.message
    after = siege.cluster.fingerprint()
    assert after.settings == siege.before.settings
    assert after.pods == siege.before.pods
    assert "stays OnDelete" in settled.output
    again = siege.beside("stateful.upgrade.settle")
    assert again.changed == {"localhost": 0}


def test_what_a_run_killed_while_it_drained_left_is_settled_without_it(
    ground: Ground, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(ground, "killed-draining", three_combined, FROM, ephemeral=True)
    try:
        cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 6}})
        cluster.until_green()
        siege = Siege.lay(cluster, TO, ansible_environment)
        for after in (False, True):
            assert siege.killed_at("drain", after=after, kill=GROUP)
        assert EXCLUDE in cluster.ask("/_cluster/settings?flat_settings=true")

        settled = siege.beside("stateful.upgrade.settle")
        print(settled.output)
        assert settled.code == 0, settled.message
        assert cluster.fingerprint() == siege.before

        assert siege.killed_at("drain", after=True, kill=GROUP)
        assert siege.completed().code == 0
        has_completed(siege)
    finally:
        cluster.remove()


def test_what_a_person_has_changed_meanwhile_stays(siege: Siege) -> None:
    assert siege.killed_at("restrict", after=True, kill=GROUP)
    siege.cluster.ask("/_cluster/settings", "PUT", {"persistent": {ENABLE: "new_primaries"}})

    settled = siege.beside("stateful.upgrade.settle")

    print(settled.output)
    assert settled.code == 0, settled.message
    assert "something else has changed it to 'new_primaries' since; it is left as it is" in settled.output
    settings = json.loads(siege.cluster.ask("/_cluster/settings?flat_settings=true"))
    assert settings["persistent"] == {ENABLE: "new_primaries"}


def test_an_aborted_run_finishes_its_member_and_goes_on_later(siege: Siege) -> None:
    cluster = siege.cluster
    with slow_first(siege) as first, siege.running() as (wire, run):
        member = until_deleting(wire, run)
        aborted = siege.beside("stateful.upgrade.abort")
        stopped = run.wait()
    assert member == first

    print(stopped.output, aborted.output, sep="\n")
    assert aborted.code == 0, aborted.message
    assert "The run was asked to stop" in stopped.message
    assert "stays OnDelete" in stopped.output
    now = cluster.fingerprint()
    assert now.settings == siege.before.settings
    assert {name for name in now.pods if now.pods[name] != siege.before.pods[name]} == {member}
    assert cluster.versions()[member] == TO
    assert "Aborted" in siege.beside("stateful.upgrade.status").output

    other = next(name for name in sorted(now.pods) if name != member)
    lose(cluster, other)
    until("the lost member's return", lambda: cluster.versions().get(other), BOOT)
    assert cluster.versions()[other] == TO
    later = cluster.fingerprint()
    assert {name for name in later.pods if later.pods[name] != now.pods[name]} == {other}

    assert siege.completed().code == 0
    assert cluster.fingerprint().pods[member] == now.pods[member]
    assert set(cluster.versions().values()) == {TO}
    assert siege.left_behind() == {}


def test_an_api_server_that_is_killed_and_comes_back_is_waited_for(siege: Siege) -> None:
    with siege.running() as (wire, run):
        until_deleting(wire, run)
        siege.cluster.ground.faults.api_server_away(8)
        played = run.wait()

    print(played.output)
    assert played.code == 0, played.message
    has_completed(siege)


def test_a_member_that_dies_by_itself_is_waited_for(siege: Siege) -> None:
    with siege.running() as (wire, run):
        member = until_deleting(wire, run)
        other = next(name for name in sorted(siege.before.pods) if name != member)
        siege.cluster.ground.faults.kill(siege.cluster.namespace, other)
        played = run.wait()

    print(played.output)
    assert played.code == 0, played.message
    has_completed(siege)


def test_a_wrong_clock_of_the_controller_does_no_harm(siege: Siege, tmp_path_factory: pytest.TempPathFactory) -> None:
    ahead, behind = (
        dict(siege.environment, PYTHONPATH=str(clock_off_by(tmp_path_factory, hours))) for hours in (5, -5)
    )
    siege.environment = behind
    assert siege.killed_at("delete", after=True, kill=KILLS["SIGKILL to the controller"])
    siege.environment = ahead
    assert siege.killed_at("restore", after=False, kill=GROUP)
    siege.environment = behind
    played = siege.completed()
    assert played.code == 0, played.message
    assert not siege.late_acts()
    has_completed(siege)


def clock_off_by(folders: pytest.TempPathFactory, hours: int) -> str:
    """A folder that, in PYTHONPATH, sets the clock of every Python wrong: what the modules read it by."""
    folder = folders.mktemp("clock")
    (folder / "sitecustomize.py").write_text(
        "import datetime, time\n"
        f"OFF = {hours * 3600}\n"
        "right = time.time\n"
        "time.time = lambda: right() + OFF\n"
        "class Wrong(datetime.datetime):\n"
        "    @classmethod\n"
        "    def now(cls, tz=None):\n"
        "        return super().now(tz) + datetime.timedelta(seconds=OFF)\n"
        "datetime.datetime = Wrong\n"
    )
    return str(folder)


def test_a_plan_that_changes_before_the_lock_is_not_carried_out(siege: Siege) -> None:
    cluster = siege.cluster
    method, path, holds = ACTS["lock"]
    with siege.running() as (wire, run):
        wire.trap = Trap(method, path, after=True, spring=lambda: scale(cluster, 4), holds=holds)
        played = run.wait()
    scale(cluster, 3)

    print(played.output)
    assert played.code != 0
    assert "The plan has changed since it was shown" in played.message
    assert siege.deleted() == []
    until("the fourth pod's end", lambda: len(cluster.fingerprint().pods) == 3, PATIENCE)
    assert siege.left_behind() == {}


def scale(cluster: Cluster, replicas: int) -> None:
    """Somebody else changes the pool."""
    with cluster.ground.client() as api:
        patch = {"spec": {"replicas": replicas}}
        client.AppsV1Api(api).patch_namespaced_stateful_set(POOL, cluster.namespace, patch)


@pytest.mark.parametrize("answer", ["no", "yes"])
def test_a_person_at_a_terminal_is_asked(siege: Siege, answer: str) -> None:
    variables = {**siege.cluster.variables(TO), "upgrade_skip_image_check": True}
    program, *arguments = command_of(PLAYBOOK, variables)
    environment = dict(siege.environment)
    terminal = pexpect.spawn(program, arguments, env=environment, timeout=LONGEST, encoding="utf-8")
    terminal.expect("Type yes to carry out plan p[0-9a-f]{11}")

    def heard() -> bool:
        # Ansible throws away what is typed before it listens, which it does a moment after its question.
        terminal.sendline(answer)
        return terminal.expect([pexpect.TIMEOUT, "TASK"], timeout=5) == 1

    until("the answer to be heard", heard, PATIENCE)
    terminal.expect(pexpect.EOF)
    terminal.close()

    versions = set(siege.cluster.versions().values())
    if answer == "yes":
        assert (terminal.exitstatus, versions) == (0, {TO}), terminal.before
    else:
        assert "was not confirmed, so nothing was done" in terminal.before
        assert terminal.exitstatus
        assert versions == {FROM}
    assert siege.left_behind() == {}


def test_when_the_time_of_the_run_is_over_no_further_member_goes(siege: Siege) -> None:
    with slow_first(siege, seconds=40) as first:
        # The time of the batch is over, too, while its member is down, which is brought back all the same.
        played = siege.completed(upgrade_run_timeout=30, upgrade_batch_timeout=30)

    print(played.output)
    assert played.code != 0
    assert "upgrade_run_timeout" in played.output
    assert siege.cluster.versions()[first] == TO
    assert siege.deleted() == [first]
    assert siege.cluster.fingerprint().settings == siege.before.settings
    assert siege.completed().code == 0
    has_completed(siege)
