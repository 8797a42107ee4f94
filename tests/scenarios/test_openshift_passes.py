"""OpenShift upgraded one pass at a time, as a stage of GitOps does it, with its real version operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.lab.api import MERGE
from tests.lab.lab import Lab
from tests.lab.longhorn.requests import ask
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.lab.waiting import until
from tests.runs.openshift import NAMESPACE, shipped_rights
from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.description import Described, Graph, Release
from tests.sandbox.openshift.file_integrity import GROUP, RE_INIT, definition, file_integrity
from tests.sandbox.openshift.file_integrity import VERSION as INTEGRITY_VERSION
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import CLUSTER_USER
from tests.scenarios.interruptions import END, KILLS
from tests.scenarios.openshift import Upgrades
from tests.scenarios.playbook import Played

CHANNEL, OLD, NEW, NEXT = "stable-4.13", "4.13.0", "4.13.1", "4.13.2"
DESCRIBED = Described(
    OLD,
    Graph(tuple(Release(each, (CHANNEL,)) for each in (OLD, NEW, NEXT)), ((OLD, NEW), (NEW, NEXT))),
    (pool("master"), pool("worker", 2)),
    channel=CHANNEL,
    operators=("etcd", "kube-apiserver", "machine-config"),
)
NODES = {node.name for each in DESCRIBED.pools for node in each.nodes}
WORKERS = ["worker-0", "worker-1"]
MOST = 60
"""More passes than an upgrade of this size needs on a busy machine."""
MOMENT = 120.0
INTEGRITIES = Kind(GROUP, INTEGRITY_VERSION, "fileintegrities", "FileIntegrity")
ASKED_FOR = "upgrade.stateful/file-integrity-of"
OWN = {"team": "security"}


class Baseline:
    """A FileIntegrity of another user, kept by its operator's documented definition."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        lab.apply([definition()])
        until("the kind FileIntegrity", self._is_served, MOMENT)
        lab.apply([file_integrity("worker", NAMESPACE, OWN)])

    def _is_served(self) -> bool:
        try:
            self._ask("GET", INTEGRITIES.path(NAMESPACE))
        except Refused:
            return False
        return True

    def _ask(self, method: str, path: str, body: Json | None = None, content: str = MERGE) -> Json:
        with self._lab.client() as api:
            return ask(api, method, path, body, content, "file-integrity-operator")

    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        found = self._ask("GET", INTEGRITIES.path(NAMESPACE, "worker"))
        return dict(found["metadata"]["annotations"])

    def change(self, config: Json) -> None:
        """Change its configuration. Raises Refused."""
        self._ask("PATCH", INTEGRITIES.path(NAMESPACE, "worker"), {"spec": {"config": config}})

    def take(self) -> None:
        """Make the baseline again, as the operator does, which takes its annotation away."""
        self._ask("PATCH", INTEGRITIES.path(NAMESPACE, "worker"), {"metadata": {"annotations": {RE_INIT: None}}})


@pytest.fixture(scope="module")
def upgrades(
    lab: Lab, ansible_environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Upgrades]:
    """An OpenShift for both tests, the second of which goes on from the version of the first."""
    lab.apply(shipped_rights(CLUSTER_USER))
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    with OpenShiftOnLab(lab, tmp_path_factory.mktemp("openshift"), DESCRIBED) as openshift:
        yield Upgrades(lab, openshift, environment, {"upgrade_wait": False})


@pytest.fixture(scope="module")
def baseline(lab: Lab, upgrades: Upgrades) -> Baseline:
    """The baseline of its workers."""
    return Baseline(lab)


def passes(upgrades: Upgrades, variables: Mapping[str, Any]) -> list[Played]:
    """Passes until one is done. Each of them succeeds, and leaves no worker to the machine config operator alone."""
    found: list[Played] = []
    while len(found) < MOST:
        played = upgrades.run(variables)
        assert played.code == 0, played.output
        found.append(played)
        if statistics(played)["upgrade_state"] == "done":
            print(played.output)
            return found
        assert statistics(played)["upgrade_state"] == "waiting"
        print(len(found), *statistics(played)["upgrade_waiting_for"])
    pytest.fail(f"not done after {MOST} passes: {found[-1].output}")


def is_done(upgrades: Upgrades, version: str, wanted: list[str], batches: list[list[str]]) -> None:
    """Fails unless all is on the version, wanted once, each worker let go by itself, and nothing is left behind."""
    audit = upgrades.openshift.audit
    assert upgrades.history()[0] == (version, "Completed")
    assert upgrades.on(version) == NODES
    assert upgrades.left_behind() == []
    assert [each["version"] for each in audit.wanted()] == wanted
    assert audit.breaches() == []
    assert [each for each in audit.taken() if each[0] in WORKERS] == batches


@pytest.mark.soak
def test_a_version_of_the_same_minor_version_pass_by_pass(upgrades: Upgrades, baseline: Baseline) -> None:
    """At its end the baseline of file integrity is made again, once, and other annotations stay."""
    with pytest.raises(Refused, match="gracePeriods"):
        baseline.change({"gracePeriods": 60})
    variables = upgrades.agreed(NEW, upgrade_fedramp=True)
    assert len(passes(upgrades, variables)) > 1
    is_done(upgrades, NEW, [NEW], [[each] for each in WORKERS])
    assert baseline.annotations() == {**OWN, RE_INIT: "", ASKED_FOR: NEW}
    baseline.take()
    (again,) = passes(upgrades, variables)
    assert again.changed["localhost"] == 0
    assert baseline.annotations() == {**OWN, ASKED_FOR: NEW}


@pytest.mark.soak
def test_a_pass_that_is_killed_behind_the_desired_update_is_followed_by_others(
    upgrades: Upgrades, baseline: Baseline
) -> None:
    audit = upgrades.openshift.audit
    already, taken = (
        [each["version"] for each in audit.wanted()],
        [each for each in audit.taken() if each[0] in WORKERS],
    )
    variables = upgrades.agreed(NEXT, upgrade_fedramp=True)
    run = upgrades.start(variables)
    until("the desired update", lambda: len(audit.wanted()) > len(already) or run.ended, MOMENT)
    KILLS["SIGKILL to its process group"](run)
    until("the controller's end", lambda: run.ended, END)
    assert run.abandon().code != 0
    assert upgrades.left_behind()
    passes(upgrades, variables)
    is_done(upgrades, NEXT, [*already, NEXT], [*taken, *([each] for each in WORKERS)])
    assert baseline.annotations() == {**OWN, RE_INIT: "", ASKED_FOR: NEXT}
