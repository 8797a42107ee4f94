"""The health of an OpenShift after its upgrade, compared with that before (`upgrade_health_policy`)."""

from __future__ import annotations

import math
from typing import Any

from tests.runs.firing import FIRING, FOUND
from tests.runs.openshift import PLAYBOOK, SYSTEM
from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.kinds import VERSIONS
from tests.sandbox.web import Answer, Request
from tests.scenarios.playbook import PLAN

NEW = {"alertname": "PodsAreSlow", "severity": "critical", "namespace": "openshift-ingress"}


class Remembering(CalledOpenShift):
    """An OpenShift with a Prometheus that knows since when each alert fires. One has done so for ten minutes."""

    def __init__(self, here: World) -> None:
        super().__init__(here)
        self.since = [(FIRING, self.openshift.clock.now() - 600)]
        self.url = here.calling.serve(self.answer).url

    def answer(self, request: Request) -> Answer:
        """The alerts at the time of the query, which is now if it names none."""
        at = float(request.query.get("time", math.inf))
        found: list[dict[str, Any]] = [
            {"metric": labels, "value": [0, "1"]} for labels, since in self.since if since <= at
        ]
        return Answer(200, {"status": "success", "data": {"resultType": "vector", "result": found}})

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `CalledOpenShift`."""
        own = {"upgrade_prometheus_url": self.url, "upgrade_health_policy": "no_worse"}
        return super().variables(**{**own, **more})

    def fires_behind_the_control_plane(self) -> None:
        """A further alert fires from then on."""

        def completed(item: Json) -> bool:
            newest = item["status"]["history"][0]
            return (newest["version"], newest["state"]) == (TARGET, "Completed")

        self.openshift.faults.when(VERSIONS, completed, lambda: self.since.append((NEW, self.openshift.clock.now())))


def test_an_alert_from_before_the_start_may_fire_at_the_end_too(here: World) -> None:
    cluster = Remembering(here)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert ended.output.count(f"The alert {FOUND} (namespace=openshift-etcd") == 2
    assert "fires as it did when the upgrade began" in ended.output


def test_without_the_policy_it_stops_the_start(here: World) -> None:
    cluster = Remembering(here)
    given = cluster.agreed(upgrade_health_policy="none", upgrade_wait=False)
    passed = here.play(PLAYBOOK, given)
    assert '"upgrade_state": "waiting"' in passed.output
    assert FOUND in passed.output
    assert not cluster.openshift.observer.writes_of("spec.desiredUpdate")


def test_an_alert_that_an_upgrade_brings_keeps_it_from_its_end(here: World) -> None:
    cluster = Remembering(here)
    cluster.fires_behind_the_control_plane()
    given = cluster.agreed(upgrade_steps=[{"name": "alerts_after", "timeout": 60}])
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    (cause,) = [each["message"] for each in cluster.record()["conditions"] if each["type"] == "alerts_after"]
    assert NEW["alertname"] in cause
    assert FOUND not in cause
    assert cluster.record()["phase"] == "Upgrading"
    cluster.since.pop()
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    assert cluster.record()["phase"] == "Completed"


def test_the_policy_lets_no_operator_and_no_kubernetes_node_pass(here: World) -> None:
    cluster = Remembering(here)
    cluster.openshift.faults.person_cordons("worker-1")
    cluster.openshift.faults.operator_stays_degraded("etcd")
    cluster.openshift.clock.advance(60)
    refused = here.play(PLAN, {**cluster.variables(), **SYSTEM})
    assert refused.code != 0
    assert {"operator_unwell", "kubernetes_node_unfit"} <= {*codes(refused)}
