"""Whether an UpgradeTask can be carried out: what it names, as the management cluster of Cluster API has it."""

from __future__ import annotations

from ..common.task import Task
from ..common.verdict import Verdict, combine
from ..extra_machines.observe.look import cluster_api
from ..kubernetes.client import connect
from ..run.start.request_sources import source_of
from .judge.marks import home_of
from .judge.requested import judge_changes, judge_named, judge_unread, judge_upgrader
from .observe.look import look
from .observe.requested_look import present_of, requested_objects, requested_upgrader
from .observe.upgrade_tasks import UpgradeTaskState
from .task_document import task_in_document
from .upgrade_task import BEGINNING, UpgradeTask


def is_object(task: Task) -> bool:
    """Whether an UpgradeTask in the API has requested the run, and not a document."""
    return bool(task.params["task_source"].startswith(BEGINNING))


def request_of(task: Task) -> UpgradeTaskState | None:
    """The UpgradeTask that has requested the run, in the API or as a document; None if none has, or it is gone.

    Raises:
        Refusal: it cannot be had or understood.
    """
    source = task.params["task_source"]
    if is_object(task):
        return UpgradeTask.named(source, connect, task.params).state()
    if not source:
        return None
    place = source_of(source, connect, task.params, task.request_kinds)
    document = place.read()
    return task_in_document(document, place.where) if isinstance(document, str) else None


def judge_request(task: Task) -> Verdict:
    """Whether the UpgradeTask can be carried out, with all reasons.

    Raises:
        Refusal: an object cannot be had or understood.
    """
    seen, management = request_of(task), task.params["management"]
    if seen is None:
        return Verdict()
    if not management:
        return combine((judge_unread(seen, connected=False), judge_changes(seen, {})))
    api, home = cluster_api(connect(management)), home_of(look(connect(task.params["kubernetes"])))
    found = requested_objects(api, seen, home)
    around = found.cluster.reference.namespace if found is not None else home[0] if home else ""
    upgrader = judge_upgrader(seen, requested_upgrader(api.client, seen, around))
    if found is None:
        return combine((judge_unread(seen, connected=True), upgrader, judge_changes(seen, {})))
    named = [found.machines[each.name] for each in seen.machines if each.name in found.machines]
    present = {each.name: present_of(api.client, each, seen.wanted)[0] for each in named}
    return combine((judge_named(seen, found), upgrader, judge_changes(seen, present)))
