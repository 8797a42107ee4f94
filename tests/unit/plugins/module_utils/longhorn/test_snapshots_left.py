"""Snapshots that runs have left: they are named where things are put back, and where they cannot be removed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.longhorn.description import Volume
from tests.sandbox.longhorn.kinds import NAMESPACE, SNAPSHOTS
from tests.unit.plugins.module_utils.longhorn.driving import SPREAD, Driver, Killed, Killing, outliving, three

TWO = (Volume("vol-1", SPREAD, "n1"), Volume("vol-2", SPREAD, "n1"))
ACTS_UNTIL_ENGINES_ARE_AWAY = 6


def killed(driver: Driver) -> list[str]:
    """A run that was killed in the middle of n1; the names of its snapshots."""
    driver.guard = Killing(ACTS_UNTIL_ENGINES_ARE_AWAY)
    with pytest.raises(Killed):
        driver.switch("n1")
    driver.guard = None
    driver.run = "settle-1"
    names = [each["metadata"]["name"] for each in driver.longhorn.objects.all(SNAPSHOTS)]
    assert len(names) == len(TWO)
    return names


def left(driver: Driver) -> list[dict[str, Any]]:
    """The remarks on snapshots after everything was put back."""
    done = driver.switch(state="restored")
    assert done.verdict.passed, done.verdict
    found: list[dict[str, Any]] = done.more["left"]["reasons"]
    return found


def test_the_snapshots_of_a_killed_run_are_named_with_the_command_that_removes_them(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    names = killed(driver)
    (said,) = left(driver)
    assert (said["code"], said["state"]) == ("snapshots_left", "passed")
    assert all(each in said["message"] for each in ["run-1", "vol-1", "vol-2", *names])
    assert f"kubectl delete -n {NAMESPACE} snapshots.longhorn.io -l upgrade.stateful/run=run-1" in said["remedy"]
    assert driver.snapshots() == len(TWO), "they may be all that there is to return to"


def test_snapshots_that_are_gone_are_not_named(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    killed(driver)
    assert driver.switch(state="cleaned").verdict.passed
    assert left(driver) == []


def test_snapshots_that_show_an_interruption_are_said_to_hold_further_nodes(drive: type[Driver]) -> None:
    driver = drive(three(*TWO, Volume("vol-3", SPREAD, "n2")))
    driver.switch("n1")
    (said,) = left(driver)
    assert "interrupted_before" in said["message"]
    made = driver.longhorn.objects.all(SNAPSHOTS)
    names = sorted(each["metadata"]["name"] for each in made if each["spec"]["volume"] != "vol-3")
    refused = driver.plan().verdict.deciding()[0]
    assert f"snapshots.longhorn.io {' '.join(names)}." in refused.remedy


def test_snapshots_that_cannot_be_removed_are_named_and_the_others_are_removed(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    stays, goes = killed(driver)
    driver.api.server.faults.answer(403, "DELETE", f"/snapshots/{stays}", times=1)
    done = driver.switch(state="cleaned")
    said = {each.code: each.sentence() for each in done.verdict.deciding()}
    assert "snapshots_stay" in said, done.verdict
    assert stays in said["snapshots_stay"]
    assert goes not in said["snapshots_stay"]
    assert f"kubectl delete -n {NAMESPACE} snapshots.longhorn.io -l upgrade.stateful/target=" in said["snapshots_stay"]
    assert driver.longhorn.until(lambda: driver.snapshots() == 1)
    assert driver.switch(state="cleaned").verdict.passed


def test_the_end_of_a_completed_run_removes_snapshots_unless_they_are_kept(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    stays, _goes = killed(driver)
    assert driver.clean_up(snapshots="kept").verdict.reasons == ()
    assert driver.snapshots() == len(TWO)
    driver.api.server.faults.answer(403, "DELETE", f"/snapshots/{stays}", times=1)
    done = driver.clean_up()
    (said,) = done.verdict.reasons
    assert (done.verdict.passed, said.code, stays in said.message) == (True, "snapshots_stay", True)
    assert driver.longhorn.until(lambda: driver.snapshots() == 1)
    assert driver.clean_up().verdict.reasons == ()
    assert driver.longhorn.until(lambda: driver.snapshots() == 0)
