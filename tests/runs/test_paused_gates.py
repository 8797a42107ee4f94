"""A person pauses an upgrade whose batch waits at its gate: the wait ends, and nothing goes down."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_files import Files
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import MOST
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from kubernetes import client, config

from tests.lab.opensearch.layouts import Pool
from tests.runs.machines import CHECK, machines
from tests.runs.machines import NAMESPACE as OF_MACHINES
from tests.runs.machines import PLAYBOOK as MACHINES
from tests.runs.on_hosts import PLAYBOOK_OF_HOSTS, cluster_on_hosts
from tests.runs.openshift import NAMESPACE as OF_OPENSHIFT
from tests.runs.openshift import PLAYBOOK as OPENSHIFT
from tests.runs.openshift import SYSTEM
from tests.runs.random_runs.longhorn.stage import LonghornStage
from tests.runs.random_runs.longhorn.story import OUTSIDE, REPLACEMENT, LonghornStory
from tests.runs.test_machines import FROM as OLD
from tests.runs.test_machines import TO as NEW
from tests.runs.test_machines import is_upgraded
from tests.runs.test_openshift import CalledOpenShift
from tests.runs.test_openshift_databases import NAMED, Tenanted
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.longhorn.description import Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE as OF_LONGHORN
from tests.sandbox.longhorn.runs import leftovers
from tests.sandbox.web import Request
from tests.scenarios.branches.test_restart import RESTART, marks, of_restart, processes
from tests.scenarios.cluster import RESTART_ROLE, bound
from tests.scenarios.playbook import PLAN, PLAYBOOK, Played, digest_in

FROM, TO = "2.19.6", "3.8.0"
PAUSE = "upgrade.stateful/pause"
WAITED = 120.0
"""Seconds for which the gate has waited before the pause."""


@pytest.fixture
def here() -> Iterator[World]:
    """A world of this test alone."""
    with world() as made:
        yield made


@contextmanager
def records_of(here: World, namespace: str) -> Iterator[tuple[client.CoreV1Api, list[Any]]]:
    """The client of the API, and the records of upgrades."""
    label = "app.kubernetes.io/managed-by=stateful.upgrade"
    with config.new_client_from_config(str(here.sandbox.kubeconfig())) as api:
        core = client.CoreV1Api(api)
        yield core, core.list_namespaced_config_map(namespace, label_selector=label).items


def annotated(here: World, namespace: str, reason: str | None) -> None:
    """Annotate the record of the upgrade; with None, take the annotation away."""
    with records_of(here, namespace) as (core, (record,)):
        body = {"metadata": {"annotations": {PAUSE: reason}}}
        core.patch_namespaced_config_map(record.metadata.name, namespace, body)


def batches_done(here: World, namespace: str) -> int:
    """The batches that the record of the upgrade has as done."""
    with records_of(here, namespace) as (_core, records):
        batches = [batch for each in records for batch in json.loads(each.data["record.json"])["batches"]]
        return sum(each["state"] == "done" for each in batches)


@dataclass
class Blocked:
    """After the first batch something keeps the next gate waiting; later a person pauses the upgrade."""

    here: World
    namespace: str
    is_back: Callable[[], bool]
    """Whether the first batch goes, or is done."""
    block: Callable[[], object]
    pause: Callable[[], object] | None = None
    """How a person pauses it; None for the annotation of its record."""
    since: float = 0.0
    paused: float = 0.0
    looks: bool = False

    def __call__(self, _request: Request) -> None:
        """After a request of the run, and not of this test."""
        if self.looks:
            return
        self.looks = True
        try:
            self._look()
        finally:
            self.looks = False

    def _look(self) -> None:
        now = self.here.sandbox.clock.now()
        if not self.since and self.is_back():
            self.since = now
            self.block()
        elif self.since and not self.paused and now - self.since > WAITED:
            self.paused = now
            if self.pause is None:
                annotated(self.here, self.namespace, "a disk is replaced")
            else:
                self.pause()

    def ends(self, play: Callable[[], Played]) -> None:
        """Fails unless the run ends soon after the pause, and says so."""
        self.here.calling.after = self
        paused = play()
        self.here.calling.after = lambda _request: None
        assert paused.code == 0, paused.output
        assert re.search(r"The upgrade has been paused by .{3,60} since \d{4}-\d\d-\d\dT", paused.output)
        assert self.paused
        assert self.here.sandbox.clock.now() - self.paused < 60.0


def test_a_member_of_opensearch_does_not_go_down_in_a_pause(here: World) -> None:
    cluster = here.cluster(FROM)
    given, before, faults = here.confirmed(cluster.variables(TO)), cluster.fingerprint(), here.sandbox.faults
    last = [*before.pods][-1]

    def goes() -> bool:
        members = f"/pods/{cluster.name}-members-"
        return any(act == "DELETE" and members in path and "image-pull" not in path for act, path in here.acts())

    blocked = Blocked(here, cluster.namespace, goes, lambda: faults.crash_loop(cluster.namespace, last))
    blocked.ends(lambda: here.play(PLAYBOOK, given))
    assert cluster.fingerprint().settings == before.settings
    faults.mend_all()
    cluster.until_green()
    assert sum(version == TO for version in cluster.versions().values()) == 1
    assert "paused" in here.play(PLAYBOOK, given).output
    annotated(here, cluster.namespace, None)
    done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert cluster.fingerprint().settings == before.settings


def test_no_process_ends_in_a_pause_of_a_restart(here: World) -> None:
    cluster = here.cluster(TO)
    here.sandbox.apply(bound(RESTART_ROLE, cluster.namespace))
    given, first, faults = of_restart(cluster), processes(cluster), here.sandbox.faults
    given = {**given, "upgrade_confirm": digest_in(here.play(RESTART, given, CHECK))}

    def kept() -> set[str]:
        return {name for name, process in processes(cluster).items() if process == first[name]}

    def one_is_done() -> bool:
        return batches_done(here, cluster.namespace) == 1

    def crash() -> None:
        (restarted,) = first.keys() - kept()
        faults.crash_loop(cluster.namespace, restarted)
        faults.kill(cluster.namespace, restarted)

    Blocked(here, cluster.namespace, one_is_done, crash).ends(lambda: here.play(RESTART, given))
    faults.mend_all()
    assert len(kept()) == len(first) - 1
    annotated(here, cluster.namespace, None)
    done = here.play(RESTART, given)
    assert (done.code, kept()) == (0, set()), done.output
    assert marks(cluster) == {name: [] for name in first}


def test_a_kubernetes_node_of_openshift_is_not_taken_in_a_pause(here: World) -> None:
    cluster = CalledOpenShift(here)
    given, masters = cluster.agreed(), {"master-0", "master-1", "master-2"}
    faults = cluster.openshift.faults

    def is_done() -> bool:
        return cluster.on_target() >= masters and batches_done(here, OF_OPENSHIFT) == 1

    blocked = Blocked(here, OF_OPENSHIFT, is_done, lambda: faults.operator_stays_degraded("etcd"))
    blocked.ends(lambda: here.play(OPENSHIFT, {**given, **SYSTEM}))
    assert (cluster.on_target(), cluster.paused()) == (masters, ["worker"])
    annotated(here, OF_OPENSHIFT, None)


def test_a_worker_is_not_taken_in_a_pause_while_its_databases_are_asked(here: World, tmp_path: Path) -> None:
    tenanted = Tenanted(here)
    openshift, database, taken = tenanted.openshift, tenanted.database, set[str]()
    database.slow_to_return(sorted(database.places())[0], 1200.0)
    given = openshift.agreed(**tenanted.asked(NAMED, tmp_path))

    def pause() -> None:
        taken.update(openshift.on_target())
        annotated(here, OF_OPENSHIFT, "a disk is replaced")

    def has_left() -> bool:
        return bool(database.moved) and batches_done(here, OF_OPENSHIFT) >= 2

    Blocked(here, OF_OPENSHIFT, has_left, lambda: None, pause).ends(lambda: here.play(OPENSHIFT, {**given, **SYSTEM}))
    assert openshift.on_target() == taken
    assert openshift.paused() == ["worker"]


def test_a_node_of_longhorn_whose_switch_has_begun_is_put_back_in_a_pause(here: World) -> None:
    nodes, options = ("n01", "n02", "n03"), {"upgrade_accept_unverified": [REPLACEMENT]}
    story = LonghornStory(
        0, OUTSIDE, tuple(map(Machine, nodes)), (Volume("v", nodes, "n01"),), outlive=True, options=options
    )
    stage = LonghornStage(here, story)
    longhorn = stage.longhorn
    longhorn.faults.snapshots_stuck("v")
    variables = stage.variables()
    given = {**variables, "upgrade_confirm": digest_in(here.play(PLAN, stage.of_plan(variables)))}

    def has_begun() -> bool:
        return bool(leftovers(longhorn.objects.all))

    Blocked(here, OF_LONGHORN, has_begun, lambda: None).ends(lambda: here.play(stage.playbook, given))
    assert not stage.is_done()
    assert leftovers(longhorn.objects.all) == []


def test_a_machine_of_kubeadm_does_not_go_down_in_a_pause(here: World) -> None:
    with machines(here, OLD, [NEW]) as found:
        variables = found.variables(NEW)
        given = {**variables, "upgrade_confirm": digest_in(here.play(MACHINES, variables, *found.arguments, CHECK))}

        def pressure(status: str) -> None:
            def change(item: Json) -> None:
                kept = [each for each in item["status"]["conditions"] if each["type"] != "MemoryPressure"]
                item["status"]["conditions"] = [*kept, {"type": "MemoryPressure", "status": status}]

            written = Writing(manager="kubelet", subresource="status")
            here.sandbox.kubernetes.server.resources.change(NODES, "", "worker-3", change, written)

        def upgraded() -> set[str]:
            versions = {
                name: found.cluster.node(name)["status"]["nodeInfo"]["kubeletVersion"] for name in found.machines
            }
            return {name for name, version in versions.items() if version == f"v{NEW}"}

        blocked = Blocked(here, OF_MACHINES, lambda: bool(upgraded()), lambda: pressure("True"))
        blocked.ends(lambda: here.play(MACHINES, given, *found.arguments))
        assert len(upgraded()) == 1
        assert not any(found.cluster.node(name)["spec"].get("unschedulable") for name in found.machines)
        pressure("False")
        annotated(here, OF_MACHINES, None)
        ended = here.play(MACHINES, given, *found.arguments)
        assert ended.code == 0, ended.output
        is_upgraded(found)


def test_a_member_on_a_plain_host_does_not_go_down_in_a_pause(here: World) -> None:
    """Its record is a file, in which the playbook writes the pause."""
    with cluster_on_hosts(here, FROM, (Pool("members", 3, ("cluster_manager", "data", "ingest")),)) as cluster:
        variables = cluster.variables(TO)
        shown = here.play(PLAYBOOK_OF_HOSTS, variables, *cluster.arguments, CHECK)
        given, files = {**variables, "upgrade_confirm": digest_in(shown)}, Files(cluster.records)

        def upgraded() -> list[str]:
            return [name for name, host in cluster.hosts.items() if host.service.installed == TO]

        def is_done() -> bool:
            records = [kept.record() for kept in files.find().kept.values()]
            return any(each.batches_done == 1 for each in records)

        def away() -> None:
            next(host for name, host in cluster.hosts.items() if name not in upgraded()).service.end()

        def pause() -> None:
            ((name, kept),) = files.find().kept.items()
            held = kept.record().with_events(
                happened(EventKind.HELD, "2026-11-30T00:00:00Z", message="a disk", by="ops")
            )
            files.write(name, record_text(held, MOST), "", kept)

        Blocked(here, "", is_done, away, pause).ends(lambda: here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments))
        assert len(upgraded()) == 1
