"""The gates of Longhorn: whether Kubernetes nodes may go down now, and whether all volumes are whole again."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..common.errors import refusal
from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine, waiting
from ..common.waiting import Remaining
from ..kubernetes.client import connect
from .judge.gate import all_whole, may_go_down
from .judge.order import is_done, v2_nodes
from .judge.preflight import judge_target
from .judge.volumes import left_to_rebuild
from .observe.look import image_of, look
from .observe.state import Longhorn

MOMENTS = ("before_batch", "after_batch", "before_upgrade", "after_upgrade")
"""The moments that this subject has."""
JudgeBatch = Callable[[Longhorn, Collection[str], Collection[str]], Verdict]
"""A judgement of some nodes, with all nodes that are expected."""


def _on_image(seen: Longhorn, image: str, names: Collection[str]) -> Verdict:
    """Whether every v2 node, or these, run the image and nothing else."""
    left = [name for name in v2_nodes(seen, names) if not is_done(seen, name, image)]
    return Verdict(
        tuple(
            waiting(
                "node_not_switched",
                f"Node {name} does not run {image} yet.",
                "Upgrade it: run the playbook longhorn.",
                about=name,
            )
            for name in left
        )
    )


def run(task: Task, judge_batch: JudgeBatch = may_go_down) -> Outcome:
    """Look, judge and wait as asked. Nothing is changed. Before a batch `judge_batch` says whether nodes may go."""
    params, moment = task.params, task.params["moment"]
    if moment not in MOMENTS:
        raise refusal(
            "moment_unknown",
            f"The subject longhorn has no moment {moment}.",
            f"Choose one of {', '.join(MOMENTS)}.",
        )
    client = connect(params["kubernetes"])

    def judged(seen: Longhorn) -> Verdict:
        # Not every Kubernetes node has a part of Longhorn.
        batch = [*params["batch"], *(name for name in params["kubernetes_nodes"] if name in seen.nodes)]
        if moment == "before_batch":
            return judge_batch(seen, batch, params["expected"])
        # A batch without a part of Longhorn has no volumes.
        named = params["batch"] or params["kubernetes_nodes"]
        whole = all_whole(seen, params["expected"], batch if named else None)
        if not params["target_version"]:
            return whole
        image = image_of(seen)
        return combine((whole, judge_target(image, params["target_version"]), _on_image(seen, image, params["batch"])))

    def remaining(seen: Longhorn) -> Remaining:
        left = left_to_rebuild(seen, seen.volumes.values())
        return {"volume_degraded": left, "replica_rebuilds": left}

    seen, verdict = task.wait(lambda: look(client, params["namespace"]), judged, stoppable=True, remaining=remaining)
    robustness: dict[str, int] = {}
    for volume in seen.volumes.values():
        key = volume.robustness if volume.attached else "detached"
        robustness[key] = robustness.get(key, 0) + 1
    before = {"volumes": robustness, "nodes": {name: node.ready for name, node in sorted(seen.nodes.items())}}
    following = "take the batch down" if moment == "before_batch" else "continue"
    going = [*params["batch"], *params["kubernetes_nodes"]] if verdict.passed else []
    return Outcome(verdict, before=before, next=following, more={"going": going})
