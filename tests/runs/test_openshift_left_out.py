"""Upgrades of OpenShift without the named steps that a user leaves out."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.left_out import OPTIONAL

from tests.runs.firing import Unavailable
from tests.runs.openshift import PLAYBOOK, SYSTEM
from tests.runs.test_openshift import CalledOpenShift
from tests.runs.test_openshift_capacity import SPARE, WithSpareWorkers
from tests.runs.test_upgrade_config import told
from tests.runs.upgrade_configs import SOURCE, UpgradeConfigs
from tests.runs.world import World
from tests.sandbox.monitoring.alertmanager import Alertmanager
from tests.sandbox.webhook import Webhook
from tests.scenarios.playbook import PLAN
from tests.unit.plugins.module_utils.openshift.named import NAMES

LEFT_OUT = [
    "SendStartedNotification",
    "ExternalDependencyAvailabilityCheck",
    "EnsureExtraUpgradeWorkers",
    "CreateControlPlaneMaintWindow",
    "CreateWorkerMaintWindow",
    "PostUpgradeProcedures",
    "SendCompletedNotification",
]


class Everything(UpgradeConfigs, WithSpareWorkers):
    """An OpenShift whose user asks for all that named steps do."""

    def __init__(self, here: World) -> None:
        WithSpareWorkers.__init__(self, here)
        UpgradeConfigs.__init__(self, here, self.openshift)
        self.hook, self.alerts, self.shop = Webhook(), Alertmanager(self.openshift.clock), Unavailable()
        serve = here.calling.serve
        self.asked: dict[str, Any] = {
            "upgrade_webhook": f"{serve(self.hook.answer).url}/200",
            "upgrade_alertmanager_url": serve(self.alerts).url,
            "upgrade_dependencies": [serve(self.shop).url],
            "upgrade_fedramp": True,
            "upgrade_request": SOURCE,
        }
        self.request()

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `WithSpareWorkers`. The version is in the request."""
        whole = super().variables(**{**self.asked, "upgrade_left_out": LEFT_OUT, **more})
        return {name: value for name, value in whole.items() if name != "target_version"}


def test_what_a_user_leaves_out_is_neither_done_nor_shown(here: World) -> None:
    cluster = Everything(here)
    ended = here.play(PLAYBOOK, cluster.agreed())
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.hook.states == []
    assert cluster.alerts.silences() == []
    assert cluster.shop.asked == 0
    assert cluster.made() == []
    assert [name for name, _said in told(cluster.history()[0])] == [name for name in NAMES if name not in LEFT_OUT]
    assert cluster.state() == "completed"


def test_one_window_alone_may_be_left_out(here: World) -> None:
    cluster = Everything(here)
    left = [name for name in LEFT_OUT if name not in ("CreateWorkerMaintWindow", "EnsureExtraUpgradeWorkers")]
    ended = here.play(PLAYBOOK, cluster.agreed(upgrade_left_out=left))
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.alerts.silences()
    assert cluster.alerts.active() == set()
    assert cluster.made() == SPARE


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OPTIONAL])
def test_what_no_upgrade_can_be_without_is_refused(here: World, name: str) -> None:
    cluster = CalledOpenShift(here)
    refused = here.play(PLAN, {**cluster.variables(upgrade_left_out=["IsUpgradeable", name]), **SYSTEM})
    assert refused.code != 0
    assert f"upgrade_left_out has {name}, and takes only SendStartedNotification, " in refused.output
    assert here.acts() == []
