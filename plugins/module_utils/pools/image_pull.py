# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `image_pull`: prove that an image can be pulled on the Kubernetes nodes of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..common.arguments import CONNECTIONS, NAMESPACE, WAIT
from ..common.errors import NotUnderstood, Refusal, refusal
from ..common.task import Contract, Outcome, Task
from ..common.verdict import State, Verdict, remark
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.pods import list_pods, name_in, pod, pod_path, pods_of
from ..kubernetes.state import Pod, StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set
from .follow import FailingPull
from .pool_changes import container_of
from .pull_pod import POOL_LABEL, TARGET_LABEL, judge_pulls, labels_for, pull_pod

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
    },
)


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
    targets = _targets(task, client, pool)
    if task.check_mode:
        for target in targets:
            client.post(pod_path(pool.namespace), target.manifest, dry_run=True)
        unproven = f"It is not proven that image {params['image']} can be pulled: check mode makes no pod."
        verdict = Verdict((remark("image_not_proven", unproven),))
        return Outcome(verdict, before=_kubernetes_nodes(targets), after=_kubernetes_nodes(targets))
    verdict = Verdict()
    try:
        # A request that was turned away is made again. A pod that it made all the same is found by its labels.
        made, _passed = task.wait(lambda: _present(task, client, pool, targets), lambda _made: Verdict())
        verdict = _wait(task, client, pool, made)
    finally:
        if verdict.state is not State.WAITING:
            _remove(task, client, pool)
    return Outcome(
        verdict,
        changed=verdict.state is State.WAITING and bool(task.journal.as_result()),
        before=_kubernetes_nodes(targets),
        after=_kubernetes_nodes(targets),
        next="Run again: the pods go on pulling." if verdict.state is State.WAITING else "",
    )


def _targets(task: Task, client: KubernetesClient, pool: StatefulSet) -> list[_Target]:
    image, deadline = task.params["image"], int(task.params["wait_timeout"]) + MARGIN
    container = container_of(pool, image, task.params["container"])
    nodes = [""]
    if task.params["kubernetes_nodes"] == "every":
        pods = pods_of(client, pool).values()
        nodes = sorted({each.kubernetes_node for each in pods if each.kubernetes_node}) or [""]
    return [
        _Target(node, labels_for(pool, image, node), pull_pod(pool, container, image, node, deadline)) for node in nodes
    ]


def _present(task: Task, client: KubernetesClient, pool: StatefulSet, targets: list[_Target]) -> dict[str, FailingPull]:
    """Make the missing pods, and take over those of an earlier pass. The result holds their UIDs."""
    there = {each.labels.get(TARGET_LABEL): each for each in _found(client, pool) if _usable(each)}
    made: dict[str, FailingPull] = {}
    for target in targets:
        present = there.get(target.labels[TARGET_LABEL])
        if present is None:
            present = _create(task, client, pool, target)
        made[present.uid] = FailingPull()
    return made


def _create(task: Task, client: KubernetesClient, pool: StatefulSet, target: _Target) -> Pod:
    task.still_wanted()
    answer = client.post(pod_path(pool.namespace), target.manifest)
    # The act is noted before the answer is read: the pod was made, whatever the answer says of it.
    name = name_in(answer) or str(target.manifest["metadata"]["generateName"])
    task.journal.did("create_pod", name, kubernetes_node=target.kubernetes_node)
    try:
        return pod(answer)
    except NotUnderstood as error:
        # Another answer of this kind would mean another pod, so it is not asked for.
        raise Refusal(*error.verdict.reasons) from error


def _wait(task: Task, client: KubernetesClient, pool: StatefulSet, made: dict[str, FailingPull]) -> Verdict:
    image = task.params["image"]

    def look() -> list[tuple[Pod, float]]:
        now = task.clock.now()
        found = [each for each in _found(client, pool) if each.uid in made]
        if len(found) < len(made):
            raise refusal(
                "image_not_proven",
                f"A pod that was to pull image {image} was removed by something else before the pull was done.",
                "Run again; if it happens again, find out what removes pods from the namespace.",
            )
        return [(each, made[each.uid].seconds(each, now)) for each in found]

    def verdict_of(seen: list[tuple[Pod, float]]) -> Verdict:
        return judge_pulls(seen, image)

    return task.wait(look, verdict_of)[1]


def _found(client: KubernetesClient, pool: StatefulSet) -> tuple[Pod, ...]:
    return list_pods(client, pool.namespace, f"{POOL_LABEL}={pool.uid}")


def _usable(found: Pod) -> bool:
    return not found.terminating and found.phase != "Failed"


def _remove(task: Task, client: KubernetesClient, pool: StatefulSet) -> None:
    """Remove every throw-away pod of this pool, including those that a killed run left behind."""
    try:
        for each in _found(client, pool):
            if client.delete(pod_path(pool.namespace, each.name), each.uid):
                task.journal.did("delete_pod", each.name)
    except Refusal as error:
        task.warn(f"Some pods with label {POOL_LABEL}={pool.uid} could not be removed: {error}")


def _kubernetes_nodes(targets: list[_Target]) -> dict[str, Any]:
    return {"kubernetes_nodes": [each.kubernetes_node for each in targets if each.kubernetes_node]}
