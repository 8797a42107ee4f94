"""The work of every module, which is guarded by the lock of its run if one is given.

A task of any room may belong to a run whose lock is kept in an OpenSearch cluster, since the modules of its pools are
guarded by it, too. So the place of the lock is chosen here, above all rooms. It is never a file: runs of other
controllers would not see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..common.durations import judge_durations
from ..common.task import Contract, Outcome, Task, passed_or_raise, perform
from ..machines.observe.upgrade_tasks import UPGRADE_TASK as UPGRADE_TASK_KIND
from ..machines.task_document import requested_by_document
from ..machines.task_status import requested_status
from ..machines.upgrade_task import BEGINNING as UPGRADE_TASK
from ..machines.upgrade_task import SYSTEM as MACHINES
from ..machines.upgrade_task import UpgradeTask
from ..opensearch.act.cluster_lock import lock_store
from ..opensearch.observe.cluster import uuid_for
from ..openshift.named_steps import conditions_of_steps
from ..openshift.upgrade_config import SYSTEM, UPGRADE_CONFIG, UpgradeConfig
from ..run.lock.guarding import under_lock
from ..run.lock.upgrade_lock import manage_lock
from ..run.record.record import NamedSteps, RequestStatus
from ..run.start.request import DocumentReader
from ..run.start.request_sources import RequestKind

REQUEST_KINDS: Mapping[str, RequestKind] = {
    UPGRADE_CONFIG: UpgradeConfig.named,
    UPGRADE_TASK: UpgradeTask.named,
}
"""The kinds of objects of systems that hold a request, by the start of its source."""
REQUEST_DOCUMENTS: Mapping[str, DocumentReader] = {UPGRADE_TASK_KIND: requested_by_document}
"""The readers of documents that are an object of a system, by its kind."""
NAMED_STEPS: Mapping[str, NamedSteps] = {SYSTEM: conditions_of_steps}
"""The steps that systems have names for, by the name of the system in its records."""
REQUEST_STATUSES: Mapping[str, RequestStatus] = {MACHINES: requested_status}
"""The functions that give the status of a request, by the name of the system in its records."""


def perform_guarded(contract: Contract, run: Callable[[Task], Outcome], task: Task) -> dict[str, Any]:
    """Run a module's work and give its result. If a lock is given, it works only while the run holds it."""
    task = replace(task, request_kinds=REQUEST_KINDS, request_documents=REQUEST_DOCUMENTS)
    task = replace(task, named_steps=NAMED_STEPS, request_statuses=REQUEST_STATUSES)
    guarded = contract.guarded and bool(task.params.get("lock"))

    def within_limits(given: Task) -> Outcome:
        passed_or_raise(judge_durations(contract.argument_spec, given.params))
        return run(under_lock(given, lock_store) if guarded else given)

    return perform(within_limits, task)


def upgrade_lock(task: Task) -> Outcome:
    """The work of the module of that name. A task that names no cluster asks OpenSearch for its UUID."""
    return manage_lock(task, lock_store, uuid_for)
