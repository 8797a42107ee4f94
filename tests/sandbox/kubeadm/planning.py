"""`kubeadm upgrade plan` and `kubeadm upgrade diff` (`cmd/kubeadm/app/cmd/upgrade` of Kubernetes 1.36.3)."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tests.sandbox.kubeadm.description import API_SERVER, COMPONENTS, DNS, ETCD, PROXY, image_of, numbers_of
from tests.sandbox.kubeadm.process import Ended, Steps
from tests.sandbox.kubeadm.upgrading import (
    FAILED,
    OF_CLUSTER,
    OF_DNS,
    REFUSED,
    STACK,
    OnMachine,
    Shared,
    fault_of_checks,
)
from tests.sandbox.kubernetes.kinds import NODES

MANIFESTS = "/etc/kubernetes/manifests"
PASSWORD = "a-password-of-a-proxy"
"""In an environment variable of each present manifest, which kubeadm makes where its own environment has a proxy."""
_READ = '[upgrade/{}] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...'
_MANIFEST = """apiVersion: v1
kind: Pod
spec:
  containers:
  - command:
    - {name}
    - --profiling=false
{more}    image: {image}
    name: {name}
status: {{}}
"""
_OF_BEFORE = f"""    - --old-flag-of-{{name}}=true
    env:
    - name: HTTPS_PROXY
      value: http://user:{PASSWORD}@proxy.test:3128
"""


def plan_upgrade(
    shared: Shared, machine: OnMachine, own: str, target: str, ignored: Collection[str], states: Mapping[str, str]
) -> Steps:
    """The command with `-o json`. Versions are such as 1.36.1.

    Args:
        shared: All machines.
        machine: That on which it runs.
        own: The version of kubeadm.
        target: The version that is asked for.
        ignored: The checks whose errors are ignored.
        states: The configurations that have to be converted by hand, each with its present version.
    """
    shared.plans += 1
    alone = shared.plans == 1
    yield shared.pace.preflight
    shared.plans -= 1
    if not shared.control_plane.answers:
        return Ended(1, "", f"error: [upgrade/init config] FATAL: failed to get config map: {REFUSED}\n{STACK}\n")
    fault = fault_of_checks(shared, machine, ignored, (OF_DNS, OF_CLUSTER))
    if not alone:
        # The name of the Job is the time (`createJob`, `phases/upgrade/health.go`).
        fault = FAILED.format(
            '\t[ERROR CreateJob]: could not create Job: jobs.batch "upgrade-health-check" already exists'
        )
    if fault:
        return Ended(1, "", f"{fault}\nerror: [upgrade/health] FATAL: preflight checks failed\n{STACK}\n")
    if max(map(numbers_of, _versions(shared, API_SERVER).values())) >= numbers_of(target):
        return Ended()
    upgrade = {"description": "version in the series", "components": [*_components(shared, own, target)]}
    groups = {"kubeproxy.config.k8s.io": "v1alpha1", "kubelet.config.k8s.io": "v1beta1"}
    configurations = [
        {
            "group": group,
            "currentVersion": states.get(group, preferred),
            "preferredVersion": preferred,
            "manualUpgradeRequired": group in states,
        }
        for group, preferred in groups.items()
    ]
    whole = {"kind": "UpgradePlan", "apiVersion": "output.kubeadm.k8s.io/v1alpha3", "availableUpgrades": [upgrade]}
    return Ended(0, json.dumps({**whole, "configVersions": configurations}, indent=4))


def _versions(shared: Shared, component: str) -> dict[str, str]:
    """The version of a component by machine."""
    images = shared.control_plane.images
    return {name: own[component].rpartition(":")[2] for name, own in images.items() if component in own}


def _components(shared: Shared, own: str, target: str) -> Iterator[dict[str, Any]]:
    def one(name: str, now: str, new: str, node: str = "") -> dict[str, Any]:
        found = {"name": name, "currentVersion": now, "newVersion": new}
        return {**found, "nodeName": node} if node else found

    resources, present = shared.kubernetes.server.resources, shared.version()
    for each in resources.store.each(NODES):
        kubelet = str(each["status"]["nodeInfo"]["kubeletVersion"])
        yield one("kubelet", kubelet, f"v{target}", each["metadata"]["name"])
    for component in (*COMPONENTS[1:], ETCD):
        new = image_of(component, target).rpartition(":")[2]
        for node, now in _versions(shared, component).items():
            yield one(component, now, new, node)
    yield one(PROXY, present, f"v{target}")
    yield one("CoreDNS", *(image_of(DNS, each).rpartition(":")[2] for each in (present, target)))
    yield one("kubeadm", f"v{own}", f"v{own}")


def compare_manifests(shared: Shared, machine: OnMachine, target: str) -> Steps:
    """The second command. It knows no patches, and no environment of the kubeadm that has written the manifests."""
    yield shared.pace.look
    if not shared.control_plane.answers:
        return Ended(1, "", f"error: failed to get config map: {REFUSED}\n{STACK}\n")
    lines = [_READ.format("diff")]
    # kubeadm takes them from a map of Go, which has no order.
    for name in reversed(COMPONENTS[1:]):
        image = shared.control_plane.images[machine.name][name]
        old = _MANIFEST.format(name=name, image=image, more=_OF_BEFORE.format(name=name))
        new = _MANIFEST.format(name=name, image=image_of(name, target), more="")
        files = (f"{MANIFESTS}/{name}.yaml", "new manifest")
        lines += difflib.unified_diff(old.splitlines(), new.splitlines(), *files, n=0, lineterm="")
    return Ended(0, "\n".join(lines))
