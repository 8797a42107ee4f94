"""The legs of an upgrade: the control plane from version to version, and the workers where they must not stay. Pure.

Kubelets may be one minor version behind the API server, and two behind one of an even minor version of OpenShift 4; in
OpenShift 5 one, two and three in turn, from 5.0 on (`minSupportedKubeletSkewForOpenShiftVersion` in
`pkg/operator/kubeletversionskewcontroller` of cluster-kube-apiserver-operator). So workers pass over minor versions, as
in OpenShift's manual, "Performing a Control Plane Only update". Other workers go before the control plane does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...common.release import Release, release_in
from ...common.verdict import Reason, as_verdict, refused
from ..observe.minors import kubernetes_minor
from ..observe.state import OpenShift
from ..observe.target import ahead_of
from .health import is_held_by_person

LAST_BY_TWO = 4
"""The last major version in which every second minor version has extended support; then it is every third."""


@dataclass(frozen=True)
class Leg:
    """One part of the way."""

    release: Release
    """The version to which it leads."""
    of_workers: bool = False
    """Whether the workers go. Otherwise it is the control plane."""


def legs_of(seen: OpenShift, target: Release, through: Sequence[Release] = ()) -> list[Leg]:
    """The legs that are left. `through` are the versions on the way, also those that are reached."""
    return list(_legs(seen, target, through))


def _legs(seen: OpenShift, target: Release, through: Sequence[Release]) -> Iterator[Leg]:
    present = release_in(seen.version.present)
    last = [] if seen.version.has_completed(str(target)) else [target]
    at, minor = present if present in through else None, _lowest_minor(seen)
    for hop in (*ahead_of(seen.version, through), *last):
        begun = seen.version.is_commenced(str(hop))
        if not begun and at is not None and minor is not None and _is_too_far(minor, hop):
            yield Leg(at, of_workers=True)
            minor = kubernetes_minor(at)
        yield Leg(hop)
        at = hop
    yield Leg(target, of_workers=True)


@as_verdict
def judge_left_behind(seen: OpenShift, hops: Sequence[Release]) -> Iterator[Reason]:
    """Whether pools that a person has paused may stay as they are while the control plane goes from hop to hop."""
    for pool in filter(is_held_by_person, seen.worker_pools):
        minor = _lowest_of(seen, seen.members[pool.name])
        far = next((hop for hop in hops if minor is not None and _is_too_far(minor, hop)), None)
        if far is not None:
            yield refused(
                "pool_left_behind",
                f"MachineConfigPool {pool.name} is paused by another user, and its kubelets would be too far behind"
                f" {far}.",
                "Set its spec.paused to false, or give a target that leaves it less far behind.",
            )


def _is_too_far(minor: int, hop: Release) -> bool:
    """Whether a kubelet of this minor version of Kubernetes is too far behind a version of OpenShift."""
    return kubernetes_minor(hop) - minor > most_behind(hop)


def most_behind(release: Release) -> int:
    """The minor versions that kubelets may be behind a version of OpenShift."""
    if release.major > LAST_BY_TWO:
        return release.minor % 3 + 1
    return 1 if release.minor % 2 else 2


def _lowest_minor(seen: OpenShift) -> int | None:
    """The lowest minor version of Kubernetes of a worker that the run upgrades; None without any.

    One that cannot be read is that of the control plane.
    """
    free = [pool for pool in seen.worker_pools if not is_held_by_person(pool)]
    return _lowest_of(seen, [name for pool in free for name in seen.planned[pool.name]])


def _lowest_of(seen: OpenShift, names: Iterable[str]) -> int | None:
    present = release_in(seen.version.present)
    found = (seen.nodes[name].kubernetes_minor for name in names)
    own = kubernetes_minor(present) if present else 0
    return min((each if each is not None else own for each in found), default=None)


def legs_text(legs: Sequence[Leg], *, workers: bool) -> str:
    """The sentence of a plan about its legs, such as `control plane to 4.15.9, then to 4.16.3`. `workers` is whether
    some are upgraded."""
    control_plane = [str(each.release) for each in legs if not each.of_workers]
    stops = [str(each.release) for each in legs if each.of_workers] if workers else []
    parts = [f"control plane to {', then to '.join(control_plane)}"] if control_plane else []
    parts += [f"workers {'once, ' if len(stops) == 1 else ''}to {', then to '.join(stops)}"] if stops else []
    return "; ".join(parts)
