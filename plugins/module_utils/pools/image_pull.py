"""The work of the module `image_pull`: prove that an image can be pulled on the Kubernetes nodes of a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.arguments import CONNECTIONS, NAMESPACE, WAIT
from ..common.errors import NotUnderstood, Refusal, refusal
from ..common.task import Contract, Outcome, Task
from ..common.verdict import State, Verdict, remark
from ..common.waiting import Patience
from ..common.words import enumerate_few
from ..kubernetes.answers import NotAdmitted, name_in
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.pods import list_pods, pod, pod_path, pods_of
from ..kubernetes.state import Pod, StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set
from .follow import FailingPull
from .pool_changes import container_of
from .pull_pod import (
    NOTHING,
    POOL_LABEL,
    TARGET_LABEL,
    Model,
    PullQuestion,
    judge_pulls,
    labels_for,
    model_of,
    not_admitted,
    pull_pod,
    with_other_amounts,
)
from .quota_room import FREED, FreedSoon

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "wait_sleep": {"type": "float", "default": 0.25},
        "wait_timeout": {"type": "int", "default": 300},
        "pool": {"type": "str", "required": True},
        "image": {"type": "str", "required": True},
        "container": {"type": "str"},
        "kubernetes_nodes": {"type": "str", "default": "every", "choices": ["every", "one"]},
        "left_out": {"type": "list", "elements": "str", "default": []},
    }
)


REMOVAL = 180.0
"""Seconds for which the removal of the pods is tried again if the API server does not answer."""
MARGIN = 60
"""Seconds after `wait_timeout` at which a pod of a killed run ends by itself."""


@dataclass(frozen=True)
class _Target:
    """One throw-away pod to make. An empty Kubernetes node stands for any one that takes the pool's pods."""

    kubernetes_node: str
    labels: dict[str, str]
    manifest: dict[str, Any]


def run(task: Task) -> Outcome:
    """Pull the image in throw-away pods, and remove them whatever the result is."""
    params = task.params
    client = connect(params["kubernetes"])
    task.may_look()
    pool = get_stateful_set(client, params["namespace"], params["pool"])
    return prove_for_pool(task, client, pool)


def prove_for_pool(
    task: Task, client: KubernetesClient, pool: StatefulSet, question: PullQuestion | None = None
) -> Outcome:
    """Pull the image of the task on the Kubernetes nodes of a pool, and have the question answered on each."""
    params = task.params
    model = model_of(pool, container_of(pool, params["image"], params["container"]), params["image"])
    found = _kubernetes_nodes(client, pool) if params["kubernetes_nodes"] == "every" else []
    nodes = [each for each in found if each not in params["left_out"]]
    return prove(task, client, model, params["image"], nodes, question)


def prove(
    task: Task,
    client: KubernetesClient,
    model: Model,
    image: str,
    nodes: Sequence[str],
    question: PullQuestion | None = None,
) -> Outcome:
    """Pull the image on these Kubernetes nodes, or, if none is given, on any one that takes the pods of the model.

    The task has the options of waiting: it pulls for `wait_timeout` seconds.
    """
    deadline = int(task.params["wait_timeout"]) + MARGIN
    command = question.command if question else NOTHING
    targets = [
        _Target(node, labels_for(model, image, node, command), pull_pod(model, image, node, deadline, command))
        for node in nodes or [""]
    ]
    before = {"kubernetes_nodes": list(nodes)}
    if task.check_mode:
        for target in targets:
            _post(client, model, image, target.manifest, dry_run=True)
        unproven = f"It is not proven that image {image} can be pulled: check mode makes no pod."
        return Outcome(Verdict((remark("image_not_proven", unproven),)), before=before, after=before)
    verdict = Verdict()
    try:
        # A request that was turned away is made again. A pod that it made all the same is found by its labels.
        made = _admitted(task, lambda: task.ask(lambda: _present(task, client, model, image, targets)))
        verdict = _wait(task, client, model, made, lambda seen: judge_pulls(seen, image, model.owner, question))
    finally:
        if verdict.state is not State.WAITING:
            _remove(task, client, model)
    return Outcome(
        verdict,
        changed=verdict.state is State.WAITING and bool(task.journal.as_result()),
        before=before,
        after=before,
        next="Run again: the pods continue to pull." if verdict.state is State.WAITING else "",
    )


def _kubernetes_nodes(client: KubernetesClient, pool: StatefulSet) -> list[str]:
    """The Kubernetes nodes that run members of the pool."""
    return sorted({each.kubernetes_node for each in pods_of(client, pool).values() if each.kubernetes_node})


def _admitted(task: Task, make: Callable[[], dict[str, FailingPull]]) -> dict[str, FailingPull]:
    """The pods, made again while a quota still counts those that have gone, such as those of the plan just before."""
    freed = FreedSoon(task.clock)
    try:
        return make()
    except Refusal as error:
        if freed.judge(error.verdict) == error.verdict:
            raise

    def attempted() -> tuple[dict[str, FailingPull], Verdict]:
        try:
            return make(), Verdict()
        except Refusal as error:
            verdict = freed.judge(error.verdict)
            if verdict.state is not State.WAITING:
                raise
            return {}, verdict

    return task.wait_apart(attempted, lambda found: found[1], Patience(2 * FREED))[0][0]


def _present(
    task: Task, client: KubernetesClient, model: Model, image: str, targets: list[_Target]
) -> dict[str, FailingPull]:
    """Make the missing pods, and take over those of an earlier pass. The result holds their UIDs."""
    there = {
        each.labels.get(TARGET_LABEL): each
        for each in _found(client, model)
        if not each.terminating and each.phase != "Failed"
    }
    made: dict[str, FailingPull] = {}
    for target in targets:
        present = there.get(target.labels[TARGET_LABEL])
        if present is None:
            present = _create(task, client, model, image, target)
        made[present.uid] = FailingPull()
    return made


def _post(
    client: KubernetesClient, model: Model, image: str, manifest: Mapping[str, Any], dry_run: bool = False
) -> dict[str, Any]:
    """Make the pod, with other amounts of cpu and memory if the namespace does not admit it as it is."""
    path = pod_path(model.namespace)
    try:
        return client.post(path, manifest, dry_run=dry_run)
    except NotAdmitted as error:
        said = error.said
    for other in with_other_amounts(manifest, model, said):
        try:
            return client.post(path, other, dry_run=dry_run)
        except NotAdmitted:
            continue
    raise Refusal(not_admitted(image, said))


def _create(task: Task, client: KubernetesClient, model: Model, image: str, target: _Target) -> Pod:
    task.still_wanted()
    answer = _post(client, model, image, target.manifest)
    # The act is noted before the answer is read: the pod was made, whatever the answer says of it.
    name = name_in(answer) or str(target.manifest["metadata"]["generateName"])
    task.journal.did("create_pod", name, kubernetes_node=target.kubernetes_node)
    try:
        return pod(answer)
    except NotUnderstood as error:
        # To ask again would make another pod.
        raise Refusal(*error.verdict.reasons) from error


def _wait(
    task: Task,
    client: KubernetesClient,
    model: Model,
    made: dict[str, FailingPull],
    judge: Callable[[list[tuple[Pod, float]]], Verdict],
) -> Verdict:
    def look() -> list[tuple[Pod, float]]:
        now = task.clock.now()
        found = [each for each in _found(client, model) if each.uid in made]
        if len(found) < len(made):
            raise refusal(
                "image_not_proven",
                f"A pod of {model.name} that was to pull an image was removed by something else before that was done.",
                "Run again; if it happens again, find out what removes pods from the namespace.",
            )
        return [(each, made[each.uid].seconds(each, now)) for each in found]

    return task.wait(look, judge)[1]


def _found(client: KubernetesClient, model: Model) -> tuple[Pod, ...]:
    return list_pods(client, model.namespace, f"{POOL_LABEL}={model.key}")


def remove_pods(task: Task, client: KubernetesClient, find: Callable[[], Iterable[Pod]]) -> dict[str, Refusal]:
    """Remove throw-away pods, each by its UID. The result has the error of each that stays after the last try.

    Raises:
        Refusal: it is not known which are left.
    """
    left = dict[str, Refusal]()

    def removed() -> None:
        left.clear()
        for each in find():
            try:
                if task.check_mode or client.delete(pod_path(each.namespace, each.name), each.uid):
                    task.journal.did("delete_pod", each.name)
            except Refusal as error:
                left[each.name] = error
        if left:
            raise next(iter(left.values()))

    # A request that was lost is made again. It names the UID, so it never meets another pod.
    try:
        task.wait_apart(removed, lambda _none: Verdict(), Patience(REMOVAL))
    except Refusal:
        if not left:
            raise
    return left


def without_pods(task: Task, client: KubernetesClient, find: Callable[[], Iterable[Pod]]) -> Outcome:
    """The outcome of a task that removes throw-away pods which a killed run has left.

    Raises:
        Refusal: one stays, or it is not known which are left.
    """
    for error in remove_pods(task, client, find).values():
        raise error
    return Outcome(Verdict(), changed=bool(task.journal.as_result()), next="nothing")


def _remove(task: Task, client: KubernetesClient, model: Model) -> None:
    """Remove every throw-away pod of this model, including those that a killed run left behind."""
    cause: Refusal | None
    try:
        left = remove_pods(task, client, lambda: _found(client, model))
        cause, named = next(iter(left.values()), None), f" ({enumerate_few(left)})"
    except Refusal as error:
        cause, named = error, ""
    if cause is not None:
        pods = f"Pods with label {POOL_LABEL}={model.key}"
        task.warn(f"{pods} could not be removed{named}: {cause} Delete them.")
