"""The steps of extensions/gitops/pipelines, taken out of their files and run by the shells that would run them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.interruptions import UpgradeRuns

pytestmark = pytest.mark.own_process

PIPELINES = Path(__file__).parents[3] / "extensions" / "gitops" / "pipelines"
GITHUB, GITLAB, TEKTON = (
    yaml.safe_load((PIPELINES / name).read_text(encoding="utf-8"))
    for name in ("github-actions.yml", "gitlab-ci.yml", "tekton-task.yaml")
)
BASH, SH = ("bash", "-eo", "pipefail", "-c"), ("sh", "-ec")


@pytest.fixture
def checkout(upgrade_runs: UpgradeRuns, tmp_path: Path) -> Path:
    """A folder with the variables of the upgrade as its only file."""
    write(tmp_path, upgrade_runs.variables)
    return tmp_path


def write(folder: Path, variables: Mapping[str, Any]) -> None:
    (folder / "upgrade.yml").write_text(yaml.safe_dump(dict(variables)))


def ran(
    upgrade_runs: UpgradeRuns, checkout: Path, shell: tuple[str, ...], script: str, given: Mapping[str, str]
) -> tuple[int, str]:
    """The exit code and the output of a script, with the variables of its pipeline that name no secret."""
    plain = {name: value for name, value in given.items() if "$" not in value}
    done = subprocess.run(
        [*shell, script],
        cwd=checkout,
        env={**upgrade_runs.environment, **plain},
        check=False,
        capture_output=True,
        text=True,
    )
    print(done.stdout, done.stderr)
    return done.returncode, done.stdout + done.stderr


def state_in(checkout: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((checkout / "state.json").read_text())
    return state


@pytest.mark.soak
def test_a_workflow_shows_the_plan_and_carries_it_out(upgrade_runs: UpgradeRuns, checkout: Path) -> None:
    steps = {step["name"]: step["run"] for step in GITHUB["jobs"]["upgrade"]["steps"] if "run" in step}
    summary = checkout / "summary.md"
    given = {**GITHUB["env"], "GITHUB_STEP_SUMMARY": str(summary)}
    assert ran(upgrade_runs, checkout, BASH, steps["Plan"], given)[0] == 0
    assert state_in(checkout)["upgrade_confirm"] == upgrade_runs.variables["upgrade_confirm"]
    assert upgrade_runs.variables["upgrade_confirm"] in summary.read_text()
    assert upgrade_runs.left_behind() == {}
    assert ran(upgrade_runs, checkout, BASH, steps["Upgrade"], given)[0] == 0
    assert state_in(checkout)["upgrade_state"] == "done"
    assert set(upgrade_runs.cluster.versions().values()) == {"3.8.0"}
    step = next(each for each in GITHUB["jobs"]["upgrade"]["steps"] if each.get("name") == "Report")
    given |= step["env"]
    assert ran(upgrade_runs, checkout, BASH, steps["Report"], given)[0] == 0
    assert "to 3.8.0: Completed" in summary.read_text()


def test_a_pipeline_tells_a_pass_that_waits_from_one_that_is_done(upgrade_runs: UpgradeRuns, checkout: Path) -> None:
    write(checkout, {**upgrade_runs.variables, "upgrade_wait": False})
    upgrade_runs.cluster.platform.faults.slow_stop(upgrade_runs.cluster.namespace, upgrade_runs.first_to_go(), 900.0)
    code, output = ran(
        upgrade_runs, checkout, SH, "\n".join(GITLAB["upgrade"]["script"]), GITLAB[".upgrade"]["variables"]
    )
    assert code == 0, output
    assert state_in(checkout)["upgrade_state"] == "waiting"
    asked = 'grep -q \'"upgrade_state": "done"\' state.json'
    assert asked in (PIPELINES.parents[2] / "docs" / "gitops.md").read_text()
    assert ran(upgrade_runs, checkout, SH, asked, {})[0] == 1
    upgrade_runs.cluster.platform.faults.mend_all()


def test_a_task_that_is_refused_fails_after_its_report(upgrade_runs: UpgradeRuns, checkout: Path) -> None:
    write(checkout, {**upgrade_runs.variables, "upgrade_confirm": "p00000000000"})
    common = {each["name"]: each["value"] for each in TEKTON["spec"]["stepTemplate"]["env"]}
    codes = {}
    for step in TEKTON["spec"]["steps"]:
        own = {each["name"]: each["value"] for each in step.get("env", [])}
        script = step["script"].replace("$(results.state.path)", str(checkout / "result"))
        script = script.replace("$(steps.step-upgrade.exitCode.path)", str(checkout / "code"))
        codes[step["name"]], _output = ran(upgrade_runs, checkout, SH, script, {**common, **own})
        (checkout / "code").write_text(str(codes["upgrade"]))
    assert codes["upgrade"] != 0
    assert codes["state"] == codes["upgrade"]
    assert json.loads((checkout / "result").read_text())["upgrade_reasons"] == ["not_confirmed"]
