"""The work of the part `longhorn_image_checks`: throw-away pods that a killed run has left are removed.

A plan removes its own, and those that an earlier one has left. So they stay only if no run follows.
"""

from __future__ import annotations

from ..common.arguments import CONNECTIONS, WAIT
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.pods import list_pods
from ..kubernetes.rights import may
from ..kubernetes.state import Pod
from ..pools.image_pull import without_pods
from ..pools.pull_pod import POOL_LABEL
from .observe.kinds import NAMESPACE
from .observe.look import PULLS
from .rights import PODS

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "namespace": {"type": "str", "default": NAMESPACE},
        "state": {"type": "str", "default": "absent", "choices": ["absent"]},
    },
)


def run(task: Task) -> Outcome:
    """Remove the throw-away pods that have pulled the image of instance managers. Those of others stay.

    A user without the rights to make them has made none: a run that needs no proof asks for none of these rights.
    """
    client, namespace = connect(task.params["kubernetes"]), task.params["namespace"]
    if not all(task.ask(lambda: [may(client, namespace, right) for right in PODS])):
        return Outcome(Verdict(), next="nothing")
    return without_pods(task, client, lambda: _left(client, namespace))


def _left(client: KubernetesClient, namespace: str) -> tuple[Pod, ...]:
    return list_pods(client, namespace, f"{POOL_LABEL}={PULLS}")
