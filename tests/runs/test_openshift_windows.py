"""The two maintenance windows of an upgrade of OpenShift: that of the control plane, and that of the workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs import direct
from tests.runs.openshift import PLAYBOOK
from tests.runs.sampled import one_in
from tests.runs.test_openshift import CalledOpenShift
from tests.runs.world import World, world
from tests.sandbox.monitoring.alertmanager import Alertmanager
from tests.sandbox.openshift.asking import history
from tests.sandbox.openshift.kinds import POOLS, VERSION, VERSIONS
from tests.sandbox.web import Request

CRITICAL = {"alertname": "ClusterOperatorDown", "severity": "critical", "namespace": "openshift-monitoring"}
OTHER = {"alertname": "DatabaseDown", "severity": "critical", "namespace": "search"}
WARNING = {"alertname": "KubeNodeNotReady", "severity": "warning", "namespace": "openshift-monitoring"}


class Watched:
    """An OpenShift with an Alertmanager, and what it hides whenever the cluster is changed."""

    def __init__(self, here: World) -> None:
        self.here, self.cluster = here, CalledOpenShift(here)
        self.alerts = Alertmanager(self.cluster.openshift.clock)
        self.url = here.calling.serve(self.alerts).url
        self.watched_alerts = (CRITICAL, WARNING)
        self.hidden: list[tuple[str, bool, bool]] = []
        """At each change of a pool or of the ClusterVersion: its path, and whether these two alerts are hidden."""
        self.gaps: list[str] = []
        here.calling.after = self._look

    def _look(self, request: Request) -> None:
        assert not self.alerts.hides(OTHER)
        if request.method == "PATCH" and request.path in {POOLS.path("", "worker"), VERSIONS.path("", VERSION)}:
            first, second = map(self.alerts.hides, self.watched_alerts)
            self.hidden.append((request.path, first, second))
        if self.hidden and not self.alerts.hides(WARNING) and not self.done():
            self.gaps.append(f"{request.method} {request.path}")

    def done(self) -> bool:
        """Whether all are on the target, after which the windows may end."""
        return len(self.cluster.on_target()) == sum(len(each.nodes) for each in self.cluster.described.pools)

    def given(self, **more: Any) -> dict[str, Any]:
        """The variables, with consent."""
        return self.cluster.agreed(upgrade_alertmanager_url=self.url, **more)


@pytest.fixture
def watched() -> Iterator[Watched]:
    """One of its own."""
    with world(direct.play) as here:
        yield Watched(here)


def test_critical_alerts_are_hidden_for_the_control_plane_and_warnings_until_the_end(watched: Watched) -> None:
    watched.alerts.alerts = [CRITICAL, OTHER]
    ended = watched.here.play(PLAYBOOK, watched.given())
    assert ended.code == 0, ended.output
    watched.cluster.is_upgraded()
    assert "hides ClusterOperatorDown (namespace=openshift-monitoring, severity=critical)." in ended.output
    commenced = [found for path, *found in watched.hidden if path == VERSIONS.path("", VERSION)]
    pools = [found for path, *found in watched.hidden if path == POOLS.path("", "worker")]
    assert commenced == [[True, True]]
    # The pool is held within the first window, and let go in the second one.
    assert pools[0] == [True, True]
    assert {tuple(each) for each in pools[1:]} == {(False, True)}
    assert watched.gaps == []
    assert watched.alerts.active() == set()


def test_no_window_without_an_alertmanager(watched: Watched) -> None:
    ended = watched.cluster.upgrade()
    assert ended.code == 0, ended.output
    assert watched.alerts.silences() == []


def test_workers_that_stay_have_no_window(watched: Watched) -> None:
    openshift = watched.cluster.openshift
    openshift.write(POOLS, "worker", {"paused": True})
    given, hidden = watched.given(upgrade_control_plane_silences=['severity="critical"']), list[bool]()
    watched.here.calling.after = lambda _request: hidden.append(watched.alerts.hides(WARNING))
    ended = watched.here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    assert history(openshift)[0] == ("4.18.2", "Completed")
    assert watched.alerts.silences()
    assert not any(hidden)
    assert watched.alerts.active() == set()


@pytest.mark.parametrize("number", one_in(3, range(2, 34, 4)))
def test_a_killed_run_leaves_no_window_behind_the_next_one(watched: Watched, number: int) -> None:
    given = watched.given()
    killed = watched.here.killed_behind(number, given, PLAYBOOK)
    assert killed is None, killed.output
    watched.cluster.openshift.clock.advance(120)
    ended = watched.here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    watched.cluster.is_upgraded()
    assert watched.alerts.active() == set()


def test_a_run_that_fails_ends_its_window(watched: Watched) -> None:
    given = watched.given(upgrade_member_timeout=1200)
    watched.cluster.openshift.faults.node_never_returns("worker-0")
    ended = watched.here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert watched.alerts.silences()
    assert watched.alerts.active() == set()


def test_an_upgrade_does_not_begin_without_its_window(watched: Watched) -> None:
    given = watched.given()
    served = watched.here.calling.serve(watched.alerts)
    served.close()
    ended = watched.here.play(PLAYBOOK, {**given, "upgrade_alertmanager_url": served.url})
    assert ended.code != 0
    assert "The Alertmanager" in ended.output
    assert history(watched.cluster.openshift)[0] == ("4.18.1", "Completed")
    assert watched.cluster.paused() == []


def test_other_windows_are_those_that_are_given(watched: Watched) -> None:
    watched.watched_alerts = ({"team": "platform"}, WARNING)
    own = {"upgrade_control_plane_silences": ['team="platform"'], "upgrade_worker_silences": []}
    ended = watched.here.play(PLAYBOOK, watched.given(**own))
    assert ended.code == 0, ended.output
    (silence,) = watched.alerts.silences()
    assert silence["matchers"][0]["value"] == "platform"
    # It ends before the workers start.
    assert [hidden[0] for _path, *hidden in watched.hidden] == [True, True, *[False] * (len(watched.hidden) - 2)]
