"""An update of OpenShift that a person has started: a run continues it, and its checks count as satisfied."""

from __future__ import annotations

from tests.runs.firing import FiringAlerts, Unavailable
from tests.runs.test_openshift import TARGET
from tests.runs.test_upgrade_config import RequestedOpenShift
from tests.runs.world import World
from tests.sandbox.openshift.asking import history


def test_an_update_that_a_person_has_begun_is_gone_on_with_and_its_checks_are_satisfied(here: World) -> None:
    cluster, alerts, shop = RequestedOpenShift(here), FiringAlerts(), Unavailable()
    own = {
        "upgrade_prometheus_url": here.calling.serve(alerts).url,
        "upgrade_dependencies": [here.calling.serve(shop).url],
        "upgrade_steps": [{"name": "alerts_after", "skip": True}],
    }
    cluster.openshift.faults.operator_not_upgradeable("etcd")
    cluster.openshift.faults.person_wants(TARGET)
    cluster.openshift.clock.advance(60)
    assert history(cluster.openshift)[0] == (TARGET, "Partial")
    cluster.request()
    ended = cluster.play(**own)
    assert ended.code == 0, ended.output
    assert (alerts.asked, shop.asked) == (0, 0)
    (entry,) = cluster.history()
    assert (entry["phase"], entry["version"], entry["precedingVersion"]) == ("Upgraded", TARGET, "4.18.1")
    assert history(cluster.openshift)[0] == (TARGET, "Completed")
    assert cluster.paused() == []
    states = {each["status"] for each in entry["conditions"]}
    assert states == {"True"}
