"""The early look at an upgrade of OpenShift that starts later: all that would stop it, and what is new or fixed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs.firing import FOUND, FiringAlerts
from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import CalledOpenShift
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import timestamp

STATUS = "stateful.upgrade.status"


class Scheduled(CalledOpenShift):
    """An OpenShift whose upgrade starts in so many seconds, with a Prometheus."""

    def __init__(self, here: World, seconds: float) -> None:
        super().__init__(here)
        self.alerts = FiringAlerts()
        self.url = here.calling.serve(self.alerts).url
        self.at = timestamp(self.openshift.clock.now() + seconds)

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `CalledOpenShift`."""
        own = {"upgrade_at": self.at, "upgrade_prometheus_url": self.url, "upgrade_wait": False}
        return super().variables(**{**own, **more})

    def looked(self, **more: Any) -> tuple[list[str], list[str], list[str]]:
        """The findings that the record has after a pass, those that are new, and those that are fixed."""
        passed = self.here.play(PLAYBOOK, self.variables(**more))
        assert passed.code == 0, passed.output
        assert '"upgrade_state": "waiting"' in passed.output
        start = self.record()["start"]
        return start["findings"], start["new"], start["cured"]


def test_each_pass_before_the_start_asks_for_operators_and_alerts(here: World) -> None:
    cluster = Scheduled(here, 7200)
    findings, _new, _fixed = cluster.looked()
    assert [FOUND in each for each in findings] == [True]
    cluster.openshift.faults.operator_stays_degraded("etcd")
    cluster.openshift.clock.advance(60)
    findings, new, _fixed = cluster.looked()
    assert len(findings) == 2
    assert [each.startswith("ClusterOperator etcd") for each in new] == [True]
    cluster.alerts.alerts = []
    _findings, new, fixed = cluster.looked()
    assert (new, [FOUND in each for each in fixed]) == ([], [True])
    own = ("upgrade_namespace", "upgrade_kubernetes")
    shown = here.play(STATUS, {name: cluster.variables()[name] for name in own})
    assert "to be fixed before the start: ClusterOperator etcd" in shown.output
    assert "fixed since the check before: " in shown.output


@pytest.mark.parametrize(("seconds", "asked"), [(7260, False), (7200, True)])
def test_the_early_look_has_a_time(here: World, seconds: float, asked: bool) -> None:
    cluster = Scheduled(here, seconds)
    findings, _new, _fixed = cluster.looked(upgrade_early_look=120)
    assert (bool(findings), bool(cluster.alerts.asked)) == (asked, asked)


def test_an_alert_is_asked_for_by_the_step_alone_once_the_time_has_come(here: World) -> None:
    cluster = Scheduled(here, -60)
    cluster.alerts.alerts = []
    given = cluster.agreed(upgrade_wait=True)
    assert cluster.alerts.asked == 0
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
