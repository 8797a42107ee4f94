"""OpenShift with its real version operator, on a real API server that holds all that is written to the definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.monitoring.servers import Alertmanager, Prometheus, alertmanager, prometheus
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.lab.waiting import until
from tests.runs.openshift import shipped_rights
from tests.sandbox.kubernetes.objects import condition_of
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.description import ConditionalEdge, Described, Graph, Release, Risk
from tests.scenarios.cluster import CLUSTER_USER
from tests.scenarios.interruptions import END, KILLS
from tests.scenarios.openshift import Upgrades, mirrored, windows
from tests.scenarios.playbook import Playing

CHANNEL, NEXT_CHANNEL = "stable-4.13", "stable-4.14"
OLD, NEW, RISKY, UNSIGNED, MINOR, MIRRORED = "4.13.0", "4.13.1", "4.13.2", "4.13.3", "4.14.0", "4.14.1"
BEFORE = (OLD, NEW, RISKY, UNSIGNED)
SLOW_PODS = (Risk("SlowPods"),)
GATE, REMOVALS = "ack-4.13-kube-1.27-api-removals-in-4.14", "APIs are removed in 4.14."
GRAPH = Graph(
    (
        *(Release(each, (CHANNEL, NEXT_CHANNEL)) for each in BEFORE),
        *(Release(each, (NEXT_CHANNEL,)) for each in (MINOR, MIRRORED)),
    ),
    ((OLD, NEW), (MINOR, MIRRORED), *((each, UNSIGNED) for each in BEFORE[:-1]), *((each, MINOR) for each in BEFORE)),
    (ConditionalEdge(OLD, RISKY, SLOW_PODS), ConditionalEdge(NEW, RISKY, SLOW_PODS)),
)
DESCRIBED = Described(
    OLD,
    GRAPH,
    (pool("master"), pool("worker", 2)),
    channel=CHANNEL,
    operators=("etcd", "kube-apiserver", "machine-config"),
    gates={GATE: REMOVALS},
)
NODES = {node.name for each in DESCRIBED.pools for node in each.nodes}
MOMENT = 120.0
LOOKS_AGAIN = 240.0
"""A version operator that has just started finds nothing at its first look, and looks again after two minutes."""


LOST = {"alertname": "EtcdDiskFull", "severity": "critical", "namespace": "openshift-etcd"}
BOTH, WORKERS = {"alertname", "severity"}, {"severity"}
"""The labels by which the two maintenance windows hide alerts."""


@pytest.fixture(scope="module")
def silences(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alertmanager]:
    """A real Alertmanager."""
    with alertmanager(tmp_path_factory.mktemp("alertmanager")) as server:
        yield server


@pytest.fixture(scope="module")
def upgrades(
    lab: Lab,
    ansible_environment: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    silences: Alertmanager,
) -> Iterator[Upgrades]:
    """An OpenShift for all tests: the first brings it to one version, the second to the next one."""
    lab.apply(shipped_rights(CLUSTER_USER))
    with OpenShiftOnLab(lab, tmp_path_factory.mktemp("openshift"), DESCRIBED, [UNSIGNED]) as openshift:
        yield Upgrades(lab, openshift, ansible_environment, {"upgrade_alertmanager_url": silences.url})


@pytest.fixture
def alerts(tmp_path: Path) -> Iterator[Prometheus]:
    """A real Prometheus, in which nothing fires."""
    with prometheus(tmp_path) as server:
        yield server


def test_a_version_of_the_same_minor_version(upgrades: Upgrades, silences: Alertmanager, tmp_path: Path) -> None:
    """The real operator accepts the release unforced, replaces itself, and reports its progress."""
    gate = looking_at(silences, tmp_path)
    played = upgrades.run(upgrades.agreed(NEW, upgrade_workload_gate=str(gate)))
    print(played.output)
    assert played.code == 0, played.message
    is_done(upgrades, NEW, wanted=[NEW])
    seen = {file.stem: windows(json.loads(file.read_text())) for file in tmp_path.glob("*.json")}
    assert seen == {"master-0": BOTH, "worker-0": WORKERS, "worker-1": WORKERS}
    assert [windows([each]) for each in silences.silences()] == [set()] * 2
    newest = upgrades.openshift.version()["status"]["history"][0]
    assert newest["verified"]
    assert any(re.match(rf"True .*Working towards {NEW}: \d of \d done", each) for each in told(upgrades))
    assert upgrades.openshift.version_operator.image == newest["image"]


@pytest.mark.soak
def test_a_run_that_is_killed_behind_the_desired_update_goes_on(
    upgrades: Upgrades, alerts: Prometheus, silences: Alertmanager
) -> None:
    """The update has a risk that applies according to the real operator, and takes consent by its name.

    It is requested, and a critical alert holds it up before its start.
    """
    refused = upgrades.plan(RISKY)
    assert refused.code != 0
    assert f"The update to {RISKY} has the risk SlowPods, which applies to this cluster" in refused.output
    already = [each["version"] for each in upgrades.openshift.audit.wanted()]
    more = {"upgrade_accept_risks": ["SlowPods"], "upgrade_prometheus_url": alerts.url}
    variables = upgrades.agreed("", **upgrades.request(RISKY), **more)
    alerts.fire(LOST)
    run = upgrades.start(variables)
    is_held_up_by(LOST["alertname"], upgrades, run)
    assert silences.active() == []
    assert [each["version"] for each in upgrades.openshift.audit.wanted()] == already
    alerts.fire()
    until("the desired update", lambda: len(upgrades.openshift.audit.wanted()) > len(already) or run.ended, MOMENT)
    KILLS["SIGKILL to its process group"](run)
    until("the controller's end", lambda: run.ended, END)
    run.abandon()
    assert upgrades.left_behind()
    assert windows(silences.active()) == BOTH
    played = upgrades.run(variables)
    print(played.output)
    assert played.code == 0, played.message
    is_done(upgrades, RISKY, wanted=[*already, RISKY])
    assert silences.active() == []
    steps = upgrades.steps()
    assert {each["status"] for each in steps.values()} == {"True"}
    assert steps["PreUpgradeHealthCheck"]["completeTime"] <= steps["CreateControlPlaneMaintWindow"]["startTime"]


@pytest.mark.soak
def test_an_update_that_is_not_accepted_begins_by_itself_once_it_is(upgrades: Upgrades) -> None:
    """No one has signed the release. The run ends, and its pools stay held; the next run continues."""
    already = [each["version"] for each in upgrades.openshift.audit.wanted()]
    variables = upgrades.agreed(UNSIGNED)
    refused = upgrades.run(variables)
    assert refused.code != 0
    assert f"OpenShift does not accept the release {UNSIGNED}: Retrieving payload failed" in refused.message
    assert "The update cannot be verified" in refused.message
    assert upgrades.left_behind()
    upgrades.openshift.sign(UNSIGNED)
    until("the update to begin", lambda: upgrades.history()[0][0] == UNSIGNED, MOMENT)
    played = upgrades.run(variables)
    print(played.output)
    assert played.code == 0, played.message
    is_done(upgrades, UNSIGNED, wanted=[*already, UNSIGNED])


@pytest.mark.soak
def test_a_minor_version_takes_another_channel_and_an_acknowledgement(upgrades: Upgrades) -> None:
    openshift = upgrades.openshift
    already = [each["version"] for each in openshift.audit.wanted()]
    other = {"upgrade_channel": NEXT_CHANNEL}
    until("the acknowledgement to be asked for", lambda: upgradeable(upgrades) == REMOVALS, LOOKS_AGAIN)
    refused = upgrades.plan(MINOR, **other)
    assert refused.code != 0
    assert f"OpenShift asks for the acknowledgement {GATE}: {REMOVALS}" in refused.message
    openshift.acknowledge(GATE)
    until("the acknowledgement to be seen", lambda: not upgradeable(upgrades), MOMENT)
    played = upgrades.run(upgrades.agreed(MINOR, **other))
    print(played.output)
    assert played.code == 0, played.message
    is_done(upgrades, MINOR, wanted=[*already, MINOR])
    assert openshift.version()["spec"]["channel"] == NEXT_CHANNEL
    # The operator has refused the update first, until the etcd operator had made a backup.
    assert any('Precondition "EtcdRecentBackup" failed' in each for each in openshift.audit.said("ReleaseAccepted"))


@pytest.mark.soak
def test_an_image_of_a_registry_of_ones_own(upgrades: Upgrades, tmp_path: Path) -> None:
    """The version comes from the image, which has the digest of the update graph under another name."""
    already = [each["version"] for each in upgrades.openshift.audit.wanted()]
    with mirrored(upgrades.openshift, MIRRORED, tmp_path) as own:
        image = own["upgrade_release_image"]
        played = upgrades.run(upgrades.agreed("", **own))
    print(played.output)
    assert played.code == 0, played.message
    is_done(upgrades, MIRRORED, wanted=[*already, MIRRORED])
    newest = upgrades.openshift.version()["status"]["history"][0]
    assert (newest["image"], newest["verified"]) == (image, True)
    assert upgrades.openshift.audit.wanted()[-1]["image"] == upgrades.openshift.version_operator.image == image


def looking_at(silences: Alertmanager, folder: Path) -> Path:
    """A gate that lets every batch go, and keeps the silences of that time in a file by the name of a member."""
    kept = {"url": f"{silences.url}/api/v2/silences", "dest": f"{folder}/{{{{ upgrade_batch.members[0] }}}}.json"}
    gate = folder / "gate.yml"
    gate.write_text(json.dumps([{"name": "Keep the silences of now", "ansible.builtin.uri": kept}]), encoding="utf-8")
    return gate


def is_held_up_by(alert: str, upgrades: Upgrades, run: Playing) -> None:
    """Wait until the run and the answer to its request say that an alert holds it up before its start."""
    until("the run to wait for the alert", lambda: f"The alert {alert}" in run.so_far or run.ended, MOMENT)
    assert not run.ended, run.so_far
    checked = upgrades.steps()["PreUpgradeHealthCheck"]
    assert checked["status"] == "False"
    assert "CommenceUpgrade" not in upgrades.steps()


def upgradeable(upgrades: Upgrades) -> str:
    """The message of Upgradeable; empty: there is no such condition."""
    return str(condition_of(upgrades.openshift.version(), "Upgradeable").get("message", ""))


def told(upgrades: Upgrades) -> list[str]:
    """The messages of Progressing, one after the other."""
    return upgrades.openshift.audit.said("Progressing")


def is_done(upgrades: Upgrades, version: str, wanted: list[str]) -> None:
    """Fails unless all is on the version, each update was wanted once and unforced, and nothing is left behind."""
    openshift = upgrades.openshift
    assert upgrades.history()[0] == (version, "Completed")
    assert upgrades.on(version) == NODES
    assert upgrades.left_behind() == []
    assert [each["version"] for each in openshift.audit.wanted()] == wanted
    assert not any(each.get("force") for each in openshift.audit.wanted())
    assert openshift.audit.breaches() == []
    # The machine config operator goes through the masters by itself; each worker is let go by the run, after its gate.
    workers = [each for each in openshift.audit.taken() if not each[0].startswith("master")]
    assert workers[-2:] == [["worker-0"], ["worker-1"]]
