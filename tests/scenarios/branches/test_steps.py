"""Steps next to the batches: in order, each with its condition, waited for or ending the pass, and taken again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, STATUS, Playing, confirmed, play, upgrade

FROM, TO = "2.19.6", "3.8.0"
NOTE = "- ansible.builtin.shell: echo {line} >> {log}\n"


def step(folder: Path, name: str, more: str = "") -> str:
    """A file of tasks that notes its name, and goes on as given."""
    path = folder / f"{name}.yml"
    path.write_text(NOTE.format(log=folder / "log", line=name) + more)
    return str(path)


def frozen(folder: Path) -> list[dict[str, Any]]:
    """Three steps. The second one is done once there is a file `flag`."""
    waits = f"- ansible.builtin.stat: {{path: {folder / 'flag'}}}\n  register: asked\n"
    waits += "- ansible.builtin.set_fact: {upgrade_step_waits: 'The shop is open.'}\n  when: not asked.stat.exists\n"
    return [
        {"name": "frozen", "tasks": step(folder, "frozen", waits)},
        {"name": "told", "tasks": step(folder, "told"), "before_step": "frozen", "once": True},
        {"name": "open", "tasks": step(folder, "open"), "moment": "after"},
    ]


def test_steps_are_taken_in_order_fail_wait_and_complete(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "steps", three_combined, FROM)
    try:
        before = cluster.fingerprint()
        given = confirmed({**cluster.variables(TO), "upgrade_steps": frozen(tmp_path)}, environment)
        wrong = play(PLAYBOOK, {**given, "upgrade_steps": [{"name": "x", "skip": True}]}, environment)
        assert "upgrade_steps[0] skips x, and there is no such step" in wrong.message
        away = {"upgrade_dependencies": [f"{cluster.url}/no-such-page"], "upgrade_wait": False}
        stopped = play(PLAYBOOK, {**given, **away}, environment)
        assert statistics(stopped)["upgrade_reasons"] == ["step_not_done"]
        assert "The step dependencies is not done" in stopped.output
        waiting = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
        print(waiting.output)
        assert waiting.code == 0, waiting.message
        assert statistics(waiting)["upgrade_waiting_for"] == ["The step frozen is not done: The shop is open."]
        failing = step(tmp_path, "broken", "- ansible.builtin.fail: {msg: The shop is on fire.}\n")
        twice = {"upgrade_steps": [{"name": "broken", "tasks": failing, "retries": 1, "late_after": 1}]}
        again = play(PLAYBOOK, {**given, **twice, "upgrade_wait": False}, environment)
        print(again.output)
        assert again.code == 0, again.message
        assert "It has failed 1 of 2 times: The shop is on fire." in again.output
        broken = play(PLAYBOOK, {**given, **twice}, environment)
        print(broken.output)
        assert broken.code != 0
        assert "Stopped at the step broken (ansible.builtin.fail): The shop is on fire." in broken.output
        assert cluster.fingerprint() == before
        (tmp_path / "log").unlink()
        run = Playing(PLAYBOOK, given, environment)
        until("the step to wait", lambda: "The step frozen waits: The shop is open." in run.so_far or run.ended, 120)
        (tmp_path / "flag").touch()
        done = run.wait()
        print(done.output)
        assert done.code == 0, done.message
        assert "The step frozen waits: The shop is open." in done.output
        assert set(cluster.versions().values()) == {TO}
        assert [*dict.fromkeys((tmp_path / "log").read_text().split())] == ["told", "frozen", "open"]
    finally:
        cluster.remove()


@pytest.mark.soak
def test_the_conditions_of_the_steps_are_shown_and_a_step_that_is_only_for_the_start_is_not_taken_again(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    cluster = Cluster.start(platform, "conditions", three_combined, FROM)
    try:
        (tmp_path / "flag").touch()
        given = confirmed({**cluster.variables(TO), "upgrade_steps": frozen(tmp_path)}, ansible_environment)
        broken = step(tmp_path, "between", "- ansible.builtin.fail: {msg: Stop here.}\n")
        stopped = play(PLAYBOOK, {**given, "upgrade_tasks_between": broken}, ansible_environment)
        assert stopped.code != 0
        assert sorted(cluster.versions().values()) == [FROM, FROM, TO]
        done = upgrade(given, ansible_environment)
        assert done.code == 0, done.message
        assert (tmp_path / "log").read_text().split() == ["told", "frozen", "between", "frozen", "open"]
        nothing = upgrade(given, ansible_environment)
        assert nothing.code == 0, nothing.message
        assert len((tmp_path / "log").read_text().split()) == 5
        shown = play(STATUS, cluster.variables(TO), ansible_environment).output
        for line in ("step told: completed", "step frozen: completed", "step open: completed"):
            assert line in shown, shown
    finally:
        cluster.remove()


def test_a_run_that_waits_for_a_step_ends_when_it_is_asked_to(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    cluster = Cluster.start(platform, "stops", three_combined, FROM)
    try:
        before = cluster.fingerprint()
        given = confirmed({**cluster.variables(TO), "upgrade_steps": frozen(tmp_path)[:1]}, ansible_environment)
        run = Playing(PLAYBOOK, given, ansible_environment)
        until("the step to wait", lambda: "The step frozen waits" in run.so_far or run.ended, 120)
        aborted = play("stateful.upgrade.abort", cluster.variables(TO), ansible_environment)
        print(aborted.output)
        assert aborted.code == 0, aborted.message
        ended = run.wait()
        print(ended.output)
        assert ended.code != 0
        assert "was asked to stop" in ended.output
        shown = play(STATUS, cluster.variables(TO), ansible_environment).output
        assert ": Aborted, to " in shown
        assert "step frozen: in progress" in shown
        assert cluster.fingerprint() == before
    finally:
        cluster.remove()


@pytest.mark.soak
def test_an_upgrade_takes_the_place_of_one_that_is_under_way(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    cluster = Cluster.start(platform, "superseded", three_combined, FROM)
    try:
        given = confirmed(cluster.variables(TO), ansible_environment)
        first = Playing(PLAYBOOK, {**given, "upgrade_steps": frozen(tmp_path)}, ansible_environment)
        until("the step to wait", lambda: "The step frozen waits" in first.so_far or first.ended, 120)
        refused = play(PLAYBOOK, given, ansible_environment)
        assert "has held the lock since" in refused.message
        second = play(PLAYBOOK, {**given, "upgrade_supersede": True}, ansible_environment)
        print(second.output)
        assert second.code == 0, second.message
        assert "was asked to stop" in first.wait().output
        assert set(cluster.versions().values()) == {TO}
    finally:
        cluster.remove()
