"""Changing the number of members of a pool, guarded by the version of the StatefulSet that was looked at."""

from __future__ import annotations

from collections.abc import Callable

from ..common.attempts import until_unchanged
from ..common.task import Task
from ..kubernetes.client import KubernetesClient
from ..kubernetes.state import StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set, path_of

ATTEMPTS = 10
"""Conflicts in a row before a change is given up."""


def resize(
    task: Task, client: KubernetesClient, namespace: str, pool: str, wanted: Callable[[StatefulSet], int]
) -> bool:
    """Give a pool the number of members that `wanted` derives from the pool as it is now. The result says if it
    changed.

    Raises:
        Refusal: there is no such pool, it may not have that size, or the change was not made.
    """

    def attempt() -> bool:
        found = get_stateful_set(client, namespace, pool)
        replicas = wanted(found)
        if replicas == found.replicas:
            return False
        if not task.check_mode:
            task.still_wanted()
        metadata = {"uid": found.uid, "resourceVersion": found.resource_version}
        sizes = {"replicas": replicas, "before": found.replicas}
        with task.journal.doing(("resized", f"StatefulSet {pool}", sizes)):
            body = {"metadata": metadata, "spec": {"replicas": replicas}}
            client.patch(path_of(namespace, pool), body, "merge", dry_run=task.check_mode)
        return True

    return until_unchanged(attempt, ATTEMPTS)
