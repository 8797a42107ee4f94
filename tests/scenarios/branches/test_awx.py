"""The templates and the workflow of extensions/awx, run under ansible-runner as AWX runs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.awx.configuration import Configuration
from tests.awx.jobs import AutomationController, Job
from tests.scenarios.fault_proxy import Trap, through_proxies
from tests.scenarios.interruptions import ACTS, UpgradeRuns, upgraded_once

pytestmark = pytest.mark.own_process

TO = "3.8.0"
PASSWORD = "pa55word-Zx"
ANSWERS = {"target_version": TO, "upgrade_members": "", "upgrade_allow_field_managers": []}
"""The answers of a survey whose other questions were left as they are; AWX gives an empty text for an empty field."""


@pytest.fixture
def awx(upgrade_runs: UpgradeRuns, tmp_path: Path) -> Iterator[AutomationController]:
    """Jobs on the cluster of the upgrade, all of whose requests are seen."""
    with through_proxies(upgrade_runs.cluster) as proxy:
        upgrade_runs.proxies.append(proxy)
        yield controller(upgrade_runs, tmp_path)


def controller(upgrade_runs: UpgradeRuns, directory: Path, **variables: Any) -> AutomationController:
    """Jobs on the cluster of the upgrade, with further variables of the site."""
    (proxy,) = upgrade_runs.proxies
    site = {"upgrade_namespace": upgrade_runs.cluster.namespace, "upgrade_skip_checks": ["images"], **variables}
    return AutomationController(
        Configuration.read(site_variables=site),
        {**upgrade_runs.environment, "K8S_AUTH_HOST": proxy.kubernetes},
        directory,
        {"hosts": proxy.opensearch, "username": "upgrader", "password": PASSWORD},
    )


def statuses(awx: AutomationController) -> Mapping[str, str]:
    """Template → end of its job."""
    return {job.template.removeprefix("search-prod "): job.status for job in awx.jobs}


def left_over(upgrade_runs: UpgradeRuns) -> dict[str, Any]:
    """The changes left behind, without those of a half-rolled pool, which stays OnDelete so that it does not go on."""
    return {name: what for name, what in upgrade_runs.left_behind().items() if name not in upgrade_runs.before.pools}


def test_the_workflow_shows_the_plan_and_carries_out_the_one_that_was_approved(
    awx: AutomationController, upgrade_runs: UpgradeRuns
) -> None:
    shown: list[str] = []

    def approve(planned: Job) -> bool:
        shown.append(planned.artifacts["upgrade_plan_text"])
        assert planned.artifacts["upgrade_confirm"] in shown[0]
        assert all(member in shown[0] for member in upgrade_runs.before.pods)
        assert set(shown[0].splitlines()) <= set(planned.output.splitlines()), "the output shows another plan"
        return True

    assert awx.run(awx.configuration.workflow, ANSWERS, approve) == "successful"

    upgrade = awx.jobs[-1]
    print(upgrade.output)
    assert statuses(awx) == {"plan": "successful", "upgrade": "successful"}
    assert (len(shown), upgrade.artifacts["upgrade_state"]) == (1, "done")
    live = [event["stdout"] for event in upgrade.events if event["event"] == "verbose"]
    assert all(any(member in line for line in live) for member in upgrade_runs.before.pods)
    assert not [line for line in upgrade.output.splitlines() if line.startswith(("TASK", "PLAY", "ok:", "skipping:"))]
    assert not [job for job in awx.jobs if PASSWORD in job.written]
    upgraded_once(upgrade_runs)


@pytest.mark.soak
def test_a_cancelled_upgrade_is_settled_and_the_next_one_goes_on(
    awx: AutomationController, upgrade_runs: UpgradeRuns
) -> None:
    method, path, holds = ACTS["delete"]
    upgrade_runs.proxies[0].trap = Trap(method, path, after=True, spring=awx.cancelling.set, holds=holds)

    assert awx.run(awx.configuration.workflow, ANSWERS, lambda planned: True) == "failed"

    assert statuses(awx) == {"plan": "successful", "upgrade": "canceled", "settle a failed upgrade": "failed"}
    print(awx.jobs[-1].output)
    assert "this job has put back what it had changed for a while" in awx.jobs[-1].output
    assert left_over(upgrade_runs) == {}
    assert len(upgrade_runs.deleted()) == 1
    digest = awx.jobs[0].artifacts["upgrade_confirm"]
    status = awx.launch(awx.configuration.template("status"), {})
    assert (status.status, f"to {TO}" in status.output) == ("successful", True), status.output

    again = awx.launch(awx.configuration.template("upgrade"), {**ANSWERS, "upgrade_confirm": digest})

    print(again.output)
    assert (again.status, again.artifacts["upgrade_state"]) == ("successful", "done")
    upgraded_once(upgrade_runs)


def test_nothing_is_done_without_consent_and_nobody_is_asked_at_a_terminal(
    awx: AutomationController, upgrade_runs: UpgradeRuns
) -> None:
    assert awx.run(awx.configuration.workflow, ANSWERS, lambda planned: False) == "failed"
    assert statuses(awx) == {"plan": "successful"}

    unconfirmed = awx.launch(awx.configuration.template("upgrade"), ANSWERS)

    assert unconfirmed.status == "failed"
    assert awx.jobs[0].artifacts["upgrade_confirm"] in unconfirmed.output
    assert unconfirmed.artifacts["upgrade_reasons"] == ["not_confirmed"]
    assert (upgrade_runs.deleted(), upgrade_runs.left_behind()) == ([], {})


@pytest.mark.soak
def test_an_upgrade_that_fails_is_settled_and_ends_the_workflow_as_failed(
    awx: AutomationController, upgrade_runs: UpgradeRuns, tmp_path: Path
) -> None:
    impatient = controller(upgrade_runs, tmp_path / "impatient", upgrade_member_timeout=3)
    first = upgrade_runs.first_to_go()
    upgrade_runs.cluster.platform.faults.never_ready(upgrade_runs.cluster.namespace, first)
    try:
        ended = impatient.run(impatient.configuration.workflow, ANSWERS, lambda planned: True)
    finally:
        upgrade_runs.cluster.platform.faults.mend(upgrade_runs.cluster.namespace, first)

    assert ended == "failed"
    assert statuses(impatient) == {"plan": "successful", "upgrade": "failed", "settle a failed upgrade": "failed"}
    assert impatient.jobs[1].artifacts["upgrade_state"] == "refused"
    assert first in impatient.jobs[1].output
    assert left_over(upgrade_runs) == {}
    assert upgrade_runs.deleted() == [first]
