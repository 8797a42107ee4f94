"""The fault switches do what their names say, and what is mended works again."""

from __future__ import annotations

import urllib.error
from typing import Any

import pytest

from tests.lab.errors import LabError
from tests.lab.lab import Lab
from tests.lab.namespace import Namespace, is_ready, probe_pod, probe_set, waiting_reason
from tests.lab.waiting import until

TIMEOUT = 60.0


def test_never_ready_holds_for_the_pods_successor_too(namespace: Namespace) -> None:
    namespace.apply(probe_set("web", replicas=1))
    namespace.until_ready("web-0")
    namespace.lab.faults.never_ready(namespace.name, "web-0")
    namespace.until_pod("web-0", "not Ready", lambda pod: not is_ready(pod))
    uid = namespace.delete_pod("web-0")

    def probed(pod: Any) -> bool:
        return pod.metadata.uid != uid and pod.status.phase == "Running"

    namespace.until_pod("web-0", "its successor", probed)
    until("its answer", lambda: _answers(namespace, "web-0"), TIMEOUT)
    until("the event", lambda: "Unhealthy" in namespace.reasons_of("web-0"), TIMEOUT)
    assert not is_ready(namespace.pod("web-0"))
    namespace.lab.faults.mend(namespace.name, "web-0")
    namespace.until_ready("web-0")


def _answers(namespace: Namespace, pod: str) -> bool:
    try:
        return namespace.get(pod, "/ready") == "ready"
    except urllib.error.URLError:
        return False


def test_crash_loop_backs_off(namespace: Namespace) -> None:
    namespace.apply(probe_set("web", replicas=1))
    namespace.until_ready("web-0")
    namespace.lab.faults.crash_loop(namespace.name, "web-0")
    reason = "CrashLoopBackOff"
    looping = namespace.until_pod("web-0", reason, lambda pod: waiting_reason(pod) == reason)
    status = looping.status.container_statuses[0]
    assert status.restart_count >= 1
    assert status.last_state.terminated.exit_code == 137
    assert "back-off 10s restarting failed container=probe" in status.state.waiting.message
    assert looping.status.phase == "Running"
    assert not is_ready(looping)
    namespace.lab.faults.mend(namespace.name, "web-0")
    uid = namespace.delete_pod("web-0")
    namespace.until_ready("web-0", not_uid=uid)


def test_a_killed_process_is_started_again(namespace: Namespace) -> None:
    namespace.apply(probe_pod("one"))
    namespace.until_ready("one")
    namespace.lab.faults.kill(namespace.name, "one")
    again = namespace.until_pod("one", "a restart", lambda pod: pod.status.container_statuses[0].restart_count == 1)
    namespace.until_ready("one")
    started = [event["process"] for event in namespace.log_of("one") if event["event"] == "container-started"]
    assert len(set(started)) == 2
    assert again.status.container_statuses[0].last_state.terminated.exit_code == 137


def test_slow_stop_keeps_the_process_until_the_grace_period_is_over(namespace: Namespace) -> None:
    namespace.apply(probe_pod("slow", spec={"terminationGracePeriodSeconds": 10}))
    namespace.until_ready("slow")
    namespace.lab.faults.slow_stop(namespace.name, "slow", 600)
    namespace.delete_pod("slow")
    terminating = namespace.pod("slow")
    assert terminating.metadata.deletion_timestamp is not None
    assert namespace.get("slow", "/version") == "1", "a terminating pod still serves"
    until("the pod's end", lambda: namespace.pod("slow") is None, TIMEOUT)
    times = {event["event"]: event["monotonic"] for event in namespace.log_of("slow")}
    assert times["container-sigterm"] - times["pod-stop-requested"] >= 9.9


def test_a_dead_kubernetes_node_and_its_return(namespace: Namespace) -> None:
    namespace.apply(probe_set("web"))
    ready = [namespace.until_ready(f"web-{ordinal}") for ordinal in range(3)]
    victim = ready[1]
    node, name = victim.spec.node_name, victim.metadata.name
    namespace.put(name, "/files/data/kept", "still here")
    namespace.lab.faults.node_dead(node)
    try:
        with pytest.raises(urllib.error.URLError):
            namespace.get(name, "/ready")
        lost = namespace.until_pod(name, "not Ready", lambda pod: not is_ready(pod))
        assert lost.metadata.uid == victim.metadata.uid
        # Every pod tolerates the NoExecute half for five minutes; only the NoSchedule half keeps the successor away.
        half = "node.kubernetes.io/unreachable:NoSchedule"
        until("the taint", lambda: half in _taints(namespace, node), TIMEOUT)
        uid = namespace.delete_pod(name, grace=0)
        # Its volume lies in the dead Kubernetes node's zone, so the successor has nowhere to go.
        pending = namespace.until_pod(name, "unschedulable", lambda pod: pod.metadata.uid != uid and _unscheduled(pod))
        assert pending.status.phase == "Pending"
    finally:
        namespace.lab.faults.mend_node(node)
    namespace.until_ready(name, not_uid=victim.metadata.uid)
    assert namespace.get(name, "/files/data/kept") == "still here"
    # The NoExecute half goes by itself, later than the other; what tolerates it does not wait for that.
    until("the taints gone", lambda: not _taints(namespace, node), TIMEOUT)


def _taints(namespace: Namespace, node: str) -> set[str]:
    return {f"{taint.key}:{taint.effect}" for taint in namespace.core.read_node(node).spec.taints or []}


def _unscheduled(pod: Any) -> bool:
    return any(item.reason == "Unschedulable" for item in pod.status.conditions or [])


def test_pods_of_a_returned_kubernetes_node_start_again_in_place(namespace: Namespace) -> None:
    namespace.apply(probe_pod("stays"))
    before = namespace.until_ready("stays")
    namespace.lab.faults.node_dead(before.spec.node_name)
    namespace.lab.faults.mend_node(before.spec.node_name)
    again = namespace.until_pod("stays", "a restart", lambda pod: pod.status.container_statuses[0].restart_count == 1)
    assert again.metadata.uid == before.metadata.uid
    namespace.until_ready("stays")


def test_a_pod_deleted_while_its_kubernetes_node_was_dead_ends_at_the_return(namespace: Namespace) -> None:
    namespace.apply(probe_pod("leaves"))
    pod = namespace.until_ready("leaves")
    namespace.lab.faults.node_dead(pod.spec.node_name)
    namespace.delete_pod("leaves")
    assert namespace.pod("leaves").metadata.deletion_timestamp is not None
    namespace.lab.faults.mend_node(pod.spec.node_name)
    until("the pod's end", lambda: namespace.pod("leaves") is None, TIMEOUT)


def test_faults_name_what_is_wrong(lab: Lab) -> None:
    with pytest.raises(LabError, match="no Kubernetes node 'nowhere'"):
        lab.faults.node_dead("nowhere")
    with pytest.raises(LabError, match="default/nobody has no running process"):
        lab.faults.kill("default", "nobody")
