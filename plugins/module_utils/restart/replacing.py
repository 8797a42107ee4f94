"""The work of the module `pod_ondelete_roll` with configurations: new pods that read a new content from the start.

The key of a member is written once it is proven that its pod may go, immediately before the pod is deleted. So a pod
that crashes before that does not start early on the new content. The checksum is first noted on the pod, as in a
restart in place.
"""

from __future__ import annotations

from ..common.task import Contract, Outcome, Task, passed_or_raise
from ..kubernetes import client as kubernetes
from ..kubernetes.state import Pod
from ..opensearch import pod_roll
from .act.marks import Marks
from .configurations import Configurations
from .judge.phases import PHASE, judge_words, marked
from .options import CONFIGURATION

CONTRACT = Contract(argument_spec={**pod_roll.CONTRACT.argument_spec, **CONFIGURATION})


def run(task: Task) -> Outcome:
    """Replace the batch, each pod right after its configuration was written, if one is given."""
    if not task.params["configuration"]:
        return pod_roll.run(task)
    client = kubernetes.connect(task.params["kubernetes"])
    key = next(iter(task.params["replace_marked"]), PHASE)
    configurations = Configurations(task, client, Marks(task, client, key))

    def write(pod: Pod) -> None:
        passed_or_raise(judge_words({f"pod {pod.name}": pod.annotations}, key))
        mark = marked(pod.name, pod.uid, pod.annotations, key=key)
        configurations.bring(pod.name.rpartition("-")[0], mark, pod, runs=True)

    return pod_roll.run(task, before=write)
