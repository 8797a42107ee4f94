"""Long tasks of others in the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.reading import Json, named, optional_text, text, whole

LONG_TASKS = {
    "indices:data/write/reindex": "reindex",
    "indices:data/write/update/byquery": "update by query",
    "indices:data/write/delete/byquery": "delete by query",
    "indices:admin/forcemerge": "force-merge",
    "indices:admin/resize": "resize",
    "indices:admin/shrink": "shrink",
}
"""The kind of each action, in words. The parts of a task on each shard have longer action names, and are left out."""

LONGEST_DESCRIPTION = 120


@dataclass(frozen=True)
class LongTask:
    """A long task: its id (`node:number`), its kind and description, and the member that coordinates it."""

    id: str
    kind: str
    description: str
    member: str


def parse_tasks(answer: Json) -> tuple[LongTask, ...]:
    """The long tasks of `_tasks?group_by=nodes`."""
    found = named(answer, "nodes", _tasks_of, {})
    return tuple(task for tasks in found.values() for task in tasks)


def _tasks_of(identity: str, node: Json) -> tuple[LongTask, ...]:
    member = text(node, "name")

    def task(_id: str, each: Json) -> LongTask | None:
        action, number = text(each, "action"), whole(each, "id")
        if action not in LONG_TASKS or optional_text(each, "parent_task_id"):
            return None
        return LongTask(f"{identity}:{number}", LONG_TASKS[action], text(each, "description", ""), member)

    return tuple(each for each in named(node, "tasks", task).values() if each)
