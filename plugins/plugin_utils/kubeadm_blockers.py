"""What a dry run of `kubeadm upgrade` says stands in the way of the upgrade, read for the role member_kubeadm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..module_utils.common.words import printable, shortened
from .kubeadm_answers import said_last

_ERROR = re.compile(r"^\s*\[ERROR ([\w.-]+)\]: (.*)$")
_END = re.compile(r"^\s*\[(?:ERROR|WARNING|preflight|upgrade)|^error: |^[IWEF]\d{4} ")
"""The line after the last one of an error."""
_VERSIONS = "the version argument is invalid due to these"
"""The beginning of the list of errors that are no checks (`enforceVersionPolicies`, `cmd/phases/upgrade/apply`)."""
_INVENTED = "Dryrunning without a real client"
"""kubeadm tries the upgrade on a cluster that it has made up, and succeeds (`getClient`, `cmd/upgrade/common.go`)."""
_UNSUPPORTED = re.compile(r'unsupported apiVersion "([^"/]+)/([^"]+)".*? manual conversion to "[^"/]+/([^"]+)"')
"""A configuration that kubeadm has not generated, and does not read (`componentconfigs/utils.go`)."""
_CONFIG_MAPS = {"kubelet.config.k8s.io": "kubelet-config", "kubeproxy.config.k8s.io": "kube-proxy"}
_LONGEST = 400
_REMEDIES = {
    "ContainerRuntimeVersion": "Upgrade the container runtime of the machine first.",
    "ControlPlaneNodesReady": "Bring these Kubernetes nodes back.",
    "CoreDNSMigration": "Correct the Corefile in ConfigMap kube-system/coredns, or the image of Deployment coredns.",
    "CoreDNSUnsupportedPlugins": "See that the new CoreDNS knows these plugins, and take others out of the Corefile in"
    " ConfigMap kube-system/coredns. Then accept it: add --ignore-preflight-errors=CoreDNSUnsupportedPlugins to"
    " member_kubeadm_arguments.",
    "CreateJob": "See why the cluster runs no new Job in kube-system.",
    "IsPrivilegedUser": "Let the user of the connection become root.",
    "StaticPodManifest": "Put these manifests of static pods back.",
    "SystemVerification": "Correct the kernel, the control groups or the operating system of the machine.",
}
"""By the checks of `RunUpgradeChecks`, `RunCoreDNSMigrationCheck` and `CheckClusterHealth` (kubeadm 1.36.3)."""
OF_VERSIONS = "Give another target_version, or upgrade what it names first."


def blockers_in(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """Each obstacle that a dry run has named: its `check`, empty if it is none, and `said`, with its remedy.

    Args:
        result: That of `kubeadm upgrade apply --dry-run` or `kubeadm upgrade node --dry-run`. kubeadm ends at the first
            group of checks that has errors, so that one run may not name all.
    """
    if not result.get("rc", 1):
        return [_invented()] if _INVENTED in str(result.get("stdout") or "") else []
    lines = str(result.get("stderr") or "").splitlines()
    found = [*_of_checks(lines), *_of_versions(lines), *_of_configurations(lines)]
    return found or [blocker("", said_last(result), "Correct that.")]


def _of_checks(lines: list[str]) -> list[dict[str, str]]:
    found = list[tuple[str, list[str]]]()
    inside = False
    for line in lines:
        error = _ERROR.match(line)
        if error:
            found.append((error[1], [error[2]]))
        elif inside and not _END.match(line):
            found[-1][1].append(line)
        inside = bool(error) or (inside and not _END.match(line))
    return [blocker(name, " ".join(said), _REMEDIES.get(name, "Correct that.")) for name, said in found]


def _of_versions(lines: list[str]) -> list[dict[str, str]]:
    start = next((place for place, line in enumerate(lines) if _VERSIONS in line), len(lines))
    items = [line.strip()[2:] for line in lines[start:] if line.strip().startswith("- ")]
    return [blocker("", each, OF_VERSIONS) for each in items]


def _of_configurations(lines: list[str]) -> list[dict[str, str]]:
    return [of_configuration(*found) for line in lines for found in _UNSUPPORTED.findall(line)]


def of_configuration(group: str, present: str, wanted: str) -> dict[str, str]:
    """The obstacle of a configuration of the kubelet or of kube-proxy whose version kubeadm does not read."""
    place = f"ConfigMap kube-system/{_CONFIG_MAPS[group]}" if group in _CONFIG_MAPS else "its ConfigMap in kube-system"
    said = f"the configuration {group} has version {present or 'unknown'}, and kubeadm reads only {wanted}"
    return blocker("", said, f"Convert it to {wanted} in {place}.")


def _invented() -> dict[str, str]:
    said = "it has no /etc/kubernetes/admin.conf, so kubeadm cannot ask the cluster"
    return blocker("", said, "Make it there: kubeadm init phase kubeconfig admin.")


def blocker(check: str, cause: str, remedy: str) -> dict[str, str]:
    """An obstacle as one sentence with its remedy."""
    named = f"{check}: {cause}" if check else cause
    return {"check": check, "said": f"{shortened(printable(named.strip()), _LONGEST).rstrip('.')}. {remedy}"}


def obstacles_of(
    blockers: Sequence[Mapping[str, str]],
    *,
    step: str,
    version: str,
    node: str,
    pull: str,
    brought: Sequence[Mapping[str, Any]],
    planned: Sequence[Mapping[str, str]],
) -> list[str]:
    """All that stands in the way of the upgrade of a machine, a sentence for each that has found something.

    Args:
        blockers: Those of the dry run of kubeadm, for the `step` apply or node.
        step: The subcommand of `kubeadm upgrade`.
        version: The version of kubeadm, to which the machine is upgraded.
        node: The Kubernetes node of the machine.
        pull: The failure of the pull of images; empty if there is none.
        brought: See `kubeadm_answers.brought`. An older etcd is kept, an older CoreDNS is not.
        planned: The blockers in the plan of kubeadm for the whole cluster.
    """
    alone = f"so {node} was left alone:"
    older = [str(each["said"]) for each in brought if each["older"] and each["name"] == "CoreDNS"]
    further = [each for each in planned if each not in blockers]
    found = [
        (
            blockers,
            f"By its dry run (kubeadm upgrade {step}) kubeadm {version} cannot upgrade {node}, so it was left alone:"
            f" {_all(blockers)}",
        ),
        (
            pull,
            f"The images of version {version} cannot be pulled, {alone} {pull}. Make them reachable from the machine,"
            " or set member_kubeadm_pull to false.",
        ),
        (
            older,
            f"kubeadm {version} would take CoreDNS back to an older version, {alone} {''.join(older)}. Set dns.imageTag"
            " in ClusterConfiguration (ConfigMap kube-system/kubeadm-config) to the present version.",
        ),
        (
            further,
            f"By its plan (kubeadm upgrade plan v{version}) kubeadm {version} cannot upgrade the cluster of {node},"
            f" so it was left alone: {_all(further)}",
        ),
    ]
    return [said for cause, said in found if cause]


def _all(blockers: Sequence[Mapping[str, str]]) -> str:
    return " ".join(each["said"] for each in blockers)
