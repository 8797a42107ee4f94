"""The pods of machines of kubeadm are Ready again before the next machine goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.ready_before import NOTE, read_note

from tests.runs.machines import NAMESPACE, Machines, machines
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import FROM, TO, codes, is_upgraded, upgraded
from tests.runs.turns import Killed
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json, is_ready
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.web import Request

WEB = "web"
DEADLINE = {"upgrade_member_timeout": 120, "upgrade_gate_timeout": 120}


@pytest.fixture
def found() -> Iterator[Machines]:
    """Three machines of the control plane, three workers with two pods of a StatefulSet, and the user with the shipped
    rights."""
    with world() as here, machines(here, FROM, [TO], workers=3) as made:
        here.sandbox.apply(
            [
                *rights_of_machines(NAMESPACE),
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WEB}},
                WEB_SET,
            ]
        )
        assert made.cluster.until(lambda: all(pod_ready(made, f"{WEB}-{each}") for each in range(2)))
        yield made


WEB_SET: Json = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": WEB, "namespace": WEB},
    "spec": {
        "replicas": 2,
        "serviceName": WEB,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": WEB}},
        "template": {
            "metadata": {"labels": {"app": WEB}},
            "spec": {"containers": [{"name": "server", "image": "probe:1"}]},
        },
    },
}


def pod(found: Machines, name: str) -> Json | None:
    """A pod of the StatefulSet."""
    return found.here.sandbox.kubernetes.server.resources.store.kept(PODS, WEB, name)


def pod_ready(found: Machines, name: str) -> bool:
    """Whether it is Ready."""
    there = pod(found, name)
    return there is not None and is_ready(there)


def place(found: Machines, name: str) -> str:
    """The machine that it is on."""
    there = pod(found, name)
    assert there is not None
    return str(there["spec"]["nodeName"])


def notes(found: Machines) -> Mapping[str, str]:
    """By machine its note."""
    all_notes = {name: found.cluster.node(name)["metadata"].get("annotations", {}) for name in found.machines}
    return {name: each[NOTE] for name, each in all_notes.items() if NOTE in each}


def versions(found: Machines) -> list[str]:
    """The machines whose kubelets are on the target."""
    return [name for name, each in found.machines.items() if each.kubelet.version == TO]


class Cordons:
    """It notes each cordon of a machine while a pod of the system or of the StatefulSet is not Ready that was before
    another machine went."""

    def __init__(self, found: Machines) -> None:
        self._found = found
        self.early: list[str] = []
        self.seen: list[str] = []
        found.here.sandbox.kubernetes.server.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind != NODES or change.before is None or not change.item["spec"].get("unschedulable"):
            return
        if not change.before["spec"].get("unschedulable"):
            self.seen.append(change.item["metadata"]["name"])
            pods = self._found.here.sandbox.kubernetes.server.resources.store.list(PODS)
            self.early += [f"{self.seen[-1]}: {each['metadata']['name']}" for each in pods if not is_ready(each)]


def test_no_machine_goes_while_a_pod_of_a_daemon_set_or_a_replica_is_missing(found: Machines) -> None:
    cordons = Cordons(found)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    assert (len(cordons.seen), cordons.early) == (6, [])
    is_upgraded(found)
    assert notes(found) == {}
    assert "Pods that were Ready before machine worker-1 went are not Ready again: kube-system/kube-proxy-" in (
        ended.output
    )


def test_a_pod_of_a_daemon_set_that_stays_away_ends_the_run_by_name(found: Machines) -> None:
    kubelet = found.machines["worker-1"].kubelet
    kubelet.daemons_never_ready = True
    failed = upgraded(found, **DEADLINE)
    assert failed.code != 0
    assert "pods_not_back" in codes(failed), failed.output
    assert "Pods that were Ready before machine worker-1 went are not Ready again: kube-system/kube-proxy-" in (
        failed.message
    )
    assert f"kubectl annotate node worker-1 {NOTE}-" in failed.message
    assert "within 120 s" in failed.message
    assert [name for name in versions(found) if name.startswith("worker")] == ["worker-1"]
    # The next run still waits for it, although the machine is in no batch any more.
    failed = upgraded(found, **DEADLINE)
    assert "pods_not_back" in codes(failed), failed.output
    assert [name for name in versions(found) if name.startswith("worker")] == ["worker-1"]
    found.here.sandbox.kubernetes.faults.let_daemons("worker-1", ready=True)
    found.here.later(10)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    assert notes(found) == {}


def test_a_replica_that_does_not_come_back_ends_the_run_until_a_person_goes_on_without_it(found: Machines) -> None:
    missing = place(found, f"{WEB}-1")
    found.here.calling.after = lambda request: (
        found.here.sandbox.kubernetes.faults.never_ready(WEB, f"{WEB}-1") if "/eviction" in request.path else None
    )
    failed = upgraded(found, **DEADLINE)
    assert "pods_not_back" in codes(failed), failed.output
    assert f"Pods that were Ready before machine {missing} went are not Ready again: {WEB}/{WEB}-1" in failed.message
    assert read_note(missing, notes(found)[missing])
    before = len(versions(found))

    def without(item: Json) -> None:
        del item["metadata"]["annotations"][NOTE]

    found.here.sandbox.kubernetes.server.resources.change(NODES, "", missing, without)
    found.here.calling.after = lambda _request: None
    ended = upgraded(found, **DEADLINE)
    assert ended.code == 0, ended.output
    assert before < len(versions(found)) == 6
    assert notes(found) == {}


def test_a_pod_that_was_not_ready_before_holds_nothing_up(found: Machines) -> None:
    found.here.sandbox.kubernetes.faults.never_ready(WEB, f"{WEB}-1")
    found.here.sandbox.kubernetes.faults.let_daemons("worker-2", ready=False)
    found.machines["worker-2"].kubelet.daemons_never_ready = True
    ended = upgraded(found, **DEADLINE)
    assert ended.code == 0, ended.output
    assert len(versions(found)) == 6
    assert notes(found) == {}


def test_a_replica_that_is_wanted_no_more_is_not_waited_for(found: Machines) -> None:
    resources = found.here.sandbox.kubernetes.server.resources

    def scale(request: Request) -> None:
        if "/eviction" in request.path:
            found.here.sandbox.kubernetes.faults.never_ready(WEB, f"{WEB}-1")
            kind = found.here.sandbox.kubernetes.server.kinds.named("apps/v1", "StatefulSet")
            assert kind is not None
            resources.change(kind, WEB, WEB, lambda item: item["spec"].update(replicas=1))

    found.here.calling.after = scale
    ended = upgraded(found, **DEADLINE)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_after_a_kill_the_next_run_waits_for_the_pods_of_a_machine_that_is_done(found: Machines) -> None:
    found.machines["worker-1"].kubelet.daemons_never_ready = True

    def end(request: Request) -> None:
        opened = not found.cluster.node("worker-1")["spec"].get("unschedulable")
        if "worker-1" in versions(found) and opened and request.method == "PATCH":
            raise Killed

    found.here.calling.after = end
    with pytest.raises(Killed):
        upgraded(found)
    found.here.calling.after = lambda _request: None
    found.here.later(900)
    failed = upgraded(found, **DEADLINE)
    assert "pods_not_back" in codes(failed), failed.output
    assert [name for name in versions(found) if name.startswith("worker")] == ["worker-1"]


OWN, FOR_A_WHILE = "orders", "nightly"
"""A custom resource with pods that run on, and a workflow whose pod runs to its end."""


def of_controller(name: str, owner: str, policy: str) -> Json:
    """A pod of a controller that is not of `apps/v1`."""
    kind, version = ("Cluster", "postgresql.cnpg.io/v1") if owner == OWN else ("Workflow", "argoproj.io/v1alpha1")
    reference = {"apiVersion": version, "kind": kind, "name": owner, "uid": owner, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": WEB, "labels": {"app": owner}, "ownerReferences": [reference]},
        "spec": {"restartPolicy": policy, "containers": [{"name": "server", "image": "probe:1"}]},
    }


def test_the_pods_of_an_operator_are_waited_for_and_those_of_a_workflow_are_not(found: Machines) -> None:
    server = found.here.sandbox.kubernetes.server
    found.here.sandbox.apply(
        [of_controller(f"{OWN}-1", OWN, "Always"), of_controller(FOR_A_WHILE, FOR_A_WHILE, "Never")]
    )
    assert found.cluster.until(lambda: pod_ready(found, f"{OWN}-1") and pod_ready(found, FOR_A_WHILE))
    machine, makes = place(found, f"{OWN}-1"), False

    def operate() -> None:
        if makes and pod(found, f"{OWN}-1") is None:
            server.resources.create(PODS, WEB, of_controller(f"{OWN}-1", OWN, "Always"))

    def operated(change: Change) -> None:
        if change.type == "DELETED" and change.item["metadata"]["name"] == f"{OWN}-1":
            server.resources.store.clock.later(30, operate)

    server.resources.store.listeners.append(operated)
    failed = upgraded(found, **DEADLINE)
    assert "pods_not_back" in codes(failed), failed.output
    said = f"machine {machine} went are not Ready again: one of Cluster.postgresql.cnpg.io {WEB}/{OWN} (0 of 1 Ready)."
    assert said in failed.message
    makes = True
    operate()
    cordons = Cordons(found)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    assert cordons.early == []
    is_upgraded(found)
    assert notes(found) == {}
    assert pod(found, FOR_A_WHILE) is None
