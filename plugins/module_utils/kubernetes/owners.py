"""Pods that have the names of a StatefulSet's pods, and that it does not control. Pure.

A set adopts pods without a controller that match its selector, and leaves pods of another controller alone. As long as
such a pod has the name, the set cannot make its own (server source, controller_ref_manager.go and
stateful_pod_control.go).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ..common.verdict import Reason, as_verdict, refused, waiting
from ..common.words import enumerate_few
from .state import Pod, StatefulSet


@as_verdict
def judge_owned(pool: StatefulSet, pods: Iterable[Pod]) -> Iterator[Reason]:
    """Whether every one of `pods` that has a name of this set is controlled by it."""
    names = set(pool.member_names())
    return (_not_owned(pool, pod) for pod in pods if pod.name in names and pod.owner_uid != pool.uid)


def _not_owned(pool: StatefulSet, pod: Pod) -> Reason:
    if not pod.owner_uid:
        return waiting(
            "pod_without_controller",
            f"Pod {pod.name} has no controller: StatefulSet {pool.name} has not taken it over.",
            f"If this lasts, compare its labels with the selector of StatefulSet {pool.name} ({pool.selector}).",
            about=pod.name,
        )
    controlled = f"Pod {pod.name} is controlled by {pod.owner or 'another'} (UID {pod.owner_uid}),"
    if pod.terminating:
        return waiting(
            "pod_owned_by_another",
            f"{controlled} and is being deleted. StatefulSet {pool.name} then makes its own pod of that name.",
            about=pod.name,
        )
    return refused(
        "pod_owned_by_another",
        f"{controlled} and not by StatefulSet {pool.name} (UID {pool.uid}), which cannot make its own while this pod"
        " exists.",
        "Find out why that owner has the pod. Remove its ownerReference from the pod, so that the StatefulSet takes the"
        " pod over; then run again.",
    )


def pods_left(name: str, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of a StatefulSet that does not exist, by their names, and those of another controller of its name."""
    named = ((pod, pod.name.rpartition("-")) for pod in pods)
    return [
        pod
        for pod, (prefix, _dash, ordinal) in named
        if (prefix == name and ordinal.isdecimal()) or (is_unsupported(pod) and _is_of(pod.owner, name))
    ]


def _is_of(owner: str, name: str) -> bool:
    """Whether a controller has this name, or is the ReplicaSet of a Deployment of this name."""
    kind, _space, named = owner.partition(" ")
    return named == name or (kind == "ReplicaSet" and named.rpartition("-")[0] == name)


def is_unsupported(pod: Pod) -> bool:
    """Whether a controller has the pod that is no StatefulSet of Kubernetes itself."""
    return bool(pod.owner) and not (pod.owner.startswith("StatefulSet ") and _group(pod) in {"apps", ""})


def is_left_alone(pod: Pod) -> bool:
    """Whether no StatefulSet has the pod, so that it is not upgraded."""
    return not pod.owner_uid or is_unsupported(pod)


def _group(pod: Pod) -> str:
    return pod.owner_version.rpartition("/")[0]


def controllers_of(pods: Iterable[Pod]) -> str:
    """Pods by their controllers: `data-0, data-1 (StatefulSet data of apps.kruise.io/v1beta1), c-0 (no controller)`."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        version = f" of {pod.owner_version}" if _group(pod) not in {"", "apps", "batch"} else ""
        found.setdefault(f"{pod.owner or 'another'}{version}" if pod.owner_uid else "no controller", []).append(
            pod.name
        )
    return "; ".join(f"{enumerate_few(names)} ({owner})" for owner, names in found.items())


def unsupported(pods: Collection[Pod]) -> Reason:
    """The refusal for members that no StatefulSet keeps."""
    remedies = []
    if any(pod.owner_uid for pod in pods):
        remedies.append(
            "Change the version in the controller that the sentence names, and let it replace its pods. Make no"
            " StatefulSet of its name: the pods would have two owners."
        )
    if any(not pod.owner_uid for pod in pods):
        remedies.append(
            "Nothing makes a pod again that has no controller: make a StatefulSet that takes it over (of its name and"
            " labels, with updateStrategy OnDelete), or move its data to one."
        )
    return refused(
        "controller_unsupported",
        f"Only pods of StatefulSets (apps/v1) can be upgraded, and these have another controller or none:"
        f" {controllers_of(pods)}.",
        " ".join(remedies),
    )


def missing(namespace: str, name: str, pods: Iterable[Pod] = ()) -> Reason:
    """The reason that says that there is no StatefulSet of that name; `pods` are those of the namespace."""
    left = pods_left(name, pods)
    foreign = [pod for pod in left if is_unsupported(pod)]
    if foreign:
        reason = unsupported(foreign)
        return replace(reason, message=f"There is no StatefulSet {name} in namespace {namespace}. {reason.message}")
    alone = [pod.name for pod in left if not pod.owner_uid]
    taken = [f"{pod.name} (controlled by {pod.owner or 'another'})" for pod in left if pod.owner_uid]
    found = f"There is no StatefulSet {name} in namespace {namespace}"
    if not left:
        return refused("pool_missing", f"{found}.", "Check the pool, the namespace and kubernetes.context.")
    said = ", ".join([*([f"{enumerate_few(alone)} (without a controller)"] if alone else []), *taken])
    return refused(
        "pool_missing",
        f"{found}, but pods of it are still there: {said}.",
        "It was deleted and its pods were kept. Apply its manifest again, with updateStrategy OnDelete: it then takes"
        " over the pods that have no controller. With RollingUpdate it might replace them at once, without any gate."
        " Then run again.",
    )
