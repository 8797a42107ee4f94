"""Judging a replacement: the stage of the new pod, and the cause if it is stuck.

Pure: from observations to verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from ..common.verdict import Reason, Verdict, refused, waiting
from ..kubernetes.state import Container, KubernetesEvent, Pod, StatefulSet

PULL_PATIENCE = 60.0
"""Seconds of failed pulls after which time is not expected to help: the kubelet has then tried it three times."""
CRASHES = 3
"""Restarts of a container after which time is not expected to help."""
SLOW = 5.0
"""Seconds in one stage after which its events are asked for."""

_WRAPPING = re.compile(r'^(?:failed to [a-z ]+ "[^"]*": )+')
"""The layers that the container runtime puts around a cause; each names the image again."""

NEVER_STARTED = frozenset({"container_configuration", "image_not_pulled", "pod_not_prepared", "pod_unschedulable"})
"""The codes of the reasons for which the process of a new pod has not started."""
PULL_FAILURES = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"}
)
PULL_HOPELESS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
CONFIGURATION_FAILURES = frozenset({"CreateContainerConfigError"})
STAGES = {
    "pod_stopping": "stopping",
    "pod_not_recreated": "stopped",
    "pod_scheduling": "waiting for a Kubernetes node",
    "pod_preparing": "preparing its image and volumes",
    "pod_starting": "starting",
}
"""The word for each stage that every replacement goes through, by the code of its reason."""


class ReplacementStage(IntEnum):
    """The stages of a replacement, in order."""

    STOPPING = 0
    RECREATING = 1
    SCHEDULING = 2
    PREPARING = 3
    STARTING = 4
    READY = 5
    JOINED = 6


@dataclass(frozen=True)
class Sighting:
    """One member's replacement as seen at one time. Times are seconds on a clock that never goes back."""

    member: str
    old_uid: str
    """The UID of the pod that was deleted; empty if none was."""
    pod: Pod | None
    in_stage: float = 0.0
    """Seconds since the present stage was first seen."""
    failing_pull: float = 0.0
    """Seconds since this pod's image was first seen to fail."""
    events: tuple[KubernetesEvent, ...] = ()
    """The events about the pod, or about its pool while there is no pod; they are asked for only if it is slow."""
    kubernetes_node_ready: bool | None = None
    """Whether its Kubernetes node is Ready; None if that was not asked, or may not be."""
    blockers: tuple[str, ...] = ()
    """Pods that an OrderedReady pool must have Ready before it makes this one."""
    owned: Verdict = field(default_factory=Verdict)
    """Whether an existing pod of its name is controlled by its pool."""

    @property
    def stage(self) -> ReplacementStage:
        """The stage of the replacement."""
        return stage_of(self.old_uid, self.pod)


def stage_of(old_uid: str, pod: Pod | None) -> ReplacementStage:
    """The stage of a replacement. The old pod is stopping from the time at which its deletion was accepted."""
    if pod is None:
        return ReplacementStage.RECREATING
    if pod.uid == old_uid or pod.terminating:
        return ReplacementStage.STOPPING
    if pod.ready:
        return ReplacementStage.READY
    if not pod.kubernetes_node:
        return ReplacementStage.SCHEDULING
    begun = any(
        not each.init and (each.state in {"running", "terminated"} or each.reason == "CrashLoopBackOff")
        for each in pod.containers
    )
    return ReplacementStage.STARTING if begun else ReplacementStage.PREPARING


def fails_to_pull(pod: Pod | None) -> bool:
    """Whether an image of the pod cannot be pulled now."""
    failing = PULL_FAILURES | PULL_HOPELESS
    return pod is not None and any(each.state == "waiting" and each.reason in failing for each in pod.containers)


def blockers_of(pool: StatefulSet, pods: Mapping[str, Pod], member: str) -> tuple[str, ...]:
    """The pods of lower ordinal, not Ready, that an OrderedReady controller waits for before it makes this one."""
    if not pool.in_order:
        return ()
    ordinal = pool.ordinal(member) or 0
    lower = [name for name in pool.member_names() if (pool.ordinal(name) or 0) < ordinal]
    return tuple(name for name in lower if name not in pods or not pods[name].ready or pods[name].terminating)


def judge_replacement(pool: StatefulSet, sighting: Sighting) -> Verdict:
    """Whether the new pod is Ready on the wanted revision; else one reason says how far it is, or why it is stuck."""
    if not sighting.owned.passed:
        return sighting.owned
    reason = _reason(pool, sighting)
    return Verdict((replace(reason, about=sighting.member),) if reason else ())


def _reason(pool: StatefulSet, sighting: Sighting) -> Reason | None:
    pod, stage = sighting.pod, sighting.stage
    if pod is None:
        return _recreating(pool, sighting)
    if stage is ReplacementStage.STOPPING:
        return _stopping(sighting, pod)
    if pod.revision != pool.update_revision:
        return _wrong_revision(pool, pod)
    if stage is ReplacementStage.READY:
        return None
    failure = _failure(sighting, pod)
    if failure is not None:
        return failure
    if stage is ReplacementStage.SCHEDULING:
        return _scheduling(pod)
    return _preparing(sighting, pod) if stage is ReplacementStage.PREPARING else _starting(sighting, pod)


def _recreating(pool: StatefulSet, sighting: Sighting) -> Reason:
    if sighting.blockers:
        return waiting(
            "pod_blocked",
            f"StatefulSet {pool.name} (OrderedReady) does not make pod {sighting.member} before "
            f"{', '.join(sighting.blockers)} is Ready.",
            f"Fix {', '.join(sighting.blockers)}. If its template was bad and is corrected, run the playbook again for "
            "the whole pool: it then replaces that pod first.",
        )
    failed = _latest(sighting.events, "FailedCreate")
    because = f": {failed.message.rstrip('.')}" if failed else ""
    return waiting(
        "pod_not_recreated",
        f"Pod {sighting.member} is gone and StatefulSet {pool.name} has not made it again{because}.",
        "Check quotas and admission policies of the namespace, and that kube-controller-manager runs.",
    )


def _stopping(sighting: Sighting, pod: Pod) -> Reason:
    # A user without the right to read Kubernetes nodes learns it from the event that the node controller makes.
    lost = _latest(sighting.events, "NodeNotReady") if sighting.kubernetes_node_ready is None else None
    if sighting.kubernetes_node_ready is False or lost:
        since = f"was lost at {lost.last_seen}" if lost else "is not Ready"
        return waiting(
            "kubernetes_node_down",
            f"Pod {pod.name} cannot stop, because its Kubernetes node {pod.kubernetes_node} {since}.",
            f"Bring {pod.kubernetes_node} back; only if it is certainly off, "
            f"kubectl delete pod {pod.name} -n {pod.namespace} --grace-period=0 --force.",
        )
    if sighting.in_stage <= pod.grace_seconds + SLOW:
        return waiting("pod_stopping", f"Pod {pod.name} is stopping.")
    several = len(pod.finalizers) > 1
    named = f"its finalizer{'s' if several else ''} {', '.join(pod.finalizers)}" if pod.finalizers else ""
    if named and (not pod.grace_seconds or not any(each.state == "running" for each in pod.containers)):
        return _held(pod, f"{named} keep{'' if several else 's'}")
    return waiting(
        "pod_does_not_stop",
        f"Pod {pod.name} is still there after its grace period of {pod.grace_seconds} s "
        f"on Kubernetes node {pod.kubernetes_node or 'none'}.",
        f"Check the kubelet of {pod.kubernetes_node or 'its Kubernetes node'}{f', then {named}' if named else ''}.",
    )


def _held(pod: Pod, named_keep: str) -> Reason:
    """The kubelet lets go of a pod by a deletion with a grace period of 0 (server source, status_manager.go), after
    which the API server keeps the object for its finalizers alone (registry/generic/registry/store.go)."""
    return waiting(
        "pod_held_by_finalizer",
        f"Pod {pod.name} has stopped, and {named_keep} it from being removed.",
        "Find out what set the finalizers, and why it does not remove them. Only if it never will, remove them: "
        f'kubectl patch pod {pod.name} -n {pod.namespace} --type=merge -p \'{{"metadata":{{"finalizers":null}}}}\'.',
    )


def _wrong_revision(pool: StatefulSet, pod: Pod) -> Reason:
    return refused(
        "pod_of_another_revision",
        f"Pod {pod.name} is of revision {pod.revision}, but StatefulSet {pool.name} wants {pool.update_revision}.",
        "Something changed the template, the strategy or the partition during the run; find out what, and run again.",
    )


def _failure(sighting: Sighting, pod: Pod) -> Reason | None:
    if pod.phase == "Failed":
        said = f" ({pod.reason}: {pod.message.rstrip('.')})" if pod.reason else ""
        return waiting("pod_failed", f"Pod {pod.name} has failed{said} and will be made again.")
    for container in pod.containers:
        reason = _container_failure(pod, container, sighting.failing_pull)
        if reason is not None:
            return reason
    return None


def _container_failure(pod: Pod, container: Container, failing_pull: float) -> Reason | None:
    where = f"container {container.name} of pod {pod.name}"
    if container.state == "waiting" and container.reason in CONFIGURATION_FAILURES:
        return refused(
            "container_configuration",
            f"The configuration of {where} cannot be used: {container.message or container.reason}.",
            "Create or correct what it names (ConfigMap, Secret, security context), then delete the pod or run again.",
        )
    if container.state == "waiting" and container.reason in PULL_FAILURES | PULL_HOPELESS:
        return _pull_failure(pod, container, failing_pull)
    crashed = container.reason == "CrashLoopBackOff" or (container.state == "terminated" and not container.init)
    return _crash(where, container) if crashed else None


def _pull_failure(pod: Pod, container: Container, seconds: float) -> Reason:
    # The kubelet's two reasons (ErrImagePull, ImagePullBackOff) alternate, so the message names neither: it would be
    # announced again at each change.
    image = pod.images.get(container.name) or container.image
    cause = pull_cause(container.message)
    message = f"Image {image} of pod {pod.name} cannot be pulled on Kubernetes node {pod.kubernetes_node}{cause}."
    remedy = "Correct the image or the pull secret of the pool; the run then replaces this pod first."
    if container.reason in PULL_HOPELESS or seconds > PULL_PATIENCE:
        return refused("image_not_pulled", message, remedy)
    return waiting("image_not_pulled", message, remedy)


def pull_cause(message: str) -> str:
    """The cause in a kubelet's message of a failed pull, without the wrapping around it; empty if it names none."""
    text = " ".join(message.split()).rstrip(".").rpartition("desc = ")[2]
    back_off, _colon, cause = text.partition(": ")
    if back_off.startswith("Back-off pulling image"):
        text = cause
    text = _WRAPPING.sub("", text.removeprefix("ErrImagePull: "))
    return f": {text}" if text else ""


def _crash(where: str, container: Container) -> Reason:
    ended = container.state == "terminated"
    why = container.reason if ended else container.last_reason
    code = container.exit_code if ended else container.last_exit_code
    if why == "OOMKilled":
        how, remedy = "was killed because it used more memory than its limit (OOMKilled)", "Raise its memory limit."
    else:
        how = f"ended with exit code {code}" + (f" ({why})" if why not in {"", "Error"} else "")
        remedy = "Read its log, correct the cause, then delete the pod or run again."
    # The kubelet counts restarts, so a container that is waiting for its first restart still has a count of 0.
    if container.restart_count >= CRASHES and container.reason == "CrashLoopBackOff":
        return refused("container_crashes", f"The {where} {how}, and was restarted {CRASHES} times or more.", remedy)
    return waiting("container_crashed", f"The {where} {how} and is restarted.", remedy)


def _scheduling(pod: Pod) -> Reason:
    if not pod.scheduling_message:
        return waiting("pod_scheduling", f"Pod {pod.name} waits for a Kubernetes node.")
    return waiting(
        "pod_unschedulable",
        f"No Kubernetes node can take pod {pod.name}: {pod.scheduling_message.rstrip('.')}.",
        "Free or add what it names (a Kubernetes node, cpu, memory, a volume in its zone).",
    )


def _preparing(sighting: Sighting, pod: Pod) -> Reason:
    trouble = _latest(sighting.events, "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "NetworkNotReady")
    if trouble:
        return waiting(
            "pod_not_prepared",
            f"Pod {pod.name} is not prepared on Kubernetes node {pod.kubernetes_node}: {trouble.message.rstrip('.')}.",
            "Fix what it names: the volume, the secret or the network.",
        )
    return waiting(
        "pod_preparing", f"Pod {pod.name} is being prepared (image, volumes) on Kubernetes node {pod.kubernetes_node}."
    )


def _starting(sighting: Sighting, pod: Pod) -> Reason:
    if sighting.kubernetes_node_ready is False:
        return waiting(
            "kubernetes_node_down",
            f"Pod {pod.name} is not Ready, because its Kubernetes node {pod.kubernetes_node} is not Ready.",
            f"Bring {pod.kubernetes_node} back.",
        )
    unhealthy = _latest(sighting.events, "Unhealthy")
    if unhealthy and sighting.in_stage > SLOW:
        said = " ".join(unhealthy.message.split()).rstrip(".")
        return waiting(
            "pod_not_ready", f"Pod {pod.name} runs and is not Ready: {said}.", "Read its log and check its probe."
        )
    return waiting("pod_starting", f"Pod {pod.name} has started and is not Ready yet.", "Read its log.")


def _latest(events: tuple[KubernetesEvent, ...], *reasons: str) -> KubernetesEvent | None:
    return next((event for event in reversed(events) if event.reason in reasons), None)
