"""A throw-away pod that needs an image, and may list what is in it: its manifest, and the judgement of its state.

Pure: from observations to manifests and verdicts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.verdict import Reason, Verdict, refused, waiting
from ..kubernetes.state import Container, Pod, StatefulSet
from .pool_changes import template_with
from .replacement import CONFIGURATION_FAILURES, PULL_FAILURES, PULL_HOPELESS, pull_cause

POOL_LABEL = "upgrade.stateful/image-pull"
TARGET_LABEL = "upgrade.stateful/image-pull-target"
PATIENCE = 20.0
"""Seconds for which a pull may fail for a reason that could pass (an overloaded registry, a name not resolved)."""

MESSAGE = "/dev/termination-log"
"""The file whose content becomes the message of an ended container: the first 4096 bytes (core/v1 Container,
`terminationMessagePath`). It is read with the pod, so that no right to read logs is needed."""

_CONTAINER = "image-pull"
_FURTHER = f"{_CONTAINER}-"
_COPIED = (
    "serviceAccountName",
    "imagePullSecrets",
    "nodeSelector",
    "tolerations",
    "securityContext",
    "runtimeClassName",
    "schedulerName",
)
_HOPELESS_CAUSE = re.compile(r"not found|manifest unknown|does not exist|no match for platform", re.IGNORECASE)
_REQUESTS: Mapping[str, str] = {"cpu": "1m", "memory": "16Mi"}
_LIMITS: Mapping[str, str] = {"cpu": "100m", "memory": "64Mi"}
_OF_LIMIT = r"(?P<resource>\S+) %s per (?:Container|Pod) is (?P<amount>[^\s,\]]*[^\s,.\]])"
_LEAST = re.compile("minimum " + _OF_LIMIT % "usage")
_RATIO = re.compile(_OF_LIMIT % "max limit to request ratio")
_HERE = "<here>"
"""The mark in a message that is replaced by the names of the Kubernetes nodes."""
_BEGINNING = frozenset({"", "ContainerCreating", "PodInitializing"})


@dataclass(frozen=True)
class Model:
    """The pods that a throw-away pod is like, since they are to run the image."""

    namespace: str
    name: str
    key: str
    """The value of the label that finds the throw-away pods of all passes."""
    spec: Mapping[str, Any]
    """The spec of these pods: the account, secrets, placement and security context are taken from it."""
    container: str
    """The container whose pull policy and security context are taken."""
    owner: str = "the pool"
    """The owner of the pull secrets, in sentences."""
    also: tuple[Mapping[str, Any], ...] = ()
    """Further containers of these pods, whose images have to be there, too, by their own pull policies."""


@dataclass(frozen=True)
class PullQuestion:
    """A question that the throw-away pod answers about its image, in addition to pulling it."""

    command: tuple[str, ...]
    """It writes the answer to the file `MESSAGE`."""
    judge: Callable[[str | None], Verdict]
    """The verdict on the answer, which is None if the command could not be run to its end."""


NOTHING = ("true",)
"""The command of a pod that is asked nothing."""


def model_of(pool: StatefulSet, container: str, image: str) -> Model:
    """The pods of a pool as a model, with all the images that they have once the container has this one.

    A pod starts only if the images of its init containers and sidecars are there, too, and these may have been removed.
    """
    template = template_with(pool, container, image)
    every = [*(template.get("initContainers") or ()), *(template.get("containers") or ())]
    also: dict[tuple[object, ...], Mapping[str, Any]] = {}
    for each in every:
        if each.get("image") != image:
            also.setdefault((each.get("image"), each.get("imagePullPolicy"), str(each.get("securityContext"))), each)
    return Model(pool.namespace, pool.name, pool.uid, template, container, also=tuple(also.values()))


def container_in(model: Model) -> Mapping[str, Any]:
    """The container of the model that is to run the image; empty if there is none of its name."""
    containers = model.spec.get("containers") or []
    return next((each for each in containers if each["name"] == model.container), {})


def labels_for(model: Model, image: str, kubernetes_node: str, command: tuple[str, ...] = NOTHING) -> dict[str, str]:
    """Labels that find the pod of an earlier pass, and that no selector of the pool or of a Service matches."""
    images = (image, *(str(each.get("image")) for each in model.also))
    target = hashlib.sha256(" ".join((*images, kubernetes_node, *command)).encode()).hexdigest()[:16]
    return {"app.kubernetes.io/managed-by": "stateful.upgrade", POOL_LABEL: model.key, TARGET_LABEL: target}


def pull_pod(
    model: Model, image: str, kubernetes_node: str, deadline: int, command: tuple[str, ...] = NOTHING
) -> dict[str, Any]:
    """The manifest: the account, secrets, placement and security context of the model's pods, and no volume.

    If a Kubernetes node is given, the scheduler may place the pod only there, as it does for a DaemonSet.
    """
    template = model.spec
    spec: dict[str, Any] = {
        **{key: template[key] for key in _COPIED if key in template},
        "affinity": _only_on(kubernetes_node) if kubernetes_node else _placement(template),
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "activeDeadlineSeconds": deadline,
        "containers": [
            _container(container_in(model), _CONTAINER, image, command),
            *(
                _container(each, f"{_FURTHER}{number}", each["image"], NOTHING)
                for number, each in enumerate(model.also, 1)
            ),
        ],
    }
    # A name is cut so that the five characters the server adds still fit into 63.
    metadata = {
        "generateName": f"{model.name[:44]}-image-pull-",
        "namespace": model.namespace,
        "labels": labels_for(model, image, kubernetes_node, command),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(own: Mapping[str, Any], name: str, image: str, command: tuple[str, ...]) -> dict[str, Any]:
    """A container that needs an image as `own` does, and only runs the command."""
    return {
        **{key: own[key] for key in ("imagePullPolicy", "securityContext") if key in own},
        "name": name,
        "image": image,
        "command": list(command),
        "resources": {"requests": _REQUESTS, "limits": _LIMITS},
    }


def with_other_amounts(manifest: Mapping[str, Any], model: Model, said: str) -> Iterator[dict[str, Any]]:
    """The same pod with more cpu and memory, for a namespace that does not admit it as it is.

    First it keeps to the limits that the server names in its refusal (the sentences of the admission plugin
    LimitRanger); then it asks for as much as the members, whose amounts the namespace admits.
    """
    least = {found["resource"]: found["amount"] for found in _LEAST.finditer(said)}
    ratios = {found["resource"] for found in _RATIO.finditer(said)}
    if least or ratios:
        requests = {**_REQUESTS, **{name: _LIMITS[name] for name in ratios if name in _LIMITS}, **least}
        yield _with_amounts(manifest, [{"requests": requests, "limits": {**_LIMITS, **least}}] * (1 + len(model.also)))
    yield _with_amounts(manifest, [each.get("resources") or {} for each in (container_in(model), *model.also)])


def _with_amounts(manifest: Mapping[str, Any], amounts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    spec = manifest["spec"]
    containers = [{**each, "resources": own} for each, own in zip(spec["containers"], amounts, strict=True)]
    return {**manifest, "spec": {**spec, "containers": containers}}


def not_admitted(image: str, said: str) -> Reason:
    """The refusal if the namespace admits no throw-away pod. It says nothing about the members, which are judged
    separately."""
    return refused(
        "image_not_proven",
        f"It cannot be proven that image {image} can be pulled, because the namespace does not admit the pod that would"
        f" pull it: {' '.join(said.split()).rstrip('.')}.",
        "Let the namespace admit one more small pod while the plan is made (for a quota, raise it by one pod). To"
        " continue without the proof, set skip_checks: [images]; with Longhorn, accept_unverified: [unlisted_images].",
    )


def _only_on(kubernetes_node: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": [kubernetes_node]}
    terms = [{"matchFields": [field]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _placement(template: Mapping[str, Any]) -> dict[str, Any]:
    affinity = template.get("affinity") or {}
    return {key: affinity[key] for key in ("nodeAffinity",) if key in affinity}


def judge_pulls(
    seen: Iterable[tuple[Pod, float]], image: str, owner: str, question: PullQuestion | None = None
) -> Verdict:
    """Whether the image is on every Kubernetes node. Each pod comes with the seconds for which its pull has failed.

    Kubernetes nodes with the same reason share one sentence. `owner` is the owner of the pull secrets. If there is a
    question, the verdict on each answer is part of the result.
    """
    places: dict[Reason, list[str]] = {}
    for pod, failing in seen:
        for each in _judge_all(pod, image, owner, failing, question):
            places.setdefault(each, []).append(pod.kubernetes_node or "none")
    return Verdict(tuple(replace(reason, message=_placed(reason.message, names)) for reason, names in places.items()))


def _judge_all(pod: Pod, image: str, owner: str, failing: float, question: PullQuestion | None) -> Iterator[Reason]:
    """One pod: its image, then the answer of its container, then the images of its further containers."""
    reason = _judge(pod, _CONTAINER, image, owner, failing)
    if reason is not None:
        yield reason
    elif question:
        yield from _answered(pod, image, question)
    if not pod.kubernetes_node:
        return
    for name, further in pod.images.items():
        other = _judge(pod, name, further, owner, failing) if name.startswith(_FURTHER) else None
        if other is not None:
            yield other


def _answered(pod: Pod, image: str, question: PullQuestion) -> Iterable[Reason]:
    for container in (each for each in pod.containers if each.name == _CONTAINER):
        if container.state == "running":
            yield waiting("image_looked_into", f"The content of image {image} is being listed on {_HERE}.")
        else:
            ended = container.state == "terminated" and container.exit_code == 0
            yield from question.judge(container.message if ended else None).reasons


def _placed(message: str, kubernetes_nodes: list[str]) -> str:
    names = sorted(kubernetes_nodes)
    return message.replace(_HERE, f"Kubernetes node{'s' if len(names) > 1 else ''} {', '.join(names)}")


def _judge(pod: Pod, name: str, image: str, owner: str, failing: float) -> Reason | None:
    container = next((each for each in pod.containers if each.name == name), None)
    state = container.state if container else ""
    if state in {"running", "terminated"}:
        return None
    if container is not None and state == "waiting" and container.reason not in _BEGINNING:
        return _judge_waiting(container, image, owner, failing)
    if pod.phase == "Failed":
        return refused(
            "image_not_proven",
            f"The pod that was to pull image {image} on {_HERE} failed "
            f"({pod.reason or 'no reason given'}): {pod.message.rstrip('.') or 'no message'}.",
            "Fix the cause it names; for an image that takes longer to pull, raise wait_timeout.",
        )
    if not pod.kubernetes_node:
        why = pod.scheduling_message.rstrip(".")
        message = f"No Kubernetes node takes the pod that is to pull image {image}" + (f": {why}." if why else " yet.")
        return waiting("image_pull_unschedulable", message, "Free or uncordon the Kubernetes node it names.")
    return waiting("image_pulling", f"Image {image} is being pulled on {_HERE}.")


def _judge_waiting(container: Container, image: str, owner: str, failing: float) -> Reason | None:
    cause = pull_cause(container.message)
    if container.reason in CONFIGURATION_FAILURES:
        return refused(
            "image_not_usable",
            f"Image {image} cannot be started with the security context of {owner}{cause}.",
            f"Correct the security context in the pod template of {owner}, or use an image made for it.",
        )
    if container.reason not in PULL_FAILURES | PULL_HOPELESS:
        # The container could not be created or started (an image without `true`, say), so the image was there.
        return None
    message = f"Image {image} cannot be pulled on {_HERE}{cause}."
    remedy = f"Correct the image name, make it available in the registry, or correct the pull secrets of {owner}."
    hopeless = container.reason in PULL_HOPELESS or _HOPELESS_CAUSE.search(container.message) or failing > PATIENCE
    return (refused if hopeless else waiting)("image_not_pulled", message, remedy)
