"""The scenarios of extensions/molecule, all of them on one set of servers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checks.tree import ROOT
from tests.molecule.servers import OWNER

SCENARIOS = ROOT / "extensions/molecule"
PATIENCE = 3600
"""Seconds after which a molecule that hangs fails the test; nothing is judged by time."""
OTHER_NAMES = {"default"}
"""Scenarios that are of no playbook."""
SHARED = {"upgrade"}
"""Playbooks that others import."""
IN_MEMORY = {"fleet_cancel", "machines", "openshift"}
"""Those whose system needs more than molecule has: `tests/runs` plays them in memory, and the lab on its own."""
RESTARTING = {"restart", "restart_hosts"}
"""Those that do their work once more each time, so that a second run changes something."""


def scenarios() -> set[str]:
    """The names of all scenarios."""
    return {path.parent.name for path in SCENARIOS.glob("*/molecule.yml")}


def test_each_playbook_has_a_scenario() -> None:
    assert scenarios() - OTHER_NAMES == {path.stem for path in (ROOT / "playbooks").glob("*.yml")} - SHARED - IN_MEMORY


@pytest.mark.soak
def test_each_step_of_all_scenarios_succeeds_and_none_is_left_out(tmp_path: Path) -> None:
    names = scenarios() - OTHER_NAMES
    environment = {**os.environ, OWNER: str(os.getpid()), "ANSIBLE_HOME": str(tmp_path), "NO_COLOR": "1"}
    chosen = [argument for name in sorted(names | OTHER_NAMES) for argument in ("--scenario-name", name)]
    command = [sys.executable, "-m", "tests.molecule", "test", "--report", *chosen]
    output = tmp_path / "molecule.log"
    with output.open("wb") as log:
        done = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            code = done.wait(PATIENCE)
        finally:
            done.kill()
            said = re.sub(r"\x1b\[[0-9;]*m", "", output.read_text(encoding="utf-8"))
            print(said)
    assert code == 0, said[-3000:]
    passed = set(re.findall(r"^(\w+) (?:➜|>) (\w+): Executed: Successful", said, re.M))
    wanted = {(name, step) for name in names for step in ("converge", "idempotence", "verify")}
    wanted -= {(name, "idempotence") for name in RESTARTING}
    assert wanted | {("default", "create"), ("default", "destroy")} <= passed
