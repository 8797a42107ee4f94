"""Commands in the containers of the lab, as the collection and as the Kubernetes client run them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Denied, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient, connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.execution import (
    ContainerCommand,
    Ended,
    execute,
)
from kubernetes.client import CoreV1Api
from kubernetes.stream import stream

from tests.lab import process_namespace
from tests.lab.lab import ROOT
from tests.lab.namespace import Namespace, is_ready, probe_pod, waiting_reason
from tests.lab.waiting import until

TIMEOUT = 60.0
ATTACHING = Path("/tmp/.java_pid1")  # noqa: S108 - where a Java process that is the first of its container listens
GOES = """
import os, sys
from tests.lab import process_namespace
opens = os.open
def goes(path, *how):
    found = opens(path, *how)
    if str(path) == sys.argv[1]:
        os.rmdir(path)
    return found
os.open = goes
sys.exit(process_namespace.main("run", "", "", "true"))
"""
"""Starts a container while a folder in the temporary folder of the machine is removed."""
WHY_NOT = process_namespace.obstacle()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=f"containers have no process namespaces here: {WHY_NOT}")


def _client(namespace: Namespace, user: str = "admin") -> KubernetesClient:
    return connect({"kubeconfig": str(namespace.lab.kubeconfig(user))})


def _run(namespace: Namespace, *words: str, user: str = "admin", seconds: float = TIMEOUT) -> Ended:
    return execute(_client(namespace, user), ContainerCommand(namespace.name, "one", "probe", words), seconds)


def test_commands_run_beside_the_process_of_their_container(namespace: Namespace) -> None:
    content = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}, "stringData": {"one": "content"}}
    volumes = [{"name": "own", "secret": {"secretName": "own"}}]
    mounts = [{"name": "own", "mountPath": "/settings"}]
    namespace.apply(content, probe_pod("one", spec={"volumes": volumes}, volumeMounts=mounts), probe_pod("two"))
    before, other = namespace.until_ready("one"), namespace.until_ready("two")

    assert _run(namespace, "cat", "/settings/one") == Ended(0, "content", "")
    both = _run(namespace, "sh", "-c", "echo $HOSTNAME; echo wrong >&2; exit 7")
    assert both == Ended(7, "one\n", "wrong\n")
    with pytest.raises(Refusal, match="executable file not found"):
        _run(namespace, "no-such-program")
    numbers = _run(namespace, "sh", "-c", "cd /proc && ls -d [0-9]*").output.split()
    assert numbers[0] == "1"
    assert str(os.getpid()) not in numbers, "processes outside of the container have no number in it"
    assert namespace.get("one", "/pid") == "1"
    assert _run(namespace, "touch", str(ATTACHING)).code == 0
    assert not ATTACHING.exists(), "a process finds the first of another container by this file"
    with pytest.raises(Unreachable, match="has not reported within"):
        _run(namespace, "sleep", "60", seconds=1)

    arguments = {"command": ["echo", "said"], "stdout": True, "stderr": True, "stdin": False, "tty": False}
    with namespace.lab.client() as api:
        said = stream(CoreV1Api(api).connect_get_namespaced_pod_exec, "one", namespace.name, **arguments)
    assert said == "said\n"

    assert _run(namespace, "sh", "-c", "kill -9 1").code == 0, "the kernel keeps a first process from its own children"
    assert _run(namespace, "kill", "-TERM", "1").code in {0, 137}, "it may end before that is reported"
    after = namespace.until_pod(
        "one", "a restart", lambda pod: is_ready(pod) and pod.status.container_statuses[0].restart_count == 1
    )
    assert after.metadata.uid == before.metadata.uid
    assert after.status.pod_ip == before.status.pod_ip
    last = after.status.container_statuses[0].last_state.terminated
    assert (last.exit_code, last.reason) == (0, "Completed")
    assert after.status.container_statuses[0].state.running.started_at >= last.finished_at
    untouched = namespace.pod("two")
    assert untouched.status.container_statuses[0].restart_count == 0
    assert untouched.status.container_statuses[0].state == other.status.container_statuses[0].state


def test_a_container_starts_though_a_folder_of_others_is_removed_at_that_time() -> None:
    """The temporary folder of the machine is that of all tests, and the kernel mounts no folder that is removed."""
    folder = tempfile.mkdtemp(dir=ATTACHING.parent)
    started = subprocess.run(
        [sys.executable, "-c", GOES, folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert started.returncode == 0, started.stderr
    assert not Path(folder).exists()


def test_commands_need_rights_and_a_container_that_runs(namespace: Namespace) -> None:
    namespace.apply(probe_pod("one"))
    namespace.until_ready("one")
    denied = []
    for verbs in ([], ["get"], ["create"]):
        _allow(namespace, verbs)
        with pytest.raises(Denied) as caught:
            _run(namespace, "true", user="upgrader")
        denied.append(str(caught.value))
    assert all("pods/exec" in each for each in denied)
    _allow(namespace, ["get", "create"])

    def allowed() -> bool:
        try:
            return _run(namespace, "true", user="upgrader").code == 0
        except Denied:
            return False

    until("the right", allowed, TIMEOUT)
    with pytest.raises(Refusal, match="container"):
        execute(_client(namespace), ContainerCommand(namespace.name, "one", "other", ("true",)), TIMEOUT)


def _allow(namespace: Namespace, verbs: list[str]) -> None:
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": verbs}] if verbs else []
    reference = {"apiGroup": group, "kind": "Role", "name": "run"}
    subject = {"apiGroup": group, "kind": "User", "name": "upgrader"}
    about = {"apiVersion": f"{group}/v1", "metadata": {"name": "run"}}
    namespace.apply(
        {**about, "kind": "Role", "rules": rules},
        {**about, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
    )


def test_the_files_of_a_secret_follow_it_and_those_by_sub_path_do_not(namespace: Namespace) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}}
    volumes = [{"name": "own", "secret": {"secretName": "own"}}]
    mounts = [
        {"name": "own", "mountPath": "/settings"},
        {"name": "own", "mountPath": "/kept/one", "subPath": "one"},
    ]
    namespace.apply(probe_pod("one", spec={"volumes": volumes}, volumeMounts=mounts))
    until("the event", lambda: "FailedMount" in namespace.reasons_of("one"), TIMEOUT)
    held = namespace.until_pod("one", "waiting", lambda pod: waiting_reason(pod) == "ContainerCreating")
    assert held.status.phase == "Pending"
    namespace.apply({**secret, "stringData": {"one": "first", "gone": ""}})
    namespace.until_ready("one")
    assert _run(namespace, "cat", "/settings/one", "/kept/one").output == "firstfirst"

    namespace.lab.faults.slow_mounts(namespace.name, "one", 3600)
    namespace.apply({**secret, "stringData": {"one": "never"}})

    def seen() -> bool:
        return 3600 in [event.get("mounted_in") for event in namespace.log_of("one")]

    until("the kubelet to hear of the change", seen, TIMEOUT)
    namespace.lab.faults.mend(namespace.name, "one")
    namespace.apply({**secret, "stringData": {"one": "second", "more": "third"}})
    until("the change", lambda: _run(namespace, "cat", "/settings/one").output == "second", TIMEOUT)
    assert _run(namespace, "cat", "/settings/more", "/kept/one").output == "thirdfirst"
    assert _run(namespace, "sh", "-c", "ls /settings; readlink /settings/one").output.split()[-1] == "..data/one"
    changes = [event for event in namespace.log_of("one") if event["event"] == "volume-changed"]
    assert len(changes) == 1, "the change that takes an hour has not arrived"

    _run(namespace, "kill", "1")
    namespace.until_pod("one", "a restart", lambda pod: pod.status.container_statuses[0].restart_count == 1)
    namespace.until_ready("one")
    assert _run(namespace, "cat", "/kept/one").output == "second"
