"""Drains of a Kubernetes node in memory, from the cordon until nothing is left, by runs that may be killed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common import ancestry
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.drain import DrainRules
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.forced_drains import rungs_in
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.placed_pods import placed_pods
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.rights import DRAIN
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import Right
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import lease_path

from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import timestamp
from tests.unit.plugins.module_utils.draining.drained_cluster import (
    HERE,
    NODE,
    UNDO,
    DrainedCluster,
    Killed,
    acts,
    codes,
)

CORDONED, EVICTED = ("changed", f"Node {NODE}"), ("evicted", f"Pod {HERE}/data-1")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> DrainedCluster:
    return DrainedCluster(monkeypatch)


def test_a_node_is_cordoned_and_its_pods_go_with_their_grace_period(cluster: DrainedCluster) -> None:
    cluster.budget()
    uid = cluster.uid("data-1")
    cluster.kubernetes.faults.slow_stop(HERE, "data-1", 4)
    began = cluster.clock.now()
    done = cluster.drain()
    assert done["verdict"]["state"] == "passed", done
    assert acts(done) == [CORDONED, EVICTED]
    assert cluster.clock.now() >= began + 4
    assert cluster.uid("data-1") != uid
    assert (done["before"]["pods"], cluster.on_node()) == ({NODE: 1}, [])
    assert cluster.node()["spec"]["unschedulable"] is True
    again = cluster.drain()
    assert (again["changed"], again["actions"], again["verdict"]["state"]) == (False, [], "passed")


def test_what_a_run_has_cordoned_is_uncordoned_and_nothing_else(cluster: DrainedCluster) -> None:
    cluster.drain()
    draining, task = cluster.draining()
    assert draining.uncordon(NODE) == ()
    assert [each["action"] for each in task.journal.as_result()] == ["restored"]
    assert "unschedulable" not in cluster.node()["spec"]
    assert UNDO not in cluster.node()["metadata"].get("annotations", {})
    assert draining.uncordon("node-a1") == ()


def test_what_a_person_has_cordoned_stays_cordoned(cluster: DrainedCluster) -> None:
    cluster.person_sets(unschedulable=True)
    done = cluster.drain()
    assert (done["verdict"]["state"], acts(done)) == ("passed", [EVICTED])
    assert UNDO not in cluster.node()["metadata"].get("annotations", {})
    draining, task = cluster.draining()
    assert draining.uncordon(NODE) == ()
    assert (cluster.node()["spec"]["unschedulable"], task.journal.as_result()) == (True, [])


def test_a_node_that_a_live_run_under_another_lock_has_cordoned_is_left_to_it(cluster: DrainedCluster) -> None:
    cluster.grant((*DRAIN, Right("get", "coordination.k8s.io", "leases")))
    other = {"run": "run-9", "name": "other", "kept_in": "kubernetes", "namespace": HERE}
    assert cluster.drain(lock=other)["verdict"]["state"] == "passed"
    notes = {"upgrade.stateful/place": ancestry.place(), "upgrade.stateful/processes": ancestry.identity()}
    lease = {"metadata": {"name": "other", "annotations": notes}, "spec": {"holderIdentity": "run-9"}}
    cluster.api.put_there(lease_path(HERE, "other"), lease)
    refused = cluster.drain()
    assert (refused["failed"], codes(refused), acts(refused)) == (True, ["locked"], [])
    # Once that run has ended, the node is drained.
    cluster.api.objects.pop(lease_path(HERE, "other"))
    assert cluster.drain()["verdict"]["state"] == "passed"


def test_a_person_who_uncordons_meanwhile_ends_the_drain_and_is_named_when_it_is_put_back(
    cluster: DrainedCluster,
) -> None:
    cluster.budget(minAvailable=3)
    cluster.clock.later(10, lambda: cluster.person_sets(unschedulable=False))
    done = cluster.drain()
    assert done["failed"]
    assert "cordon_undone" in codes(done)
    assert [each.code for each in cluster.draining()[0].uncordon(NODE)] == ["changed_by_another"]


def test_a_budget_that_lets_no_pod_go_is_explained_and_waited_for(cluster: DrainedCluster) -> None:
    cluster.budget()
    cluster.kubernetes.faults.never_ready(HERE, "data-2")
    cluster.kubernetes.until(lambda: cluster.allowed() == 0)
    first = cluster.drain(wait=False)
    (reason,) = first["verdict"]["reasons"]
    assert (first["verdict"]["state"], reason["code"]) == ("waiting", "drain_blocked")
    assert f"PodDisruptionBudget {HERE}/data keeps data-1 there since 2027-" in reason["message"]
    assert "it lets 0 go, with 2 of 3 healthy, and 2 have to be, so 1 more has to become so" in reason["message"]
    assert first["kept"] == [
        {"pod": f"{HERE}/data-1", "kubernetes_node": NODE, "budget": f"{HERE}/data", "disruptions_allowed": 0}
    ]
    cluster.clock.later(30, lambda: cluster.kubernetes.faults.mend(HERE, "data-2"))
    done = cluster.drain()
    assert (done["verdict"]["state"], acts(done), cluster.on_node()) == ("passed", [EVICTED], [])
    assert cluster.api.sent == [f"{PODS.path(HERE, 'data-1')}/eviction"]


def test_a_budget_that_stays_closed_ends_in_a_refusal_with_its_time(cluster: DrainedCluster) -> None:
    cluster.budget(minAvailable=3)
    done = cluster.drain()
    assert codes(done) == ["drain_blocked", "timed_out"]
    assert "Change the budget, or give its pods another replica" in done["msg"]
    since = done["msg"].partition(" since ")[2].partition(":")[0]
    cluster.run = "run-2"
    cluster.clock.advance(300)
    assert f" since {since}:" in cluster.drain(wait=False)["verdict"]["reasons"][0]["message"]


def test_what_a_server_says_that_closes_a_budget_in_between_is_no_error(cluster: DrainedCluster) -> None:
    cluster.budget()
    cluster.pod("other", "ReplicaSet")
    kept_out = {"metadata": {"labels": {"app": "data"}}}
    path = PODS.path(HERE, "other")
    cluster.kubernetes.ask("PATCH", path, kept_out, media_type="application/merge-patch+json")
    cluster.clock.advance(1)
    first = cluster.drain(wait=False)
    # Both are asked for, and the budget lets one go.
    assert len(cluster.api.sent) == 2
    assert [each[0] for each in acts(first)] == ["changed", "evicted"]
    kept = next(each for each in first["verdict"]["reasons"] if each["code"] == "drain_blocked")
    assert "The disruption budget data needs" in kept["message"]


def test_a_pod_that_two_budgets_cover_is_named_with_the_cause(cluster: DrainedCluster) -> None:
    cluster.budget("one")
    cluster.budget("two")
    done = cluster.drain(wait=False)
    (reason,) = done["verdict"]["reasons"]
    assert (reason["code"], cluster.on_node()) == ("drain_blocked", ["data-1"])
    assert "Kubernetes evicts no pod that more than one covers" in reason["message"]
    pods = [each for each in placed_pods(cluster.api.client(), NODE) if each.name == "data-1"]
    answers = cluster.draining()[0].evict(pods)
    assert (set(answers.covered_twice), answers.refused) == ({pods[0].uid}, {})


def test_pods_of_a_daemon_set_and_static_pods_stay(cluster: DrainedCluster) -> None:
    cluster.pod("agent", "DaemonSet")
    cluster.pod("etcd", annotations={"kubernetes.io/config.mirror": "abc"})
    done = cluster.drain()
    assert (done["verdict"]["state"], cluster.on_node()) == ("passed", ["agent", "etcd"])


def test_a_pod_without_a_controller_is_refused_before_anything_is_touched(cluster: DrainedCluster) -> None:
    cluster.pod("alone")
    done = cluster.drain()
    assert (codes(done), done["actions"], "unschedulable" in cluster.node()["spec"]) == (
        ["pods_without_controller"],
        [],
        False,
    )
    assert f"{HERE}/alone" in done["msg"]
    allowed = cluster.drain(rules=DrainRules(unmanaged=("sear*",)))
    assert (allowed["verdict"]["state"], cluster.on_node()) == ("passed", [])


def test_a_pod_that_has_ended_goes_too(cluster: DrainedCluster) -> None:
    cluster.pod("job")
    path = f"{PODS.path(HERE, 'job')}/status"
    body = {"status": {"phase": "Succeeded"}}
    cluster.kubernetes.ask("PATCH", path, body, media_type="application/merge-patch+json")
    done = cluster.drain()
    assert (done["verdict"]["state"], cluster.on_node()) == ("passed", [])


def test_a_pod_with_a_finalizer_is_named_once_its_grace_period_is_over(cluster: DrainedCluster) -> None:
    cluster.pod("held", "ReplicaSet", finalizers=["example.com/keep"])
    early = cluster.drain(wait=False)
    assert codes(early) == ["pods_leaving"]
    late = cluster.drain()
    assert codes(late)[0] == "pod_overdue"
    assert "example.com/keep" in late["msg"]
    body = {"metadata": {"finalizers": None}}
    cluster.kubernetes.ask("PATCH", PODS.path(HERE, "held"), body, media_type="application/merge-patch+json")
    assert cluster.drain()["verdict"]["state"] == "passed"


def test_a_volume_is_waited_for_until_it_is_detached(cluster: DrainedCluster) -> None:
    cluster.attach("one", "pvc-1", detachError={"message": "device is busy"})
    cluster.attach("two", "pvc-2", node="node-a1")
    cluster.clock.later(40, lambda: cluster.detach("one"))
    began = cluster.clock.now()
    first = cluster.drain(wait_timeout=20)
    assert codes(first) == ["volume_attached", "timed_out"]
    assert "pvc-1" in first["msg"]
    assert "device is busy" in first["msg"]
    done = cluster.drain()
    assert done["verdict"]["state"] == "passed"
    assert cluster.clock.now() >= began + 40


def test_a_volume_of_a_pod_that_stays_is_not_waited_for(cluster: DrainedCluster) -> None:
    claim = next(each for each in cluster.api.objects if each.endswith("persistentvolumeclaims/data-data-0"))
    cluster.attach("one", cluster.api.objects[claim]["spec"]["volumeName"])
    cluster.pod("agent", "DaemonSet")
    agent = cluster.api.objects[PODS.path(HERE, "agent")]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-data-0"}}
    cluster.api.put_there(PODS.path(HERE, "agent"), {**agent, "spec": {**agent["spec"], "volumes": [volume]}})
    assert cluster.drain()["verdict"]["state"] == "passed"


def test_check_mode_changes_nothing_and_says_what_it_would_do(cluster: DrainedCluster) -> None:
    cluster.budget()
    done = cluster.drain(check_mode=True)
    assert (acts(done), done["changed"]) == ([CORDONED, EVICTED], True)
    assert (cluster.on_node(), cluster.allowed()) == (["data-1"], 1)
    assert "unschedulable" not in cluster.node()["spec"]


@pytest.mark.parametrize("acts_made", [1, 2])
def test_a_run_that_is_killed_behind_an_act_is_continued_by_the_next(cluster: DrainedCluster, acts_made: int) -> None:
    cluster.budget()
    cluster.api.acts_left = acts_made
    with pytest.raises(Killed):
        cluster.drain()
    cluster.api.acts_left = 1_000_000
    cluster.run = "run-2"
    done = cluster.drain()
    assert (done["verdict"]["state"], cluster.on_node()) == ("passed", [])
    assert acts(done) == [EVICTED][acts_made - 1 :]
    assert cluster.draining()[0].uncordon(NODE) == ()
    assert "unschedulable" not in cluster.node()["spec"]


def test_an_eviction_whose_answer_is_lost_is_noted_and_not_made_twice(cluster: DrainedCluster) -> None:
    cluster.budget()
    cluster.kubernetes.faults.slow_stop(HERE, "data-1", 4)
    cluster.kubernetes.server.faults.cut("POST", "/eviction$", made=True)
    done = cluster.drain()
    assert done["verdict"]["state"] == "passed"
    assert [each.get("answer") for each in done["actions"]] == [None, "lost"]
    assert done["changed"]


def test_another_pod_of_the_same_name_is_not_evicted(cluster: DrainedCluster) -> None:
    pods = [each for each in placed_pods(cluster.api.client(), NODE) if each.name == "data-1"]
    uid = cluster.uid("data-1")
    draining, task = cluster.draining()
    answers = draining.evict([replace(each, uid="another") for each in pods])
    assert (answers.kept, answers.refused, task.journal.as_result(), cluster.uid("data-1")) == ({}, {}, [], uid)
    gone = draining.evict([replace(each, name="missing") for each in pods])
    assert (gone.kept, gone.refused, task.journal.as_result()) == ({}, {}, [])


def test_a_server_out_of_reach_is_not_asked_for_the_eviction_of_each_pod(cluster: DrainedCluster) -> None:
    pods = [each for each in placed_pods(cluster.api.client(), NODE) if each.name == "data-1"] * 5
    draining, task = cluster.draining(at_once=2)
    cluster.api.away = True
    cluster.api.asked.clear()
    answers = draining.evict(pods)
    assert len(cluster.api.asked) == 2
    assert list(answers.refused) == [cluster.uid("data-1")]
    assert {each["answer"] for each in task.journal.as_result()} == {"lost"}


def test_a_user_who_may_not_see_budgets_gets_the_words_of_the_server(cluster: DrainedCluster) -> None:
    cluster.budget(minAvailable=3)
    cluster.grant([each for each in DRAIN if not each.explains])
    (reason,) = cluster.drain(wait=False)["verdict"]["reasons"]
    assert reason["code"] == "drain_blocked"
    assert "The disruption budget data needs 3 healthy pods and has 3 currently" in reason["message"]


@pytest.mark.parametrize("right", [each for each in DRAIN if not each.explains and each.verb != "get"], ids=str)
def test_a_right_that_is_missing_is_named(cluster: DrainedCluster, right: Right) -> None:
    cluster.grant([each for each in DRAIN if each != right])
    if right == Right("list", "", "nodes"):
        # A gate and a plan list them; a drain looks at its own alone.
        assert cluster.drain()["verdict"]["state"] == "passed"
        return
    cluster.run = ""
    refused = cluster.drain()
    assert codes(refused)[0] == "kubernetes_rights"
    assert right.resource in refused["msg"]


def test_a_kubernetes_node_that_is_not_there_refuses_before_another_is_cordoned(cluster: DrainedCluster) -> None:
    done = cluster.drain([NODE, "node-x"])
    assert (codes(done), done["actions"]) == (["kubernetes_node_missing"], [])
    assert "node-x" in done["msg"]


def test_several_kubernetes_nodes_are_all_cordoned_before_a_pod_moves(cluster: DrainedCluster) -> None:
    cluster.budget()
    cluster.pod("web", "ReplicaSet")
    done = cluster.drain([NODE, "node-a1"], wait=False)
    assert [each[0] for each in acts(done)] == ["changed", "changed", "evicted", "evicted"]


def test_a_server_that_fails_at_one_pod_keeps_no_other_from_going(cluster: DrainedCluster) -> None:
    cluster.pod("other", "ReplicaSet")
    cluster.kubernetes.server.faults.answer(500, "POST", "other/eviction$")
    first = cluster.drain(wait=False)
    assert EVICTED in acts(first)
    assert set(codes(first)) == {"eviction_refused", "pods_leaving"}
    assert cluster.drain()["verdict"]["state"] == "passed"


def test_a_pod_that_a_budget_keeps_is_deleted_where_and_when_that_is_allowed(cluster: DrainedCluster) -> None:
    cluster.pod("web", "ReplicaSet")
    cluster.budget("web", minAvailable=1, selector={"matchLabels": {"app": "web"}})
    rungs = rungs_in([{"rung": "delete", "after": 60, "namespaces": [HERE]}])
    cluster.drain(wait_timeout=20)
    assert cluster.on_node() == ["web"]
    cluster.run = "run-2"
    cluster.clock.advance(30)
    began = cluster.clock.now()
    done = cluster.drain(rules=DrainRules(rungs=rungs))
    assert (done["verdict"]["state"], cluster.on_node()) == ("passed", [])
    # The time counts from the cordon, which an earlier run has made.
    assert cluster.clock.now() < began + 60


def test_the_cordon_of_a_person_long_before_is_not_the_start_of_a_drain(cluster: DrainedCluster) -> None:
    cluster.pod("web", "ReplicaSet")
    cluster.budget("web", minAvailable=1, selector={"matchLabels": {"app": "web"}})
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cluster.person_sets(unschedulable=True, taints=[{**taint, "timeAdded": timestamp(cluster.clock.now())}])
    cluster.clock.advance(86400)
    began = cluster.clock.now()
    rungs = rungs_in([{"rung": "delete_now", "after": 60, "namespaces": [HERE]}])
    done = cluster.drain(rules=DrainRules(rungs=rungs))
    assert (done["verdict"]["state"], cluster.on_node()) == ("passed", [])
    assert cluster.clock.now() >= began + 60
