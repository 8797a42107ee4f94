"""Spare workers: of which MachineSets, as which copies, whether they are there, and the batches next to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import KeptPod
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Budget
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.health import judge_nodes, judge_whole
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.order import digest, turns, versions
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.progress import taken_spare_ones
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.spare_workers import (
    copy_of,
    judge_gone,
    judge_there,
    judge_wanted,
    possible,
    wanted_sets,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.kinds import SPARE
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.machine_state import (
    Machines,
    MachineSet,
    SpareMachine,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.machines import machine_set
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import OpenShift
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Writer

from tests.unit.plugins.module_utils.openshift.seen import NEW, config, node, openshift, pool, target, under_way

WORKER, INFRA = "node-role.kubernetes.io/worker", "node-role.kubernetes.io/infra"
POOLS = {
    "master": pool("master"),
    "infra": pool("infra", selector={"matchLabels": {INFRA: ""}}),
    "worker": pool("worker", selector={"matchLabels": {WORKER: ""}}),
}
LABEL = "machine.openshift.io/cluster-api-machineset"
WRITER = Writer("run-1", "2026-02-01T00:00:00Z")
TARGET = Release.parse(NEW)


def raw(name: str, pool_label: str = "", role: str = "worker", nodes: Any = None, **spec: Any) -> dict[str, Any]:
    """A MachineSet as its API has it."""
    labels = {LABEL: name, "machine.openshift.io/cluster-api-machine-role": role}
    template = {"metadata": {"labels": labels}, "spec": {"metadata": {"labels": nodes or {}}, "providerSpec": {}}}
    chosen = {"selector": {"matchLabels": {LABEL: name}}, "template": template, "replicas": 2, **spec}
    own = {"hive.openshift.io/machine-pool": pool_label} if pool_label else {}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": own},
        "spec": chosen,
        "status": {"readyReplicas": 2},
    }


def made(name: str, *given: Any, **more: Any) -> MachineSet:
    """A MachineSet as it is read."""
    return machine_set(name, raw(name, *given, **more))


def chosen(*sets: MachineSet, patterns: tuple[str, ...] = ("worker",)) -> list[str]:
    return [each.name for each in wanted_sets(Machines(sets, ()), openshift(pools=POOLS), patterns)]


def test_a_set_is_of_the_pool_of_its_label_or_else_of_its_kubernetes_nodes() -> None:
    sets = (
        made("b"),
        made("a", "worker"),
        made("infra", nodes={INFRA: ""}),
        made("other", "search"),
        made("masters", role="master"),
        made("none", replicas=0),
    )
    assert chosen(*sets) == ["a-spare", "b-spare"]
    assert chosen(*sets, patterns=("sea*", "infra")) == ["infra-spare", "other-spare"]


@pytest.mark.parametrize("patterns", [("worker",), ("*",), ("windows",)])
def test_a_set_of_windows_gets_no_spare_one(patterns: tuple[str, ...]) -> None:
    """Its Kubernetes nodes are in no pool, so that a spare one would be waited for in vain."""
    windows = raw("win", "windows")
    windows["spec"]["template"]["metadata"]["labels"]["machine.openshift.io/os-id"] = "Windows"
    assert chosen(machine_set("win", windows), patterns=patterns) == []


def of_run(source: MachineSet) -> MachineSet:
    """The spare set of a source."""
    (wanted,) = wanted_sets(Machines((source,), ()), openshift(pools=POOLS), ("*",))
    body = copy_of(wanted, WRITER)
    return machine_set(wanted.name, {**body, "metadata": {**body["metadata"], "uid": f"uid-{wanted.name}"}})


def test_a_copy_has_one_replica_and_finds_its_own_machines_alone() -> None:
    (wanted,) = wanted_sets(Machines((made("a", "worker", nodes={"own": "yes"}),), ()), openshift(pools=POOLS), ("*",))
    body = copy_of(wanted, WRITER)
    assert body["metadata"]["labels"] == {SPARE: "a-spare"}
    spec = body["spec"]
    assert (spec["replicas"], spec["selector"]["matchLabels"]) == (1, {LABEL: "a-spare", SPARE: "a-spare"})
    assert spec["template"]["metadata"]["labels"].items() >= spec["selector"]["matchLabels"].items()
    assert spec["template"]["spec"]["metadata"]["labels"] == {"own": "yes", SPARE: "a-spare"}
    assert wanted.source.spec["selector"]["matchLabels"] == {LABEL: "a"}


def test_a_copy_is_of_its_run_and_gets_none_of_its_own() -> None:
    spare = of_run(made("a"))
    assert spare.is_ours
    assert spare.mark is not None
    assert spare.mark.writer.run == "run-1"
    assert chosen(made("a"), spare) == ["a-spare"]
    by_hand = replace(spare, name="b")
    assert not by_hand.is_ours
    assert not replace(spare, mark=None).is_ours
    assert [each.name for each in Machines((spare, by_hand), ()).foreign] == ["b"]


def codes(*sets: MachineSet, required: bool = True) -> list[str]:
    found = Machines(sets, ())
    wanted = wanted_sets(found, openshift(pools=POOLS), ("worker",))
    judged = judge_wanted(wanted, found, ("worker",), required=required)
    assert judged.passed is not required or not judged.reasons
    return [each.code for each in judged.reasons]


@pytest.mark.parametrize("required", [True, False])
def test_each_fault_of_a_set_is_told(required: bool) -> None:
    assert codes(made("a"), of_run(made("a"))) == []
    assert codes(required=required) == ["machine_sets_missing"]
    assert codes(replace(made("a"), ready=0), required=required) == ["machine_set_unfit"]
    assert codes(made("a"), made("a-spare", replicas=0), required=required) == ["spare_set_name_taken"]
    assert codes(made("w" * 58), required=required) == ["spare_set_name_too_long"]
    changed = replace(made("a"), spec={**made("a").spec, "template": {"spec": {"providerSpec": {"zone": "b"}}}})
    assert codes(changed, of_run(made("a")), required=required) == ["spare_set_differs"]


def test_a_set_with_a_fault_keeps_no_other_from_its_spare_one() -> None:
    found = Machines((made("a"), replace(made("b"), ready=0)), ())
    wanted = wanted_sets(found, openshift(pools=POOLS), ("worker",))
    assert [each.name for each in possible(wanted, found)] == ["a-spare"]


def spare_node(**other: Any) -> OpenShift:
    """The small OpenShift with a spare worker of the same zone."""
    seen = openshift()
    added = node("w-9", labels={"role": "worker", SPARE: "a-spare"}, **other)
    return replace(
        seen,
        nodes={**seen.nodes, "w-9": added},
        members={**seen.members, "worker": (*seen.members["worker"], "w-9")},
    )


def there(seen: OpenShift, *machines: SpareMachine) -> list[str]:
    source = made("a")
    found = Machines((source, of_run(source)), machines)
    wanted = wanted_sets(found, openshift(pools=POOLS), ("worker",))
    return [each.message for each in judge_there(seen, wanted, found).reasons]


def test_a_spare_worker_is_there_with_its_kubernetes_node() -> None:
    assert there(spare_node()) == []
    assert there(openshift()) == ["MachineSet a-spare has no machine yet."]
    machine = SpareMachine("m", "a-spare", "uid-a-spare", "", "Failed", "the quota is used up")
    assert there(openshift(), machine) == ["Machine m has no Kubernetes node yet (Failed): the quota is used up"]
    waits = ["Spare Kubernetes node w-9 is not Ready yet."]
    assert there(spare_node(ready=False)) == waits
    assert there(spare_node(unschedulable=True)) == waits
    assert there(spare_node(current="rendered-worker-x", desired="rendered-worker-x")) == waits


def test_all_of_a_spare_worker_is_waited_for() -> None:
    spare, nodes = of_run(made("a")), spare_node().nodes
    machine = SpareMachine("m", "a-spare", spare.uid, "w-9", "Deleting", "could not drain machine")
    said = [each.message for each in judge_gone(Machines((spare,), (machine,)), nodes).reasons]
    assert said == [
        "MachineSet a-spare is still there.",
        "Machine m of a spare worker is not gone yet (Deleting): could not drain machine",
    ]
    budget = Budget("data", {"matchLabels": {"app": "data"}}, 0, 2, 3, 3, "search")
    kept = [KeptPod("search", "data-0", "w-9", budget)]
    assert [each.code for each in judge_gone(Machines((), (machine,)), nodes, kept).reasons] == ["drain_blocked"]
    alone = judge_gone(Machines((), ()), nodes).reasons
    assert [each.message for each in alone] == ["Spare Kubernetes node w-9 is still there."]
    assert judge_gone(Machines((made("a"),), ()), openshift().nodes).reasons == ()


def test_what_another_has_copied_is_not_waited_for() -> None:
    copied = replace(of_run(made("a")), name="copied", uid="uid-copied")
    machine = SpareMachine("m", "a-spare", "uid-copied", "w-9", "Running", "")
    judged = judge_gone(Machines((copied,), (machine,)), spare_node().nodes)
    assert judged.passed
    assert [each.code for each in judged.reasons] == ["spare_set_foreign"]


def test_a_spare_worker_is_in_no_batch_and_no_proof_waits_for_it() -> None:
    seen = replace(spare_node(ready=False), version=under_way("Completed"))
    assert [list(each.members) for each in turns(seen, TARGET)] == [["w-0"], ["w-1"], ["w-2"]]
    assert "w-9" not in versions(seen, TARGET)
    assert judge_nodes(seen).passed
    assert [each.about for each in judge_nodes(seen, spare=True).reasons] == ["w-9"]
    done = {name: node(name, NEW) for name in openshift().nodes}
    pools = {name: pool(name, NEW) for name in ("master", "worker")}
    assert judge_whole(replace(seen, nodes={**seen.nodes, **done}, pools=pools), TARGET).passed


def test_a_share_of_a_pool_counts_spare_workers_before_they_are_there() -> None:
    half = {"master": pool("master"), "worker": pool("worker", max_unavailable="50%")}
    assert [len(each.members) for each in turns(openshift(pools=half), TARGET)][1:] == [1, 1, 1]
    coming = turns(openshift(pools=half), TARGET, coming={"worker": 1})[1:]
    assert [len(each.members) for each in coming] == [2, 1]
    assert coming[0].proof.startswith("worker keeps 2 of its 4 Kubernetes nodes")
    assert [len(each.members) for each in turns(replace(spare_node(), pools=half), TARGET)][1:] == [2, 1]


def test_a_spare_worker_that_is_taken_is_followed_until_it_is_done() -> None:
    pools, its = {name: pool(name, NEW) for name in ("master", "worker")}, config("worker", NEW)
    assert taken_spare_ones(replace(spare_node(), pools=pools), "worker", TARGET) == []
    assert taken_spare_ones(replace(spare_node(desired=its), pools=pools), "worker", TARGET) == ["w-9"]
    done = replace(spare_node(current=its, desired=its), pools=pools)
    assert taken_spare_ones(done, "worker", TARGET) == []


def test_consent_covers_the_pools_with_spare_workers_and_not_how_many_there_are() -> None:
    without, with_spare = digest(openshift(), target()), digest(openshift(), target(), (), ("worker",))
    assert without != with_spare == digest(spare_node(), target(), (), ("worker",))
