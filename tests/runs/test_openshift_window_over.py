"""The window of an upgrade of OpenShift that is over before it was commenced: failed, reported once, nothing left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import codes
from tests.runs.test_openshift_capacity import SPARE, WithSpareWorkers
from tests.runs.test_openshift_validation import Figures
from tests.runs.turns import Killed
from tests.runs.upgrade_configs import SOURCE, UpgradeConfigs
from tests.runs.world import World
from tests.sandbox.monitoring.alertmanager import Alertmanager
from tests.sandbox.openshift.asking import history
from tests.sandbox.web import Request
from tests.sandbox.webhook import Webhook

UNTIL = 1200
"""Seconds until the window ends."""


class Watched(UpgradeConfigs, Figures, WithSpareWorkers):
    """An OpenShift whose upgrade an UpgradeConfig requests, with an Alertmanager, a webhook and metrics."""

    def __init__(self, here: World, folder: Path) -> None:
        WithSpareWorkers.__init__(self, here)
        UpgradeConfigs.__init__(self, here, self.openshift)
        self.folder, self.hook = folder, Webhook()
        self.alerts = Alertmanager(self.openshift.clock)
        self.served = here.calling.serve(self.alerts).url
        self.url = f"{here.calling.serve(self.hook.answer).url}/200"

    def variables(self, **more: Any) -> dict[str, Any]:
        """Single passes. The version is in the request."""
        own = {"upgrade_request": SOURCE, "upgrade_wait": False, "upgrade_window": UNTIL // 60}
        servers = {
            "upgrade_webhook": self.url,
            "upgrade_alertmanager_url": self.served,
            "upgrade_metrics_path": str(self.folder),
        }
        whole = super().variables(**{**own, **servers, **more})
        return {name: value for name, value in whole.items() if name != "target_version"}

    def has_failed(self) -> None:
        """Fails unless the failure was reported once, and nothing but the record shows that there was an upgrade."""
        assert self.hook.states.count("failed") == 1
        assert "refused" not in self.hook.states
        (notice,) = [each for each in self.hook.got if each["state"] == "failed"]
        assert notice["codes"] == ["window_over"]
        assert self.alerts.active() == set()
        self.is_as_before()
        assert history(self.openshift)[0] == ("4.18.1", "Completed")
        (entry,) = self.history()
        assert (entry["version"], entry["phase"], self.state()) == ("4.18.2", "Failed", "failed")
        assert entry["conditions"][0]["type"] == "FailedUpgrade"
        assert "no batch had begun then" in entry["conditions"][0]["message"]
        assert self.record()["phase"] == "Failed"
        assert (self.figures("reason", "code"), self.figures("phase", "phase")) == ({"window_over"}, {"Failed"})


def test_a_window_that_ends_over_its_preparations_leaves_no_silence_and_is_one_failure(
    here: World, tmp_path: Path
) -> None:
    cluster = Watched(here, tmp_path)
    cluster.request(at=600.0 - UNTIL)
    given, began = cluster.agreed(), cluster.openshift.clock.now()

    def stop(request: Request) -> None:
        if request.method == "POST" and request.path.endswith("/silences"):
            raise Killed

    here.calling.after = stop
    with pytest.raises(Killed):
        here.play(PLAYBOOK, {**given, "upgrade_wait": True})
    here.calling.after = lambda _request: None
    cluster.openshift.clock.advance(began + 601 - cluster.openshift.clock.now())
    assert (cluster.spare(), len(cluster.alerts.active())) == (SPARE, 1)
    for _pass in range(2):
        ended = here.play(PLAYBOOK, given)
        assert (ended.code != 0, codes(ended)) == (True, ["window_over"]), ended.output
        # A single pass does not wait for the machines of the MachineSets that it deletes.
        cluster.openshift.clock.advance(300)
        assert cluster.alerts.active() == set()
    cluster.has_failed()


def test_a_window_that_ends_before_anyone_agreed_is_a_failure_and_another_time_starts_it(
    here: World, tmp_path: Path
) -> None:
    cluster = Watched(here, tmp_path)
    cluster.request(at=-1.0)
    given = cluster.variables()
    assert codes(here.play(PLAYBOOK, given)) == ["not_confirmed"]
    (entry,) = cluster.history()
    assert (entry["phase"], entry["conditions"][0]["type"]) == ("New", "Validation")
    cluster.hook.got.clear()
    cluster.openshift.clock.advance(UNTIL)
    for _pass in range(2):
        ended = here.play(PLAYBOOK, given)
        assert (ended.code != 0, codes(ended)) == (True, ["window_over"]), ended.output
    cluster.has_failed()
    cluster.request()
    ended = here.play(PLAYBOOK, cluster.agreed(upgrade_wait=True))
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert (cluster.history()[0]["phase"], cluster.state()) == ("Upgraded", "completed")


def test_a_pending_upgrade_gets_another_time_whose_window_is_over(here: World, tmp_path: Path) -> None:
    cluster = Watched(here, tmp_path)
    cluster.request(at=7200)
    given = cluster.variables()
    assert here.play(PLAYBOOK, given).code == 0
    assert (cluster.history()[0]["phase"], cluster.state()) == ("Pending", "waiting")
    cluster.request(at=-2.0 * UNTIL)
    for _pass in range(2):
        ended = here.play(PLAYBOOK, given)
        assert (ended.code != 0, codes(ended)) == (True, ["window_over"]), ended.output
    cluster.has_failed()
