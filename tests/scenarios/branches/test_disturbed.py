"""Runs disturbed from outside: each waits, does nothing twice, and puts all back."""

from __future__ import annotations

import pytest

from tests.scenarios.interruptions import (
    KILLS,
    UpgradeRuns,
    conclude,
    concluded,
    until_deleting,
)

pytestmark = pytest.mark.real_servers

GROUP = KILLS["SIGKILL to its process group"]


def test_an_api_server_that_refuses_writes_is_killed_and_comes_back_is_waited_for(upgrade_runs: UpgradeRuns) -> None:
    with upgrade_runs.running() as (proxy, run):
        proxy.refuse_writes = True
        until_deleting(proxy, run)
        upgrade_runs.cluster.platform.faults.api_server_away(8)
        played = run.wait()

    print(played.output)
    concluded(upgrade_runs, played)


def test_a_member_that_dies_by_itself_is_waited_for(upgrade_runs: UpgradeRuns) -> None:
    with upgrade_runs.running() as (proxy, run):
        member = until_deleting(proxy, run)
        other = next(name for name in sorted(upgrade_runs.before.pods) if name != member)
        upgrade_runs.cluster.platform.faults.kill(upgrade_runs.cluster.namespace, other)
        played = run.wait()

    print(played.output)
    concluded(upgrade_runs, played)


@pytest.mark.own_process
@pytest.mark.soak
def test_a_wrong_clock_of_the_controller_does_no_harm(
    upgrade_runs: UpgradeRuns, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ahead, behind = (
        dict(upgrade_runs.environment, PYTHONPATH=str(clock_off_by(tmp_path_factory, hours))) for hours in (5, -5)
    )
    upgrade_runs.environment = behind
    assert upgrade_runs.killed_at("delete", after=True, kill=KILLS["SIGKILL to the controller"])
    upgrade_runs.environment = ahead
    assert upgrade_runs.killed_at("restore", after=False, kill=GROUP)
    upgrade_runs.environment = behind
    conclude(upgrade_runs)


def clock_off_by(folders: pytest.TempPathFactory, hours: int) -> str:
    """A folder that, in PYTHONPATH, sets the clock of every Python wrong, by which the modules read the time."""
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
