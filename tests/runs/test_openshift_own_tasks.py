"""The tasks of the user after an upgrade of OpenShift, which its step PostUpgradeProcedures covers."""

from __future__ import annotations

from pathlib import Path

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_upgrade_config import STATUS, RequestedOpenShift, WithFileIntegrity
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import Json

NAME = "PostUpgradeProcedures"


def tasks(folder: Path, refusal: str = "") -> str:
    """A file with the tasks of the user, which fail with these words if there are any."""
    file = folder / "after.yml"
    fail = f'- name: Ask the shop\n  ansible.builtin.fail: {{msg: "{refusal}"}}\n'
    file.write_text(fail if refusal else "- ansible.builtin.debug: {msg: all is sold}\n")
    return str(file)


def condition(cluster: RequestedOpenShift) -> Json:
    """The condition of the step in the history."""
    (found,) = [each for each in cluster.history()[0]["conditions"] if each["type"] == NAME]
    return found


def test_tasks_of_the_user_that_fail_are_the_step_of_the_procedures(here: World, tmp_path: Path) -> None:
    cluster = RequestedOpenShift(here)
    cluster.request()
    given = cluster.agreed()
    failed = here.play(PLAYBOOK, {**given, "upgrade_tasks_after": tasks(tmp_path, "No goods.")})
    assert failed.code != 0
    assert cluster.history()[0]["phase"] == "Upgrading"
    found = condition(cluster)
    assert (found["status"], found["reason"]) == ("False", f"{NAME} not done")
    assert "No goods." in found["message"]
    shown = here.play(STATUS, {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")})
    assert f"step {NAME}: in progress" in shown.output
    ended = here.play(PLAYBOOK, {**given, "upgrade_tasks_after": tasks(tmp_path)})
    assert ended.code == 0, ended.output
    found, (entry,) = condition(cluster), cluster.history()
    assert (entry["phase"], found["status"], found["message"]) == ("Upgraded", "True", f"{NAME} is completed")
    assert entry["workerCompleteTime"] <= found["startTime"] <= found["completeTime"] <= entry["completeTime"]


def test_tasks_of_the_user_come_after_the_baseline_and_both_are_one_step(here: World, tmp_path: Path) -> None:
    cluster = WithFileIntegrity(here)
    cluster.request()
    given = cluster.agreed(upgrade_fedramp=True)
    failed = here.play(PLAYBOOK, {**given, "upgrade_tasks_after": tasks(tmp_path, "No goods.")})
    assert failed.code != 0
    assert cluster.annotations()["upgrade.stateful/file-integrity-of"] == "4.18.2"
    found = condition(cluster)
    assert (found["status"], "No goods." in found["message"]) == ("False", True)
    cluster.openshift.clock.advance(60)
    assert here.play(PLAYBOOK, given).code == 0
    assert (cluster.history()[0]["phase"], condition(cluster)["status"]) == ("Upgraded", "True")
