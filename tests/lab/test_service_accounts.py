"""Pods that talk to Kubernetes by the account they run as, in the file system and with the rights that a pod has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.lab.namespace import Changes, Namespace, probe_pod
from tests.lab.waiting import until

TIMEOUT = 60.0
ASKING = """
import json, os, sys
from kubernetes import client, config
config.load_incluster_config()
mounted = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
own = open(mounted).read()
said = {"namespace": own, "user": os.getuid(), "home": os.path.expanduser("~")}
try:
    said["seen"] = sorted(each.metadata.name for each in client.CoreV1Api().list_namespaced_pod(own).items)
except client.ApiException as error:
    said["seen"] = error.status
for place in (os.path.expanduser("~"), "/etc", "/"):
    try:
        open(os.path.join(place, "written"), "w").close()
        said.setdefault("written", []).append(place)
    except OSError as error:
        said.setdefault("refused", {})[place] = error.strerror
open(sys.argv[1], "w").write(json.dumps(said))
"""


def asking(name: str, **changes: Any) -> Changes:
    """A pod that asks the API server as its account, and leaves the answers as its last words."""
    container: Changes = {
        "name": "asking",
        "image": "registry.example/stateful-upgrade-ee:1",
        "args": ["python", "-c", ASKING, "/dev/termination-log"],
        "securityContext": {"readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "home", "mountPath": "/runner"}],
    }
    spec = {
        "restartPolicy": "Never",
        "serviceAccountName": name,
        "containers": [container],
        "volumes": [{"name": "home", "emptyDir": {}}],
        **changes,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def allowed(namespace: Namespace) -> Namespace:
    """A namespace with the account `allowed`, which may list the pods, and `other`, which may not."""
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    subject = {"kind": "ServiceAccount", "name": "allowed", "namespace": namespace.name}
    of_role = {"apiGroup": group, "kind": "Role", "name": "see"}
    named: Changes = {"metadata": {"name": "see"}}
    namespace.apply(
        *({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": each}} for each in ("allowed", "other")),
        {"apiVersion": f"{group}/v1", "kind": "Role", **named, "rules": [rule]},
        {"apiVersion": f"{group}/v1", "kind": "RoleBinding", **named, "roleRef": of_role, "subjects": [subject]},
    )
    return namespace


def said_by(namespace: Namespace, name: str) -> tuple[int, str]:
    """The exit code and the message of a pod's only container, once it has ended."""
    pod = namespace.until_pod(name, "an end", lambda pod: pod.status.phase in {"Succeeded", "Failed"}, TIMEOUT)
    ended = pod.status.container_statuses[0].state.terminated
    return ended.exit_code, ended.message or ""


def test_a_pod_asks_as_its_account_and_writes_its_mounts_alone(allowed: Namespace) -> None:
    allowed.apply(
        asking("allowed"),
        asking("other"),
        asking("unmounted", serviceAccountName="allowed", automountServiceAccountToken=False),
    )
    code, message = said_by(allowed, "allowed")
    assert code == 0, message
    said = json.loads(message)
    assert said["namespace"] == allowed.name
    assert said["user"] == 1000
    assert {"allowed", "other"} <= set(said["seen"])
    assert said["written"] == [said["home"]]
    assert set(said["refused"].values()) == {"Read-only file system"}
    assert json.loads(said_by(allowed, "other")[1])["seen"] == 403
    code, message = said_by(allowed, "unmounted")
    assert (code, message) == (1, "")


def test_the_last_lines_of_the_log_take_the_place_of_an_empty_message(namespace: Namespace) -> None:
    command = ["sh", "-c", "echo said before the end; exit 3"]
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    namespace.apply(
        probe_pod("logs", spec={"restartPolicy": "Never"}, command=command, **policy),
        probe_pod("none", spec={"restartPolicy": "Never"}, command=command),
        probe_pod("file", spec={"restartPolicy": "Never"}, command=["sh", "-c", "echo mine >/dev/termination-log"]),
    )
    assert said_by(namespace, "logs") == (3, "said before the end\n")
    assert said_by(namespace, "none") == (3, "")
    assert said_by(namespace, "file") == (0, "mine\n")


def test_a_token_ends_with_its_pod(allowed: Namespace) -> None:
    allowed.apply(asking("allowed", containers=[{"name": "resting", "image": "longhorn-share-manager:1"}]))
    pod = allowed.until_pod("allowed", "running", lambda pod: pod.status.phase == "Running")
    (file,) = (allowed.lab.directory / "nodes").glob(f"*/pods/{pod.metadata.uid}/volumes/*/token")
    configuration: Any = client.Configuration()
    with allowed.lab.client() as admin:
        configuration.host, configuration.ssl_ca_cert = admin.configuration.host, admin.configuration.ssl_ca_cert
    configuration.api_key = {"authorization": f"Bearer {file.read_text()}"}
    assert file.stat().st_mode & 0o007 == 0, "other users of this machine read no token"
    with client.ApiClient(configuration) as api:
        core = client.CoreV1Api(api)
        assert core.list_namespaced_pod(allowed.name).items
        allowed.delete_pod("allowed", grace=0)

        def refused() -> bool:
            try:
                core.list_namespaced_pod(allowed.name)
            except ApiException as error:
                return error.status == 401
            return False

        until("the token's end", refused, TIMEOUT)
