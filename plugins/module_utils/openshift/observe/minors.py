"""Minor versions of OpenShift, and those of Kubernetes in them. Pure."""

from __future__ import annotations

from ...common.release import Release

FAR = 1000
"""More minor versions than any update has."""
_AHEAD = {4: 13, 5: 36}
"""OpenShift 4.N has Kubernetes 1.(N + 13) (release notes: 4.18 "uses Kubernetes 1.31"). 5.0 has that of 4.23, the last
minor version of 4: both are made of one branch (`pkg/operator/kubeletversionskewcontroller` of
cluster-kube-apiserver-operator)."""

LAST_OF_4 = (4, 23)
"""The minor version of 4 whose Kubernetes 5.0 has."""


def kubernetes_minor(release: Release) -> int:
    """The minor version of Kubernetes 1 that a version of OpenShift has."""
    return release.minor + _AHEAD[min(max(release.major, 4), 5)]


def minors_between(present: Release, target: Release) -> int:
    """The number of minor versions from one version of OpenShift to another; `FAR` if there is no way.

    OpenShift 5.0 is another minor version of 4, so to speak, and no other one of 5 is (cluster-version-operator,
    `pkg/payload/precondition/clusterversion/gianthop.go`). That operator compares no version of Kubernetes, which has
    no way back: a version of 4 with a later one does not lead to 5.0.
    """
    if present.major == target.major:
        return target.minor - present.minor
    if (present.major, target.major, target.minor) != (4, 5, 0):
        return FAR
    ahead = kubernetes_minor(target) - kubernetes_minor(present)
    return max(1, ahead) if ahead >= 0 else FAR


def next_minor(present: Release, target: Release) -> str:
    """The minor version after the present one on the way to a target."""
    first = Release(target.major, 0, 0)
    leaves = present.major < target.major and minors_between(present, first) == 1
    return f"{first.major}.0" if leaves else f"{present.major}.{present.minor + 1}"
