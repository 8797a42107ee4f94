"""A validation of an upgrade of OpenShift that fails, with plain variables: its metric and its condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.runs.openshift import PLAYBOOK, SYSTEM
from tests.runs.test_openshift import CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import timestamp
from tests.scenarios.playbook import PLAN

STATUS = "stateful.upgrade.status"


class Figures:
    """The metrics that runs have written."""

    folder: Path

    def figures(self, name: str, label: str) -> set[str]:
        """The values of a label of the metrics of this name that are 1."""
        texts = [file.read_text(encoding="utf-8") for file in self.folder.glob("*.prom")]
        families = [family for text in texts for family in text_string_to_metric_families(text)]
        samples = [each for family in families for each in family.samples if each.value == 1.0]
        return {each.labels[label] for each in samples if each.name == f"stateful_upgrade_{name}"}


class Measured(Figures, CalledOpenShift):
    """An OpenShift whose runs write metrics."""

    def __init__(self, here: World, folder: Path) -> None:
        super().__init__(here)
        self.folder = folder

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `CalledOpenShift`."""
        return super().variables(**{"upgrade_metrics_path": str(self.folder), **more})

    def validation(self) -> list[tuple[str, str]]:
        """Status and cause of the condition of the record."""
        found = self.record()["upgrades"][-1]["conditions"]
        return [(each["status"], each["cause"]) for each in found if each["type"] == "Validation"]


def test_a_target_that_is_not_offered_has_a_metric_and_a_condition(here: World, tmp_path: Path) -> None:
    cluster = Measured(here, tmp_path)
    refused = here.play(PLAYBOOK, cluster.variables(target_version="4.18.9"))
    assert codes(refused) == ["update_not_offered"]
    assert (cluster.figures("reason", "code"), cluster.figures("phase", "phase")) == ({"update_not_offered"}, {"New"})
    ((status, cause),) = cluster.validation()
    assert (status, "does not offer 4.18.9" in cause) == ("False", True)
    assert cluster.openshift.observer.writes == []
    shown = here.play(STATUS, {name: cluster.variables()[name] for name in ("upgrade_namespace", "upgrade_kubernetes")})
    assert "does not offer 4.18.9" in shown.output
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.validation() == []
    assert (cluster.figures("reason", "code"), cluster.figures("phase", "phase")) == (set(), {"Completed"})


def test_a_target_that_is_missing_has_a_metric(here: World, tmp_path: Path) -> None:
    cluster = Measured(here, tmp_path)
    refused = here.play(PLAYBOOK, {name: value for name, value in cluster.variables().items() if "target" not in name})
    assert codes(refused) == ["target_missing"]
    assert cluster.figures("reason", "code") == {"target_missing"}


def test_the_record_of_an_earlier_upgrade_stays_and_the_metric_goes_with_the_next_run(
    here: World, tmp_path: Path
) -> None:
    cluster = Measured(here, tmp_path)
    assert cluster.upgrade().code == 0
    before = cluster.record()
    assert codes(here.play(PLAYBOOK, cluster.variables(target_version="4.18.9"))) == ["update_not_offered"]
    assert (cluster.record(), cluster.figures("reason", "code")) == (before, {"update_not_offered"})
    assert here.play(PLAYBOOK, cluster.variables()).code == 0
    assert cluster.figures("reason", "code") == set()


def test_a_plan_that_is_only_shown_notes_nothing(here: World, tmp_path: Path) -> None:
    cluster = Measured(here, tmp_path)
    assert codes(here.play(PLAN, {**cluster.variables(target_version="4.18.9"), **SYSTEM})) == ["update_not_offered"]
    assert [*tmp_path.iterdir()] == []


def test_an_upgrade_that_is_scheduled_keeps_its_record(here: World, tmp_path: Path) -> None:
    cluster = Measured(here, tmp_path)
    at = timestamp(cluster.openshift.clock.now() + 7200)
    given = cluster.variables(target_version="4.18.9", upgrade_at=at, upgrade_wait=False)
    assert here.play(PLAYBOOK, given).code == 0
    cluster.openshift.clock.advance(7260)
    assert codes(here.play(PLAYBOOK, given)) == ["update_not_offered"]
    record = cluster.record()
    assert (record["phase"], record["start"]["at"]) == ("Pending", at)
    assert cluster.figures("reason", "code") == {"update_not_offered"}
