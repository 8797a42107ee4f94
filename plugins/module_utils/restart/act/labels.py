"""Labels of a pod that stays while its roles change. Labels by which controllers know the pod are never changed."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.attempts import until_unchanged
from ...common.errors import refusal
from ...common.reading import part, text, text_map
from ...common.task import Task, passed_or_raise
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.pods import pod_path
from ...kubernetes.state import StatefulSet
from ..judge.labels import judge_labels

ATTEMPTS = 10
"""Conflicts in a row before a patch is given up. Every status update of the pod is one."""


def label_pod(
    task: Task, client: KubernetesClient, pool: StatefulSet, pod: str, uid: str, wanted: Mapping[str, str | None]
) -> bool:
    """Give a pod these labels; None removes one. The result says whether there was anything to do.

    Raises:
        Refusal: it is another pod by now, a controller needs one of the labels, or the change was not made.
    """
    passed_or_raise(judge_labels(pool.name, pool.selector, wanted))

    def attempt() -> bool:
        item = client.get(pod_path(pool.namespace, pod))
        with reading_object("Pod", item or {}):
            metadata = part(item or {}, "metadata", {})
            labels = text_map(metadata, "labels")
            if item is None or text(metadata, "uid") != uid:
                raise refusal(
                    "pod_replaced",
                    f"The pod {pod} whose labels were to change is gone, or another one has its name.",
                    "Run again.",
                )
            version = text(metadata, "resourceVersion")
        due = {key: value for key, value in wanted.items() if labels.get(key) != value}
        if not due:
            return False
        if not task.check_mode:
            task.still_wanted()
        body = {"metadata": {"uid": uid, "resourceVersion": version, "labels": due}}
        with task.journal.doing(("changed", f"Pod {pod}", {"labels": due})):
            client.patch(pod_path(pool.namespace, pod), body, "merge", dry_run=task.check_mode)
        return True

    return until_unchanged(attempt, ATTEMPTS)
