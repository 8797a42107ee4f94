"""The stand-in of the kubelet on a machine of the lab. The package puts it at /usr/bin/kubelet, next to its version.

It speaks to the real API server with the credentials of its Kubernetes node, as kubeadm has made them. The manifests
of static pods become mirror pods with the annotations that kubeadm waits for. No container is run: a pod is Running
and Ready at once, one with the restart policy Never has succeeded, and one that is deleted ends.
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

VERSION = Path("/usr/lib/kubelet/version")
KUBECONFIG = Path("/etc/kubernetes/kubelet.conf")
MANIFESTS = Path("/etc/kubernetes/manifests")
BETWEEN = 0.3
RENEWED = 2.0
"""Seconds between two renewals of the lease; the lab misses a kubelet after 6."""
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PODS = "/api/v1/namespaces/kube-system/pods"
HASH, MIRROR = "kubernetes.io/config.hash", "kubernetes.io/config.mirror"
ROOM = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
Json = dict[str, Any]


class Connection:
    """The API server, as the Kubernetes node of its kubeconfig."""

    def __init__(self, kubeconfig: Json) -> None:
        cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]
        self._server = cluster["server"]
        self.node = user["name"].removeprefix("system:node:")
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as file:
            pair = user["user"]
            file.write(base64.b64decode(pair["client-certificate-data"]) + base64.b64decode(pair["client-key-data"]))
            file.flush()
            self._tls.load_cert_chain(file.name)

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """The answer. Raises urllib.error.HTTPError, OSError."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._server + path, data, {"Content-Type": kind}, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=10, context=self._tls) as answer:  # noqa: S310 - of the kubeconfig
            found: Json = json.loads(answer.read())
            return found

    def lacks(self, path: str) -> bool:
        """Whether there is no such object."""
        try:
            self.ask("GET", path)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return True
        return False


def now() -> str:
    """This time, as the API server writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def register(api: Connection, version: str) -> None:
    """Say that the Kubernetes node is Ready, with its version, and make its lease."""
    said = [("Ready", "True", "KubeletReady")]
    said += [(f"{each}Pressure", "False", "KubeletIsWell") for each in ("Memory", "Disk", "PID")]
    conditions = [
        {"type": kind, "status": is_so, "reason": why, "lastHeartbeatTime": now(), "lastTransitionTime": now()}
        for kind, is_so, why in said
    ]
    info = {
        "kubeletVersion": f"v{version}",
        "kubeProxyVersion": "",
        "containerRuntimeVersion": "lab://2.0.0",
        "osImage": "Debian GNU/Linux 12 (bookworm)",
        "operatingSystem": "linux",
        "architecture": "amd64",
        "kernelVersion": "lab",
        "machineID": api.node,
        "systemUUID": api.node,
        "bootID": "lab",
    }
    status = {"capacity": ROOM, "allocatable": ROOM, "conditions": conditions, "nodeInfo": info}
    api.ask("PATCH", f"/api/v1/nodes/{api.node}/status", {"status": status})
    if api.lacks(f"{LEASES}/{api.node}"):
        api.ask("POST", LEASES, {"metadata": {"name": api.node}, "spec": lease(api.node)})


def lease(node: str) -> Json:
    """The content of a lease that is renewed now."""
    renewed = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": renewed}


def mirror(api: Connection, pods: dict[str, Json]) -> None:
    """Make the mirror pods of the manifests that are there, and remove those of manifests that are not."""
    wanted = {}
    for path in sorted(MANIFESTS.glob("*.yaml")):
        content = path.read_bytes()
        # A manifest that is being written may end early: it is read again.
        manifest = yaml.safe_load(content)
        if manifest:
            digest = hashlib.md5(content).hexdigest()  # noqa: S324 - as the real one does
            wanted[f"{manifest['metadata']['name']}-{api.node}"] = (manifest, digest)
    for name, pod in pods.items():
        at = pod["metadata"]["annotations"][MIRROR]
        if name not in wanted or wanted[name][1] != at:
            uid = {"preconditions": {"uid": pod["metadata"]["uid"]}, "gracePeriodSeconds": 0}
            api.ask("DELETE", f"{PODS}/{name}", uid)
    owner = api.ask("GET", f"/api/v1/nodes/{api.node}")["metadata"]["uid"] if wanted else ""
    for name, (manifest, digest) in wanted.items():
        if name in pods and pods[name]["metadata"]["annotations"][MIRROR] == digest:
            continue
        metadata = manifest["metadata"]
        kept = {HASH: digest, MIRROR: digest, "kubernetes.io/config.source": "file"}
        by = {"apiVersion": "v1", "kind": "Node", "name": api.node, "uid": owner, "controller": True}
        changed = {
            **metadata,
            "name": name,
            "annotations": {**metadata.get("annotations", {}), **kept, "kubernetes.io/config.seen": now()},
            "ownerReferences": [by],
        }
        api.ask("POST", PODS, {**manifest, "metadata": changed, "spec": {**manifest["spec"], "nodeName": api.node}})


def play(api: Connection, pod: Json) -> None:
    """Give a pod the state that it would have by now."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    ended = status.get("phase") in {"Succeeded", "Failed"}
    if "deletionTimestamp" in metadata:
        if not ended:
            write(api, path, pod, "Succeeded")
        uid = {"preconditions": {"uid": metadata["uid"]}, "gracePeriodSeconds": 0}
        api.ask("DELETE", path, uid)
    elif status.get("phase") == "Pending" or (status.get("phase") == "Running" and not is_ready(status)):
        write(api, path, pod, "Succeeded" if spec.get("restartPolicy") == "Never" else "Running")


def is_ready(status: Json) -> bool:
    """Whether a pod is Ready. While this kubelet is away, another one writes that it is not."""
    return any((each["type"], each["status"]) == ("Ready", "True") for each in status.get("conditions", []))


def write(api: Connection, path: str, pod: Json, phase: str) -> None:
    """Write the status of a pod in a phase; the UID guards it."""
    running = phase == "Running"
    state = {"running": {"startedAt": now()}} if running else {"terminated": {"exitCode": 0, "finishedAt": now()}}
    containers = [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": each["image"],
            "containerID": f"lab://{each['name']}",
            "ready": running,
            "started": running,
            "restartCount": 0,
            "state": state,
        }
        for each in pod["spec"]["containers"]
    ]
    is_ready = "True" if running else "False"
    conditions = [
        {"type": kind, "status": "True" if kind == "Initialized" else is_ready, "lastTransitionTime": now()}
        for kind in ("Initialized", "ContainersReady", "Ready")
    ]
    kept = [each for each in pod.get("status", {}).get("conditions", []) if each["type"] == "PodScheduled"]
    status = {"phase": phase, "startTime": now(), "containerStatuses": containers, "conditions": conditions + kept}
    api.ask("PATCH", f"{path}/status", {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status})


def step(api: Connection) -> None:
    """Handle all pods of this Kubernetes node once."""
    found = api.ask("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{api.node}")["items"]
    mirrors = {pod["metadata"]["name"]: pod for pod in found if MIRROR in pod["metadata"].get("annotations", {})}
    mirror(api, mirrors)
    for pod in found:
        play(api, pod)


def main() -> None:
    """Answer what it is asked, or run."""
    version = VERSION.read_text(encoding="utf-8").strip()
    if "--version" in sys.argv:
        print(f"Kubernetes v{version}")
        return
    api = Connection(yaml.safe_load(KUBECONFIG.read_text(encoding="utf-8")))
    registered, renewed = False, 0.0
    while True:
        try:
            if not registered:
                register(api, version)
                registered = True
            if time.monotonic() - renewed > RENEWED:
                api.ask("PATCH", f"{LEASES}/{api.node}", {"spec": lease(api.node)})
                renewed = time.monotonic()
            step(api)
        except (OSError, yaml.YAMLError) as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        time.sleep(BETWEEN)


if __name__ == "__main__":
    main()
