"""Whether the versions of a kubeadm cluster allow an upgrade to a target. Pure.

The rules are those of the version skew policy of Kubernetes (kubernetes.io/releases/version-skew-policy): kubeadm goes
one minor version at a time; a kubelet and kube-proxy are up to three minor versions older than the API server, the
controller manager and the scheduler up to one, and none of them is newer; API servers differ by one minor version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from ...common.release import Release, release_in
from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ..observe.state import API_SERVER, FOLLOWING, KubeadmCluster

OLDEST_KUBELET = 3
OLDEST_FOLLOWING = 1
FIRST = 28
"""The first minor version whose `kubeadm upgrade node` upgrades the addons once all of the control plane is upgraded,
so that a killed `kubeadm upgrade apply` leaves none of them behind (kubeadm, `cmd/phases/upgrade/node/addons.go`)."""


@as_verdict
def judge_versions(seen: KubeadmCluster, target: Release, going: Collection[str]) -> Iterator[Reason]:
    """Whether the cluster may go to the target. `going` are the machines that are upgraded, if they are not yet on it.

    A cluster that is on its way to the target already is judged as it is found.
    """
    present = release_in(seen.configured)
    if present is None:
        said = f"The ClusterConfiguration of kubeadm names no version that can be compared ({seen.configured})."
        yield refused(
            "version_not_understood", said, "Correct kubernetesVersion in ConfigMap kube-system/kubeadm-config."
        )
        return
    if target < present:
        yield refused(
            "not_greater",
            f"The cluster is at {present}, and {target} is older. Kubernetes has no way back to an older version.",
            "Give a later version.",
        )
        return
    if target.minor < FIRST:
        yield refused(
            "target_unsupported",
            f"kubeadm {target} cannot continue an upgrade that was killed behind the control plane.",
            f"Give a version from 1.{FIRST}.0 on.",
        )
    if present.minors_to(target) > 1:
        yield refused(
            "minor_skipped",
            f"From {present} to {target} a minor version would be skipped, which kubeadm does not support.",
            f"Request the upgrades one after the other: {_chain(present, target)}.",
        )
        return
    yield from _kubelets(seen, target, going)
    yield from _components(seen, target)


def _chain(present: Release, target: Release) -> str:
    """The minor versions on the way, of which any patch version will do, and the target."""
    between = [f"1.{minor}" for minor in range(present.minor + 1, target.minor)]
    return ", then ".join([*(f"the newest version of {each}" for each in between), str(target)])


def _kubelets(seen: KubeadmCluster, target: Release, going: Collection[str]) -> Iterator[Reason]:
    found = {f"the kubelet of {name}": each.kubelet for name, each in seen.machines.items()}
    if seen.proxy:
        found["kube-proxy"] = seen.proxy
    newer = _named(found, lambda version: target < version)
    if newer:
        yield refused(
            "kubelet_newer",
            f"Newer than {target}, which no API server of that version may have: {newer}.",
            "Give a version that is not older than these.",
        )
    older = _named(found, lambda version: version.minors_to(target) > OLDEST_KUBELET)
    if older:
        yield refused(
            "kubelet_too_old",
            f"More than {OLDEST_KUBELET} minor versions older than an API server of {target}: {older}.",
            "Upgrade these to the version of the control plane first.",
        )
    unknown = [name for name in going if release_in(seen.machines[name].kubelet) is None]
    if unknown:
        said = f"The versions of the kubelets of {enumerate_few(unknown)} are not known."
        yield refused("version_not_understood", said, "See that these Kubernetes nodes report their versions.")


def _components(seen: KubeadmCluster, target: Release) -> Iterator[Reason]:
    """The control plane as it is: machines are upgraded one by one, so old and new ones work together."""
    servers = seen.versions_of(API_SERVER)
    older = _named(servers, lambda version: version.minors_to(target) > 1)
    if older:
        said = f"More than one minor version older than {target}: {older}."
        yield refused("component_too_old", said, "Bring the control plane to one version first: kubeadm upgrade node.")
    newer = _named({**servers, **seen.versions_of(*FOLLOWING)}, lambda version: target < version)
    if newer:
        yield refused(
            "component_newer", f"Newer than {target}: {newer}.", "Give a version that is not older than these."
        )
    behind = _named(
        seen.versions_of(*FOLLOWING),
        lambda version: any(
            version.minors_to(each) > OLDEST_FOLLOWING for each in map(release_in, servers.values()) if each is not None
        ),
    )
    if behind:
        said = f"More than one minor version older than an API server: {behind}."
        yield refused("component_too_old", said, "Bring the control plane to one version first: kubeadm upgrade node.")


def _named(versions: Mapping[str, str], holds: Callable[[Release], bool]) -> str:
    """The names and versions of which something holds, as text; those that are no versions are left out."""
    found = [name for name, text in versions.items() if (version := release_in(text)) is not None and holds(version)]
    return enumerate_few(f"{name} ({versions[name]})" for name in found)
