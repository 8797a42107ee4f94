"""Spare workers without which an upgrade of OpenShift continues: the notice, the metric, and the condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift_capacity import SPARE, WithSpareWorkers
from tests.runs.upgrade_configs import SOURCE, UpgradeConfigs
from tests.runs.world import World
from tests.sandbox.webhook import Webhook

STATUS, STEP = "stateful.upgrade.status", "EnsureExtraUpgradeWorkers"


class WithoutOne(UpgradeConfigs, WithSpareWorkers):
    """An OpenShift in which one spare worker never boots, with a webhook, metrics, and an UpgradeConfig."""

    def __init__(self, here: World, folder: Path) -> None:
        WithSpareWorkers.__init__(self, here)
        UpgradeConfigs.__init__(self, here, self.openshift)
        self.hook, self.folder = Webhook(), folder
        self.url = f"{here.calling.serve(self.hook.answer).url}/200"
        self.openshift.faults.machines_never_boot(SPARE[1])
        self.request()

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `WithSpareWorkers`. The version is in the request."""
        own = {"upgrade_webhook": self.url, "upgrade_metrics_path": str(self.folder), "upgrade_request": SOURCE}
        whole = super().variables(**{**own, "upgrade_capacity_policy": "continue", **more})
        return {name: value for name, value in whole.items() if name != "target_version"}

    def states(self) -> dict[str, float]:
        """The states of the step in the metrics."""
        texts = [file.read_text(encoding="utf-8") for file in self.folder.glob("*.prom")]
        families = [family for text in texts for family in text_string_to_metric_families(text)]
        samples = [each for family in families for each in family.samples if each.name == "stateful_upgrade_step"]
        return {each.labels["state"]: each.value for each in samples if each.labels["step"] == "capacity"}

    def skipped(self) -> list[dict[str, Any]]:
        """The notices that the upgrade continues without."""
        return [each for each in self.hook.got if each["state"] == "scale_skipped"]

    def is_known_as_skipped(self) -> None:
        """Fails unless notice, metric, record and history say so, once."""
        (notice,) = self.skipped()
        assert SPARE[1] in notice["cause"]
        assert "spare_worker_missing" in notice["codes"]
        assert {state: value for state, value in self.states().items() if value} == {"skipped": 1.0}
        (found,) = [each for each in self.record()["conditions"] if each["type"] == "capacity"]
        assert (found["status"], found["reason"]) == ("True", "skipped")
        assert SPARE[1] in found["message"]
        (named,) = [each for each in self.history()[0]["conditions"] if each["type"] == STEP]
        assert (named["status"], named["reason"]) == ("True", f"{STEP} done")
        assert SPARE[1] in named["message"]


def test_capacity_that_does_not_come_is_reported_once_and_the_upgrade_continues(here: World, tmp_path: Path) -> None:
    cluster = WithoutOne(here, tmp_path)
    ended = here.play(PLAYBOOK, cluster.agreed())
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    cluster.is_known_as_skipped()
    shown = here.play(STATUS, {name: cluster.variables()[name] for name in ("upgrade_namespace", "upgrade_kubernetes")})
    assert f"step {STEP}: completed" in shown.output


def test_no_later_pass_reports_it_again_or_tries_it_again(here: World, tmp_path: Path) -> None:
    cluster = WithoutOne(here, tmp_path)
    given = cluster.agreed(upgrade_wait=False)
    for _pass in range(30):
        ended = here.play(PLAYBOOK, given)
        assert ended.code == 0, ended.output
        if cluster.history()[0]["phase"] == "Upgraded":
            break
        cluster.openshift.clock.advance(600)
    cluster.is_upgraded()
    cluster.is_known_as_skipped()
    assert cluster.made() == SPARE
