"""Whether the versions of a kubeadm cluster allow an upgrade to a target. Pure.

The rules are those of the version skew policy of Kubernetes (kubernetes.io/releases/version-skew-policy): kubeadm goes
one minor version at a time; a kubelet and kube-proxy are up to three minor versions older than the API server, the
controller manager and the scheduler up to one, and none of them is newer; API servers differ by one minor version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from ...common.release import Release, release_in
from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ..observe.state import API_SERVER, FOLLOWING, KubeadmCluster
from .order import CLUSTER_API

OLDEST_KUBELET = 3
OLDEST_FOLLOWING = 1
MOST_HOPS = 4
"""The most versions to which one run goes: the playbook has plays for that many."""
FIRST = 28
"""The first minor version whose `kubeadm upgrade node` upgrades the addons once all of the control plane is upgraded,
so that a killed `kubeadm upgrade apply` leaves none of them behind (kubeadm, `cmd/phases/upgrade/node/addons.go`)."""


@as_verdict
def judge_versions(seen: KubeadmCluster, hops: Sequence[Release], going: Collection[str]) -> Iterator[Reason]:
    """Whether the cluster may go to the target.

    A cluster that is on its way already is judged as it is found.

    Args:
        seen: The cluster.
        hops: The versions on the way, and the target, which is the last.
        going: The machines that are upgraded, if they are not yet on the target.
    """
    present, target = release_in(seen.configured), hops[-1]
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
    ahead = [each for each in hops if not each < present]
    if ahead[0].minor < FIRST:
        yield refused(
            "target_unsupported",
            f"kubeadm {ahead[0]} cannot continue an upgrade that was killed after the control plane.",
            f"Give a version from 1.{FIRST}.0 on.",
        )
    skipped = next((pair for pair in pairwise((present, *ahead)) if pair[0].minors_to(pair[1]) > 1), None)
    if skipped is not None:
        yield refused(
            "minor_skipped",
            f"From {skipped[0]} to {skipped[1]} a minor version would be skipped, which kubeadm does not support.",
            "Set upgrade_through to a version of each minor version on the way, so that one run makes the upgrades"
            f" {_chain(present, ahead)}.",
        )
        return
    yield from _kubelets(seen, ahead[0], target, going)
    yield from _components(seen, ahead[0], target)


@as_verdict
def judge_chain(seen: KubeadmCluster, hops: Sequence[Release]) -> Iterator[Reason]:
    """Whether one run may go to all these versions, one after the other."""
    if len(hops) > MOST_HOPS:
        yield refused(
            "chain_too_long",
            f"One run goes to at most {MOST_HOPS} versions, one after the other, and these are {len(hops)}.",
            f"Give {hops[MOST_HOPS - 1]} as the target, and upgrade again from there.",
        )
    if len(hops) > 1 and any(each.owner == CLUSTER_API for each in seen.machines.values()):
        yield refused(
            "chain_owned",
            "The control plane is that of Cluster API, which itself writes the version to which its machines go.",
            "Give no upgrade_through: request each version of Cluster API, and upgrade to it.",
        )


def _chain(present: Release, ahead: Sequence[Release]) -> str:
    """The upgrades, of which any patch version of a minor version on the way will do."""
    found = [str(present)]
    for before, after in pairwise((present, *ahead)):
        found += [f"the newest version of 1.{minor}" for minor in range(before.minor + 1, after.minor)]
        found.append(str(after))
    return " → ".join(found)


def _kubelets(seen: KubeadmCluster, hop: Release, target: Release, going: Collection[str]) -> Iterator[Reason]:
    """Those that are upgraded have the version on the way before the API servers have the next one."""
    of_version: dict[Release, dict[str, str]] = {hop: {}, target: {}}
    for name, machine in seen.machines.items():
        of_version[hop if name in going else target][f"the kubelet of {name}"] = machine.kubelet
    if seen.proxy:
        of_version[hop]["kube-proxy"] = seen.proxy
    for version, found in of_version.items():
        yield from _kubelets_near(found, version, target)
    unknown = [name for name in going if release_in(seen.machines[name].kubelet) is None]
    if unknown:
        said = f"The versions of the kubelets of {enumerate_few(unknown)} are not known."
        yield refused("version_not_understood", said, "See that these Kubernetes nodes report their versions.")


def _kubelets_near(found: Mapping[str, str], hop: Release, target: Release) -> Iterator[Reason]:
    newer = _named(found, lambda version: target < version)
    if newer:
        yield refused(
            "kubelet_newer",
            f"Kubelets are newer than {target}, which an API server of that version does not allow: {newer}.",
            "Give a version that is not older than these.",
        )
    older = _named(found, lambda version: version.minors_to(hop) > OLDEST_KUBELET)
    if older:
        yield refused(
            "kubelet_too_old",
            f"Kubelets are more than {OLDEST_KUBELET} minor versions older than an API server of {hop}: {older}.",
            "Upgrade these to the version of the control plane first.",
        )


def _components(seen: KubeadmCluster, hop: Release, target: Release) -> Iterator[Reason]:
    """The control plane as it is: machines are upgraded one by one, so old and new ones work together."""
    servers = seen.versions_of(API_SERVER)
    older = _named(servers, lambda version: version.minors_to(hop) > 1)
    if older:
        said = f"API servers are more than one minor version older than {hop}: {older}."
        yield refused("component_too_old", said, "Bring the control plane to one version first: kubeadm upgrade node.")
    newer = _named({**servers, **seen.versions_of(*FOLLOWING)}, lambda version: target < version)
    if newer:
        yield refused(
            "component_newer",
            f"Components are newer than {target}: {newer}.",
            "Give a version that is not older than these.",
        )
    behind = _named(
        seen.versions_of(*FOLLOWING),
        lambda version: any(
            version.minors_to(each) > OLDEST_FOLLOWING for each in map(release_in, servers.values()) if each is not None
        ),
    )
    if behind:
        said = f"Components are more than one minor version older than an API server: {behind}."
        yield refused("component_too_old", said, "Bring the control plane to one version first: kubeadm upgrade node.")


def _named(versions: Mapping[str, str], holds: Callable[[Release], bool]) -> str:
    """The names and versions of which something holds, as text; those that are no versions are left out."""
    found = [name for name, text in versions.items() if (version := release_in(text)) is not None and holds(version)]
    return enumerate_few(f"{name} ({versions[name]})" for name in found)
