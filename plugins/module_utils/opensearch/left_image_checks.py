"""The work of the part `image_checks`: throw-away pods that a killed run has left are removed.

A plan removes its own, and those that an earlier one has left for the same pools. So they stay only if no run follows.
"""

from __future__ import annotations

from ..common.arguments import CONNECTIONS, NAMESPACE, WAIT
from ..common.task import Contract, Outcome, Task
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.state import Pod
from ..kubernetes.stateful_sets import observe_namespace
from ..pools.image_pull import without_pods
from ..pools.pull_pod import POOL_LABEL
from .judge.set_pools import is_of_cluster
from .observe import client as opensearch
from .observe.cluster import observe
from .observe.state import ClusterState

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "state": {"type": "str", "default": "absent", "choices": ["absent"]},
    },
)


def run(task: Task) -> Outcome:
    """Remove the throw-away pods of all pools of the cluster. Those of other clusters in the namespace stay."""
    search = opensearch.connect(task.params["opensearch"], task.params["kubernetes"])
    client, state = connect(task.params["kubernetes"]), task.ask(lambda: observe(search))
    return without_pods(task, client, lambda: _left(client, task.params["namespace"], state))


def _left(client: KubernetesClient, namespace: str, state: ClusterState) -> list[Pod]:
    there = observe_namespace(client, namespace)
    own = {pool.uid for pool in there.sets if is_of_cluster(pool, there.pods_of(pool).values(), state)}
    return [pod for pod in there.pods if pod.labels.get(POOL_LABEL) in own]
