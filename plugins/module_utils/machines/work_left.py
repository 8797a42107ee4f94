"""Work of NodeUpdates that has not ended while things are put back: it may restart its machine at any time."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..common.attempts import until_unchanged
from ..common.errors import Denied, Refusal
from ..common.task import Task
from ..common.verdict import Reason, Verdict, remark, waiting
from ..common.waiting import Patience
from ..kubernetes.answers import is_not_found
from ..kubernetes.client import KubernetesClient
from ..kubernetes.paths import in_namespace
from .act.node_updates import NodeUpdateChanges
from .observe.node_updates import NODE_UPDATE, NODE_UPDATES, NodeUpdate
from .observe.reading_tasks import node_update
from .observe.upgrade_tasks import API

Work = Mapping[str, NodeUpdate]
"""NodeUpdates that have not ended, by the names of their machines."""


def work_left(client: KubernetesClient, namespace: str) -> tuple[Work, tuple[Reason, ...]]:
    """The work that has not ended, and a remark if the user may not see it. There is none without the definition.

    Raises:
        Refusal: no answer can be had.
    """
    try:
        found = [node_update(each) for each in client.list(in_namespace(API, namespace, NODE_UPDATES))]
    except Denied as error:
        (cause, *_others) = error.verdict.reasons
        said = f"It was not seen whether another program is at work on a machine that is uncordoned. {cause.message}"
        return {}, (remark("node_updates_not_seen", said, cause.remedy),)
    except Refusal as error:
        if not is_not_found(error):
            raise
        return {}, ()
    return {each.machine: each for each in found if each.is_at_work}, ()


def end_work(task: Task, client: KubernetesClient) -> Verdict:
    """Abort the work that has not ended, and wait for its end, as long as the task may.

    Raises:
        Refusal: the objects cannot be had, or not be written.
    """
    changes = NodeUpdateChanges(task, client, task.params["namespace"])

    def again() -> Work:
        work, _unseen = work_left(client, task.params["namespace"])
        for each in work.values():
            if not each.aborting and not each.leaving:
                changes.abort(each)
        return work

    patience = Patience(float(task.params["wait_timeout"]), float(task.params["wait_sleep"]), hands_back=True)
    task.wait_apart(lambda: until_unchanged(again, 3), _ending, patience)
    # What has not ended by now is named with its machine.
    return Verdict()


def _ending(work: Work) -> Verdict:
    remedy = "See its status, and the log of its upgrader."
    return Verdict(
        tuple(
            waiting("node_update_under_way", f"{NODE_UPDATE} {each.name} is being aborted.", remedy, each.machine)
            for each in work.values()
        )
    )


def still_at_work(work: Work, cordoned: Collection[str]) -> tuple[Reason, ...]:
    """The remarks on work that has not ended, and on the machines that stay cordoned for it."""
    return tuple(_still(each, cordoned=name in cordoned) for name, each in work.items())


def _still(update: NodeUpdate, *, cordoned: bool) -> Reason:
    doing = "has been aborted, and has not ended" if update.aborting else "is still at work"
    stays = ", which stays cordoned" if cordoned else ""
    remedy = (
        "See its status, and settle once it has ended."
        if update.aborting
        else "Run the upgrade again, which follows it to its end, or settle once it has ended."
    )
    said = f"{NODE_UPDATE} {update.name} {doing} on machine {update.machine}{stays}."
    return remark("node_update_left", said, f"{remedy} Delete it if it has no upgrader.")
