"""Concurrent runs, asked for consent, and out of time: one acts, and all is put back."""

from __future__ import annotations

import re

import pexpect  # type: ignore[import-untyped]  # it has no type hints
import pytest
from kubernetes import client

from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.fault_proxy import Trap
from tests.scenarios.interruptions import (
    ACTS,
    END,
    UpgradeRuns,
    conclude,
    upgraded_once,
)
from tests.scenarios.playbook import PATIENCE as LONGEST
from tests.scenarios.playbook import PLAYBOOK, command_of
from tests.scenarios.preconditions import POOL


@pytest.mark.parametrize("kept_in", [pytest.param("kubernetes", marks=pytest.mark.own_process), "opensearch"])
def test_of_two_runs_that_begin_together_one_acts(upgrade_runs: UpgradeRuns, kept_in: str) -> None:
    where = {"upgrade_lock_kept_in": kept_in}
    with upgrade_runs.running(**where) as (one, first), upgrade_runs.running(**where) as (other, second):
        played = [first.wait(), second.wait()]

    assert sorted(each.code == 0 for each in played) == [False, True], [each.message for each in played]
    (refused,) = [each for each in played if each.code]
    print(refused.message)
    assert " has held the lock since " in refused.message
    assert "upgrade_take_over" in refused.message
    idle = other if played[0].code == 0 else one
    # That its plan is refused may be in an event: a message, and no act.
    made = [act for act in idle.acts if act.status is not None and act.status < 300 and "/events" not in act.path]
    assert made == []
    upgraded_once(upgrade_runs)


def test_a_plan_that_changes_before_the_lock_is_not_carried_out(upgrade_runs: UpgradeRuns) -> None:
    cluster = upgrade_runs.cluster
    method, path, holds = ACTS["lock"]
    with upgrade_runs.running() as (proxy, run):
        proxy.trap = Trap(method, path, after=True, spring=lambda: scale(cluster, 4), holds=holds)
        played = run.wait()
    scale(cluster, 3)

    print(played.output)
    assert played.code != 0
    assert "The plan has changed since it was shown" in played.message
    assert upgrade_runs.deleted() == []
    # A signal before the server handles it is lost (pid_namespaces(7)), and the grace period passes: as long as END.
    until("the fourth pod's end", lambda: len(cluster.fingerprint().pods) == 3, 2 * END)
    assert upgrade_runs.left_behind() == {}


def scale(cluster: Cluster, replicas: int) -> None:
    """Someone else changes the pool."""
    with cluster.platform.client() as api:
        patch = {"spec": {"replicas": replicas}}
        client.AppsV1Api(api).patch_namespaced_stateful_set(POOL, cluster.namespace, patch)


@pytest.mark.own_process
@pytest.mark.parametrize("answer", ["no", "yes"])
def test_a_person_at_a_terminal_is_asked(upgrade_runs: UpgradeRuns, answer: str) -> None:
    variables = {**upgrade_runs.cluster.variables("3.8.0"), "upgrade_skip_checks": ["images"]}
    program, *arguments = command_of(PLAYBOOK, variables)
    environment = dict(upgrade_runs.environment)
    terminal = pexpect.spawn(program, arguments, env=environment, timeout=LONGEST, encoding="utf-8")
    terminal.expect("Type yes to carry out plan p[0-9a-f]{11}")

    def heard() -> bool:
        # Ansible throws away what is typed before it listens, which it does shortly after its question.
        terminal.sendline(answer)
        return terminal.expect([pexpect.TIMEOUT, "TASK"], timeout=5) == 1

    until("the answer to be heard", heard, END)
    terminal.expect(pexpect.EOF)
    terminal.close()

    versions = set(upgrade_runs.cluster.versions().values())
    if answer == "yes":
        assert (terminal.exitstatus, versions) == (0, {"3.8.0"}), terminal.before
    else:
        assert re.search("Nothing was done: plan p[0-9a-f]{11} was not confirmed[.]", terminal.before)
        assert "to carry it out" not in terminal.before  # advice for someone who has just said no
        assert terminal.exitstatus
        assert versions == {"2.19.6"}
    assert upgrade_runs.left_behind() == {}


@pytest.mark.soak
def test_when_the_time_of_the_run_is_over_no_further_member_goes(upgrade_runs: UpgradeRuns) -> None:
    with upgrade_runs.slow_first(40) as first:
        # The time of the batch is over, too, while its member is down, which is brought back all the same.
        played = upgrade_runs.completed(upgrade_run_timeout=30, upgrade_batch_timeout=30)

    print(played.output)
    assert played.code != 0
    assert "upgrade_run_timeout" in played.output
    assert upgrade_runs.cluster.versions()[first] == "3.8.0"
    assert upgrade_runs.deleted() == [first]
    assert upgrade_runs.cluster.fingerprint().settings == upgrade_runs.before.settings
    conclude(upgrade_runs)
