"""Pods on the lab behave as pods on a real kubelet: rolls, volumes, deletion, probes, logs, environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, watch

from tests.lab.namespace import Namespace, is_ready, probe_pod, probe_set, waiting_reason
from tests.lab.waiting import until

TIMEOUT = 60.0
TRAPPED = {"exec": {"command": ["test", "-e", "trapped"]}, "periodSeconds": 1, "timeoutSeconds": 10}
"""Ready once the shell has said what it does at SIGTERM."""


def _all_ready(namespace: Namespace, name: str, replicas: int) -> None:
    def ready() -> bool:
        return namespace.apps.read_namespaced_stateful_set(name, namespace.name).status.ready_replicas == replicas

    until(f"{replicas} Ready replicas of {name}", ready, TIMEOUT)


def test_ondelete_roll_keeps_claims_and_addresses_and_loses_empty_dirs(namespace: Namespace) -> None:
    namespace.apply(probe_set("web"))
    _all_ready(namespace, "web", 3)
    names = [f"web-{ordinal}" for ordinal in range(3)]
    zones = {namespace.pod(name).spec.node_name for name in names}
    assert zones == {"node-a1", "node-b1", "node-c1"}
    for name in names:
        namespace.put(name, "/files/data/kept", name)
        namespace.put(name, "/files/cache/lost", name)
        assert namespace.get(name, "/files/cache/lost") == name

    namespace.apply(probe_set("web", tag="2"))

    def current() -> bool:
        seen = namespace.apps.read_namespaced_stateful_set("web", namespace.name)
        return seen.status.observed_generation >= seen.metadata.generation and seen.status.ready_replicas == 3

    until("the new template's observation", current, TIMEOUT)
    assert {namespace.get(name, "/version") for name in names} == {"1"}, "OnDelete must not touch running pods"
    for name in names:
        before = namespace.pod(name)
        uid = namespace.delete_pod(name)
        after = namespace.until_ready(name, not_uid=uid)
        assert after.status.pod_ip == before.status.pod_ip
        assert namespace.get(name, "/version") == "2"
        assert namespace.get(name, "/files/data/kept") == name
        files = namespace.lab.directory / "nodes"
        assert not list(files.glob(f"*/pods/{uid}")), "the deleted pod's own directory is gone"
        assert not list(files.glob(f"*/pods/{after.metadata.uid}/volumes/cache/lost"))


def test_deletion_reports_a_terminal_phase_first(namespace: Namespace) -> None:
    namespace.apply(probe_pod("one"))
    pod = namespace.until_ready("one")
    version = namespace.core.list_namespaced_pod(namespace.name).metadata.resource_version
    namespace.delete_pod("one")
    seen: list[tuple[str, str, bool]] = []
    stream = watch.Watch().stream(
        namespace.core.list_namespaced_pod, namespace.name, resource_version=version, timeout_seconds=30
    )
    for change in stream:
        found: Any = change["object"]
        assert found.metadata.uid == pod.metadata.uid
        terminated = bool(found.status.container_statuses[0].state.terminated)
        seen.append((change["type"], found.status.phase, terminated))
        if change["type"] == "DELETED":
            break
    assert seen[0] == ("MODIFIED", "Running", False)
    assert ("MODIFIED", "Succeeded", True) in seen
    assert seen[-1] == ("DELETED", "Succeeded", True)
    # "pod-ready" is written with the answer to the status, when others may have seen it and deleted the pod already.
    expected = ["pod-seen", "container-started", "pod-stop-requested", "pod-stopped", "pod-deleted"]

    def logged() -> bool:
        events = [event["event"] for event in namespace.log_of("one")]
        return [event for event in events if event in expected] == expected and events.count("pod-ready") == 1

    until("the whole log of the pod", logged, TIMEOUT)


def test_a_process_that_ignores_sigterm_is_killed_and_its_pod_failed(namespace: Namespace) -> None:
    script = "trap '' TERM; touch trapped; while true; do sleep 0.1; done"
    spec = {"terminationGracePeriodSeconds": 1}
    namespace.apply(probe_pod("deaf", spec=spec, command=["sh", "-c", script], readinessProbe=TRAPPED))
    namespace.until_ready("deaf")
    namespace.delete_pod("deaf")
    until("the pod's end", lambda: namespace.pod("deaf") is None, TIMEOUT)
    events = namespace.log_of("deaf")
    assert [event["event"] for event in events if event["event"].startswith("container-sig")] == [
        "container-sigterm",
        "container-sigkill",
    ]
    assert [event["phase"] for event in events if event["event"] == "pod-phase"][-1] == "Failed"


def test_an_image_that_does_not_exist(namespace: Namespace) -> None:
    namespace.apply(probe_pod("missing", tag="no-such-tag"))
    namespace.until_pod("missing", "ImagePullBackOff", lambda pod: waiting_reason(pod) == "ImagePullBackOff")
    reasons = [event.get("reason") for event in namespace.log_of("missing")]
    assert reasons.index("ErrImagePull") < reasons.index("ImagePullBackOff")
    until("the events", lambda: {"Failed", "BackOff"} <= set(namespace.reasons_of("missing")), TIMEOUT)
    namespace.delete_pod("missing")
    until("the pod's end", lambda: namespace.pod("missing") is None, TIMEOUT)


def test_environment_and_files_from_the_pod_and_config_maps(namespace: Namespace) -> None:
    name = {"name": "settings"}
    namespace.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"file.txt": "content", "KEY": "value"}}
    )
    fields = {"NAME": "metadata.name", "NAMESPACE": "metadata.namespace", "ADDRESS": "status.podIP"}
    env: list[dict[str, Any]] = [
        {"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in fields.items()
    ]
    env.append({"name": "URL", "value": "http://$(ADDRESS):$(UNKNOWN)"})
    env.append({"name": "FROM_MAP", "valueFrom": {"configMapKeyRef": {**name, "key": "KEY"}}})
    pod = probe_pod(
        "env",
        spec={"volumes": [{"name": "settings", "configMap": name}]},
        env=env,
        envFrom=[{"configMapRef": name, "prefix": "MAP_"}],
        volumeMounts=[{"name": "settings", "mountPath": "/settings"}],
    )
    namespace.apply(pod)
    found = namespace.until_ready("env")
    address = namespace.lab.pod_address(namespace.name, "env")
    assert found.status.pod_ip == address
    expected = {
        "NAME": "env",
        "NAMESPACE": namespace.name,
        "ADDRESS": address,
        "URL": f"http://{address}:$(UNKNOWN)",
        "FROM_MAP": "value",
        "MAP_KEY": "value",
        "HOSTNAME": "env",
    }
    real = json.loads(namespace.get("env", "/environment"))
    assert {key: real.get(key) for key in expected} == expected
    zone = namespace.lab.status()["nodes"]
    assert real["LAB_ZONE"] in {node["zone"] for node in zone}
    assert namespace.get("env", "/files/settings/file.txt") == "content"


def test_a_missing_config_map_holds_the_pod_back_until_it_exists(namespace: Namespace) -> None:
    namespace.apply(probe_pod("waits", envFrom=[{"configMapRef": {"name": "late"}}]))
    reason = "CreateContainerConfigError"
    namespace.until_pod("waits", reason, lambda pod: waiting_reason(pod) == reason)
    namespace.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}, "data": {"A": "b"}})
    namespace.until_ready("waits")


def test_startup_probe_holds_readiness_and_liveness_restarts(namespace: Namespace) -> None:
    patient = {"periodSeconds": 1, "timeoutSeconds": 10}
    startup = {"exec": {"command": ["test", "-e", "started"]}, **patient, "failureThreshold": 600}
    liveness = {"exec": {"command": ["test", "!", "-e", "dead"]}, **patient, "failureThreshold": 2}
    namespace.apply(probe_pod("probed", startupProbe=startup, livenessProbe=liveness))
    waiting = namespace.until_pod("probed", "Running", lambda pod: pod.status.phase == "Running")
    assert not waiting.status.container_statuses[0].started
    assert not is_ready(waiting)
    scratch = namespace.lab.directory / "nodes" / waiting.spec.node_name / "pods" / waiting.metadata.uid
    directory = scratch / "containers" / "probe"
    (directory / "started").touch()
    namespace.until_ready("probed")
    (directory / "dead").touch()
    restarted = namespace.until_pod(
        "probed", "a restart", lambda pod: pod.status.container_statuses[0].restart_count == 1
    )
    assert restarted.status.phase == "Running"
    until("the events", lambda: {"Unhealthy", "Killing"} <= set(namespace.reasons_of("probed")), TIMEOUT)


def test_tcp_probe_follows_the_port(namespace: Namespace) -> None:
    probe = {"tcpSocket": {"port": 9999}, "periodSeconds": 1}
    namespace.apply(probe_pod("closed", readinessProbe=probe))
    until("a refusal", lambda: "Unhealthy" in namespace.reasons_of("closed"), TIMEOUT)
    assert not is_ready(namespace.pod("closed"))
    namespace.apply(probe_pod("open", readinessProbe={"tcpSocket": {"port": "http"}, "periodSeconds": 1}))
    namespace.until_ready("open")


def test_readiness_follows_the_probe_and_keeps_transition_times(namespace: Namespace) -> None:
    probe = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1, "failureThreshold": 1}
    namespace.apply(probe_pod("turns", readinessProbe=probe))
    first = namespace.until_ready("turns")
    namespace.put("turns", "/unready")
    unready = namespace.until_pod("turns", "not Ready", lambda pod: not is_ready(pod))
    namespace.put("turns", "/ready")
    again = namespace.until_ready("turns")

    def since(pod: Any, kind: str) -> Any:
        return next(item.last_transition_time for item in pod.status.conditions if item.type == kind)

    assert since(first, "Initialized") == since(unready, "Initialized") == since(again, "Initialized")
    assert since(first, "Ready") <= since(unready, "Ready") <= since(again, "Ready")
    assert again.status.container_statuses[0].restart_count == 0
    assert again.status.observed_generation == again.metadata.generation


def test_pre_stop_runs_before_sigterm(namespace: Namespace) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    script = "trap 'echo stopped >> $LAB_MOUNT_DATA/order; exit 0' TERM; touch trapped; while :; do sleep 0.1; done"
    hook = "echo hook >> $LAB_MOUNT_DATA/order"
    namespace.apply(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "notes"}, "spec": claim},
        probe_pod(
            "hooked",
            spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "notes"}}]},
            command=["sh", "-c", script],
            readinessProbe=TRAPPED,
            lifecycle={"preStop": {"exec": {"command": ["sh", "-c", hook]}}},
            volumeMounts=[{"name": "data", "mountPath": "/data"}],
        ),
    )
    namespace.until_ready("hooked")
    volume = namespace.core.read_namespaced_persistent_volume_claim("notes", namespace.name).spec.volume_name
    path = Path(namespace.core.read_persistent_volume(volume).spec.local.path)
    namespace.delete_pod("hooked")
    until("the pod's end", lambda: namespace.pod("hooked") is None, TIMEOUT)
    assert (path / "order").read_text() == "hook\nstopped\n"
    namespace.core.delete_namespaced_persistent_volume_claim("notes", namespace.name)
    until("the volume's removal", lambda: not path.exists(), TIMEOUT)


def test_logs_of_this_and_the_previous_start(namespace: Namespace) -> None:
    script = "echo first line of $HOSTNAME; echo second line; exec sleep 3600"
    namespace.apply(probe_pod("talks", command=["sh", "-c", script], readinessProbe=None))
    namespace.until_ready("talks")

    def log(**options: Any) -> str:
        text: str = namespace.core.read_namespaced_pod_log("talks", namespace.name, **options)
        return text

    until("the log", lambda: log() == "first line of talks\nsecond line\n", TIMEOUT)
    assert log(tail_lines=1) == "second line\n"
    namespace.lab.faults.kill(namespace.name, "talks")
    namespace.until_pod("talks", "a restart", lambda pod: pod.status.container_statuses[0].restart_count == 1)
    assert log(previous=True) == "first line of talks\nsecond line\n"


def test_pods_that_finish_and_init_containers(namespace: Namespace) -> None:
    true = {"name": "true", "image": "probe:1", "command": ["true"]}
    spec = {"restartPolicy": "Never", "initContainers": [true]}
    namespace.apply(probe_pod("done", spec=spec, command=["sh", "-c", "exit 0"], readinessProbe=None))
    namespace.apply(probe_pod("wrong", spec=spec, command=["sh", "-c", "exit 3"], readinessProbe=None))
    done = namespace.until_pod("done", "Succeeded", lambda pod: pod.status.phase == "Succeeded")
    wrong = namespace.until_pod("wrong", "Failed", lambda pod: pod.status.phase == "Failed")
    assert done.status.init_container_statuses[0].state.terminated.exit_code == 0
    assert wrong.status.container_statuses[0].state.terminated.exit_code == 3


def test_a_command_finds_what_its_container_mounts(namespace: Namespace) -> None:
    copies = {
        "name": "copies",
        "image": "probe:1",
        "command": ["sh", "-c", "cp -r /given/*  /made/"],
        "volumeMounts": [
            {"name": "given", "mountPath": "/given/one", "subPath": "one"},
            {"name": "made", "mountPath": "/made/"},
        ],
    }
    owns = {"name": "owns", "image": "busybox:latest", "command": ["sh", "-c", "chown -R 1000:1000 /made"]}
    volumes = [{"name": "given", "configMap": {"name": "given"}}, {"name": "made", "emptyDir": {}}]
    namespace.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "given"}, "data": {"one": "1", "two": "2"}},
        probe_pod(
            "copied",
            spec={"initContainers": [owns, copies], "volumes": volumes},
            volumeMounts=[{"name": "made", "mountPath": "/settings"}],
        ),
    )
    namespace.until_ready("copied")
    assert namespace.get("copied", "/files/settings/one") == "1"


def test_another_image_restarts_the_container_in_its_place(namespace: Namespace) -> None:
    namespace.apply(probe_pod("patched"))
    before = namespace.until_ready("patched")
    namespace.apply(probe_pod("patched", tag="2"))
    after = namespace.until_pod("patched", "a restart", lambda pod: pod.status.container_statuses[0].restart_count == 1)
    namespace.until_ready("patched")
    assert after.metadata.uid == before.metadata.uid
    assert namespace.get("patched", "/version") == "2"


@pytest.mark.parametrize(
    ("storage_class", "label"), [("lab", "topology.kubernetes.io/zone"), ("lab-local", "kubernetes.io/hostname")]
)
def test_a_volume_belongs_to_a_zone_or_a_kubernetes_node(namespace: Namespace, storage_class: str, label: str) -> None:
    request = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "claim"}}
    spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}]}
    namespace.apply(
        {"apiVersion": "v1", **claim, "spec": {**request, "storageClassName": storage_class}},
        probe_pod("user", spec=spec, volumeMounts=[{"name": "data", "mountPath": "/data"}]),
    )
    pod = namespace.until_ready("user")
    name = namespace.core.read_namespaced_persistent_volume_claim("claim", namespace.name).spec.volume_name
    terms = namespace.core.read_persistent_volume(name).spec.node_affinity.required.node_selector_terms
    labels = namespace.core.read_node(pod.spec.node_name).metadata.labels
    assert [(item.key, item.values) for item in terms[0].match_expressions] == [(label, [labels[label]])]


def test_an_evicted_pod_is_replaced(namespace: Namespace) -> None:
    namespace.apply(probe_set("web", replicas=1))
    pod = namespace.until_ready("web-0")
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="web-0", namespace=namespace.name))
    namespace.core.create_namespaced_pod_eviction("web-0", namespace.name, eviction)
    namespace.until_ready("web-0", not_uid=pod.metadata.uid)
