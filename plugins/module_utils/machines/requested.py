"""Whether an UpgradeTask can be carried out: what it names, as the management cluster of Cluster API has it."""

from __future__ import annotations

from ..common.task import Task
from ..common.verdict import Verdict
from ..extra_machines.observe.look import cluster_api
from ..kubernetes.client import connect
from .judge.marks import home_of
from .judge.requested import judge_named, judge_unread
from .observe.look import look
from .observe.requested_look import requested_objects
from .observe.upgrade_tasks import UpgradeTaskState
from .upgrade_task import BEGINNING, UpgradeTask


def is_requested(task: Task) -> bool:
    """Whether an UpgradeTask has requested the run."""
    return bool(task.params["task_source"].startswith(BEGINNING))


def request_of(task: Task) -> UpgradeTaskState | None:
    """The UpgradeTask that has requested the run, as it is now; None if none has, or it is gone.

    Raises:
        Refusal: it cannot be had or understood.
    """
    return UpgradeTask.named(task.params["task_source"], connect, task.params).state() if is_requested(task) else None


def judge_request(task: Task) -> Verdict:
    """Whether the UpgradeTask can be carried out, with all reasons.

    Raises:
        Refusal: an object cannot be had or understood.
    """
    seen, management = request_of(task), task.params["management"]
    if seen is None:
        return Verdict()
    if not management:
        return judge_unread(seen, connected=False)
    home = home_of(look(connect(task.params["kubernetes"])))
    found = requested_objects(cluster_api(connect(management)), seen, home)
    return judge_unread(seen, connected=True) if found is None else judge_named(seen, found)
