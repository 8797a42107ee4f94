"""Faults by name, and the habits that the real controllers have."""

from __future__ import annotations

from dataclasses import replace

from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.openshift.asking import NEXT, built, history, status, versions
from tests.sandbox.openshift.controllers.operators import version_of
from tests.sandbox.openshift.habits import KIND, Habits, Pace
from tests.sandbox.openshift.kinds import POOLS, VERSION, VERSIONS, annotations_of
from tests.sandbox.openshift.openshift import OpenShift


def condition(found: OpenShift, name: str) -> Json:
    return condition_of(found.version(), name)


def test_an_operator_that_stays_degraded_fails_the_upgrade_after_forty_minutes() -> None:
    found = built()
    found.faults.operator_breaks_in_upgrade("monitoring")
    found.want("4.18.2")
    assert found.until(lambda: "waiting up to 40 minutes on monitoring" in condition(found, "Progressing")["message"])
    assert status(found.version(), "Failing") == "False"
    found.clock.advance(2500)
    told = condition(found, "Failing")
    assert (told["status"], told["reason"]) == ("True", "ClusterOperatorDegraded")
    assert status(found.version(), "Progressing") == "True"
    found.faults.mend_all()
    assert found.until(found.upgrade_done)
    assert status(found.version(), "Failing") == "False"


def test_an_operator_that_is_degraded_without_an_upgrade_is_told_as_failing() -> None:
    found = built()
    found.faults.operator_stays_degraded("etcd")
    found.clock.advance(10)
    assert (status(found.version(), "Failing"), status(found.version(), "Progressing")) == ("True", "False")
    found.faults.operator_mended("etcd")
    found.clock.advance(10)
    assert status(found.version(), "Failing") == "False"


def test_an_operator_that_is_not_available_fails_an_upgrade_at_once() -> None:
    found = built()
    found.want("4.18.2")
    assert found.until(lambda: history(found)[0] == ("4.18.2", "Partial"))
    found.faults.operator_unavailable("etcd")
    found.clock.advance(30)
    assert condition(found, "Failing")["reason"] == "ClusterOperatorNotAvailable"
    found.faults.operator_available("etcd")
    assert found.until(found.upgrade_done)


def test_a_kubernetes_node_that_never_returns_keeps_its_pool_updating_and_not_degraded() -> None:
    found = built()
    found.faults.node_never_returns("worker-1")
    found.want("4.18.2")
    assert not found.until(found.upgrade_done, 4 * 3600)
    told = found.pool("worker")
    assert (status(told, "Updating"), status(told, "Degraded")) == ("True", "False")
    assert (told["status"]["updatedMachineCount"], told["status"]["unavailableMachineCount"]) == (1, 1)
    assert (history(found)[0], status(found.node("worker-1"), "Ready")) == (("4.18.2", "Completed"), "Unknown")
    found.faults.node_returns("worker-1")
    assert found.until(found.upgrade_done)


def test_a_master_that_never_returns_keeps_the_version_from_its_end() -> None:
    found = built()
    found.faults.node_never_returns("master-1")
    found.want("4.18.2")
    assert not found.until(found.upgrade_done, 4 * 3600)
    assert history(found)[0] == ("4.18.2", "Partial")
    assert status(found.operator("machine-config"), "Degraded") == "True"
    found.faults.mend_all()
    assert found.until(found.upgrade_done)


def test_a_degraded_kubernetes_node_makes_its_pool_and_the_operator_degraded() -> None:
    found = built()
    found.faults.node_degraded("worker-0", "disk is full")
    found.want("4.18.2")
    assert found.until(lambda: status(found.pool("worker"), "Degraded") == "True")
    assert 'Node worker-0 is reporting: "disk is full"' in condition_of(found.pool("worker"), "NodeDegraded")["message"]
    found.faults.node_mended("worker-0")
    assert found.until(found.upgrade_done)


def test_an_unreachable_graph_leaves_the_updates_that_were_known() -> None:
    found = built()
    found.faults.graph_unreachable()
    found.clock.advance(KIND.resync + 1)
    told = condition(found, "RetrievedUpdates")
    assert (told["status"], told["reason"], versions(found)) == ("False", "RemoteFailed", ["4.18.3", "4.18.2"])
    found.faults.graph_fails()
    found.faults.graph_reachable()
    found.clock.advance(KIND.resync + 1)
    assert status(found.version(), "RetrievedUpdates") == "True"


def test_an_unreachable_graph_after_a_change_of_the_channel_leaves_none() -> None:
    found = built(version="4.18.2")
    found.faults.graph_fails()
    found.write(VERSIONS, VERSION, {"channel": NEXT})
    found.clock.advance(10)
    assert (condition(found, "RetrievedUpdates")["reason"], versions(found)) == ("ResponseFailed", [])


def test_an_unreachable_registry_does_not_stop_what_the_version_operator_pulls() -> None:
    found = built()
    found.faults.registry_unreachable()
    found.want("4.18.2")
    assert found.until(lambda: history(found)[0] == ("4.18.2", "Partial"))


def test_pools_tell_nothing_while_their_controller_is_away() -> None:
    found = built()
    found.faults.machine_config_away(600)
    found.write(POOLS, "worker", {"paused": True})
    found.clock.advance(590)
    told = found.pool("worker")
    assert told["status"]["observedGeneration"] < told["metadata"]["generation"]
    found.clock.advance(30)
    told = found.pool("worker")
    assert told["status"]["observedGeneration"] == told["metadata"]["generation"]


def test_a_version_operator_that_is_away_takes_nothing_and_then_does() -> None:
    found = built()
    found.faults.version_operator_away(600)
    found.want("4.18.2")
    found.clock.advance(590)
    assert history(found) == [("4.18.1", "Completed")]
    assert found.until(found.upgrade_done)


def test_a_version_operator_that_goes_away_begins_again_where_it_was() -> None:
    found = built()
    found.want("4.18.2")
    found.clock.advance(5)
    assert condition(found, "ReleaseAccepted")["status"] == "Unknown"
    found.faults.version_operator_away(600)
    assert found.until(lambda: history(found)[0] == ("4.18.2", "Partial"), 900)
    found.clock.advance(30)
    assert status(found.operator("etcd"), "Progressing") == "True"
    found.faults.version_operator_away(600)
    found.clock.advance(500)
    assert [version_of(found.operator(each)) for each in ("etcd", "kube-apiserver")] == ["4.18.2", "4.18.1"]
    assert status(found.operator("kube-apiserver"), "Progressing") == "False"
    assert found.until(found.upgrade_done)


def test_an_operator_that_takes_very_long_is_told_as_slow() -> None:
    found = built(pace=Pace(operator=3000))
    found.want("4.18.2")
    assert found.until(lambda: status(found.version(), "Failing") == "Unknown")
    told = condition(found, "Failing")
    said = "waiting on etcd over 30 minutes which is longer than expected"
    assert (told["reason"], told["message"]) == ("SlowClusterOperator", said)
    assert found.until(found.upgrade_done)


def test_the_spec_is_seen_late_and_the_list_of_another_channel_is_empty_at_first() -> None:
    found = built(Habits(), version="4.18.2")
    found.write(VERSIONS, VERSION, {"channel": NEXT})
    found.clock.advance(200)
    assert (found.version()["status"]["observedGeneration"], versions(found)) == (1, ["4.18.3"])
    assert found.until(lambda: found.version()["status"]["observedGeneration"] == 2, 100)
    assert found.until(lambda: versions(found) == [], 30)
    assert condition(found, "RetrievedUpdates")["reason"] == "ResponseFailed"
    assert found.until(lambda: versions(found) == ["4.19.0", "4.18.3"], 300)


def test_operators_flap_and_the_version_operator_bears_it() -> None:
    found = built(replace(KIND, flap=180.0))
    found.want("4.18.2")
    assert found.until(lambda: status(found.operator("etcd"), "Degraded") == "True")
    assert status(found.version(), "Failing") == "False"
    assert found.until(found.upgrade_done)


def test_nothing_is_told_while_the_next_version_operator_is_elected() -> None:
    found = built(replace(KIND, elected=163.0))
    found.want("4.18.2")
    assert found.until(lambda: history(found)[0] == ("4.18.2", "Partial"))
    found.clock.advance(10)
    before = found.version()["metadata"]["resourceVersion"]
    found.clock.advance(140)
    assert found.version()["metadata"]["resourceVersion"] == before
    assert found.until(found.upgrade_done)


def test_the_last_kubernetes_node_of_a_pool_returns_slowly() -> None:
    found = built(replace(KIND, slow_reboot=600.0))
    found.want("4.18.2")
    assert found.until(lambda: status(found.node("worker-2"), "Ready") == "Unknown")
    began = found.clock.now()
    assert found.until(lambda: status(found.node("worker-2"), "Ready") == "True")
    assert found.clock.now() - began > 500


def test_a_fault_comes_when_something_is_so() -> None:
    found = built()

    def has_taken(item: Json) -> bool:
        return bool(status(item, "Updating") == "True" and item["metadata"]["name"] == "worker")

    found.faults.when(POOLS, has_taken, lambda: found.faults.person_pauses("worker"))
    found.want("4.18.2")
    assert found.until(lambda: found.pool("worker")["spec"].get("paused"))
    assert annotations_of(found.node("worker-2"))
