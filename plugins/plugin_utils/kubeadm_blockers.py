"""What a dry run of `kubeadm upgrade` says stands in the way of the upgrade, read for the role member_kubeadm."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    "SystemVerification": "Correct the kernel, the control groups or the operating system of the machine.",
}
"""By the checks of `RunUpgradeChecks`, `RunCoreDNSMigrationCheck` and `CheckClusterHealth` (kubeadm 1.36.3)."""
_OF_VERSIONS = "Give another target_version, or upgrade what it names first."


def blockers_in(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """Each obstacle that a dry run has named: its `check`, empty if it is none, and `said`, with its remedy.

    Args:
        result: That of `kubeadm upgrade apply --dry-run` or `kubeadm upgrade node --dry-run`. kubeadm ends at the first
            group of checks that has errors, so that one run may not name all.
    """
    if not result.get("rc", 1):
        return [_invented()] if _INVENTED in str(result.get("stdout") or "") else []
    lines = str(result.get("stderr") or "").splitlines()
    return [*_of_checks(lines), *_of_versions(lines)] or [_blocker("", said_last(result), "Correct that.")]


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
    return [_blocker(name, " ".join(said), _REMEDIES.get(name, "Correct that.")) for name, said in found]


def _of_versions(lines: list[str]) -> list[dict[str, str]]:
    start = next((place for place, line in enumerate(lines) if _VERSIONS in line), len(lines))
    items = [line.strip()[2:] for line in lines[start:] if line.strip().startswith("- ")]
    return [_blocker("", each, _OF_VERSIONS) for each in items]


def _invented() -> dict[str, str]:
    said = "it has no /etc/kubernetes/admin.conf, so kubeadm cannot ask the cluster"
    return _blocker("", said, "Make it there: kubeadm init phase kubeconfig admin.")


def _blocker(check: str, cause: str, remedy: str) -> dict[str, str]:
    named = f"{check}: {cause}" if check else cause
    return {"check": check, "said": f"{shortened(printable(named.strip()), _LONGEST).rstrip('.')}. {remedy}"}
