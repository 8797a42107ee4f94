"""The pod template of a pool and its pods: the image that the pool is to have, and the pods that are of an older
template. Pure.

A StatefulSet makes a revision of every change of its pod template, and marks each pod with the one that it was made of
(the label `controller-revision-hash`). So a pod of another revision than `status.updateRevision` is outdated, whatever
was changed: an image that was built anew, memory, an option of the JVM, or the annotation of `kubectl rollout restart`.

An image that was built anew under the same tag changes no revision. The time of a request could show it, but the
annotation of `kubectl rollout restart` says the same in the place where every tool looks for it.

The plan waits until the controller has seen each template (`observedGeneration`), since before that it is not known
which pods are old.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ...kubernetes.state import Pod, StatefulSet
from ...pools.given_images import image_for
from ...pools.images import derived, name_of, names_version, tag_of
from ...pools.judge import pod_is_current
from ..observe.look import MembersAndPods
from ..observe.state import ClusterState
from ..observe.version import Version
from .pools import Pool


def image_of_target(
    stateful_set: StatefulSet, container: str, given: str | None, seen: MembersAndPods, target: Version
) -> str:
    """The image of a pool on the target version: the given one, or that of its template, or that with another tag.

    The image of the template stays if no member of the pool runs another version than the target, and it is known to
    hold the target: its tag says so, or a pod with it is a member on the target. Someone has built it anew then, and
    the run does not put another one back.

    Raises:
        Refusal: the image is pinned by digest, so that no tag names its version, or its tag has parts of which it is
            not clear whether the new one has them.
    """
    image = stateful_set.images[container]
    if given:
        return given
    known = names_version(image, str(target)) or _is_run(image, seen.everyone, seen.state, target)
    if known and not is_upgraded(stateful_set, seen.state, target):
        return image
    pods = ((pod, seen.state.named(pod.name)) for pod in seen.pods[stateful_set.name])
    running = [(pod.images.get(container, ""), str(member.version)) for pod, member in pods if member]
    return derived(image, running, str(target))


@as_verdict
def judge_kinds(pools: Iterable[Pool], given: Mapping[str, str]) -> Iterator[Reason]:
    """Remarks on pools whose new image is of another kind than that of their template, by the example of a member."""
    for pool in pools:
        own, new = tag_of(pool.image), tag_of(pool.target_image)
        if own and new and own.variant != new.variant and not image_for(pool.name, given):
            yield remark(
                "image_of_another_kind",
                f"The template of pool {pool.name} has image {pool.image}, and the plan sets {pool.target_image}: the"
                " members that run this version already have an image of that kind.",
                "If another one is wanted, give it with image (upgrade_image).",
            )


def is_upgraded(stateful_set: StatefulSet, state: ClusterState, target: Version) -> bool:
    """Whether a member of the pool runs another version than the target, so that the plan upgrades the pool."""
    there = [state.named(name) for name in stateful_set.member_names()]
    return any(member is not None and member.version != target for member in there)


def _is_run(image: str, pods: Iterable[Pod], state: ClusterState, target: Version) -> bool:
    found = (state.named(pod.name) for pod in pods if image in pod.images.values())
    return any(member is not None and member.version == target for member in found)


def outdated_pods(
    stateful_set: StatefulSet,
    seen: MembersAndPods,
    container: str,
    target_image: str,
    given: str | None,
    target: Version,
) -> frozenset[str]:
    """The names of the pods that are not as their pool wants them, although none of its members is below the target.

    As long as one is, only those below go: a member that an earlier run has finished is not restarted in the middle of
    an upgrade because someone has changed the template, or corrected the image, for the others.

    If the template does not have the image yet, its revision says nothing. Then it counts whether a pod has the image,
    if the user has given one. Once the template has it, only the revision counts: a pod whose image another has changed
    (an admission webhook) would be replaced at every run.
    """
    pods = seen.pods[stateful_set.name]
    if is_upgraded(stateful_set, seen.state, target):
        return frozenset()
    if stateful_set.images[container] == target_image:
        return frozenset(pod.name for pod in pods if not pod_is_current(stateful_set, pod))
    if given:
        return frozenset(pod.name for pod in pods if pod.images.get(container) != target_image)
    return frozenset()


def fingerprint_of(stateful_set: StatefulSet, container: str) -> str:
    """A digest of the pod template without the image of the server, which a run itself changes.

    Consent to a plan covers it: the plan is carried out on pods of this template and of no other.

    Without that, a consent that is kept in a schedule would roll every later change of the template.
    """
    server = name_of(stateful_set.images[container])
    spec = dict(stateful_set.template)
    for kind in ("containers", "initContainers"):
        spec[kind] = [_without_image(each, server) for each in spec.get(kind) or ()]
    content = {"marks": stateful_set.template_marks, "spec": spec}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _without_image(container: Mapping[str, Any], server: str) -> dict[str, Any]:
    return {key: value for key, value in container.items() if key != "image" or name_of(str(value)) != server}


def _is_older(image: str, target: Version) -> bool:
    """Whether the tag of an image names an older version than the target; False if it names none."""
    tag = tag_of(image)
    try:
        return tag is not None and Version.parse(tag.number, elastic=bool(target.elasticsearch)) < target
    except ValueError:
        return False


@as_verdict
def judge_templates(seen: MembersAndPods, pools: Iterable[Pool], target: Version) -> Iterator[Reason]:
    """Whether no template has an older version than all of its members, and remarks on changed ones whose version is
    not known, and which are not rolled.

    A member starts on no data of a newer version than its own (server source, `NodeMetadata.upgradeToCurrentVersion`).
    """
    known = {pool.name: pool for pool in pools}
    for one in seen.sets:
        pool = known.get(one.name)
        if pool is None or pool.image == pool.target_image or any(m.behind(target) for m in pool.members):
            continue
        if _is_older(pool.image, target):
            then = "." if pool.ephemeral else f", which does not start on data of {target}."
            yield refused(
                "template_behind",
                f"All members of pool {one.name} run {target} already, and its template has the image {pool.image}. A"
                f" pod that is made again runs that image{then}",
                f"Set the image {pool.target_image} in its manifest (with strategy OnDelete), and in whatever applies"
                " it; then run again.",
            )
            continue
        old = [pod.name for pod in seen.pods[one.name] if not pod_is_current(one, pod)]
        if old:
            yield remark(
                "template_image_unknown",
                f"The template of pool {one.name} has changed, and its image {pool.image} is not known to hold"
                f" {target}. So the pods of the older template stay as they are: {enumerate_few(old)}.",
                "Give that image with image (upgrade_image), or the version that it holds as target_version.",
            )
