"""The pods as the plan of a restart shows them: changed parts of their templates, and whether plugins stay."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from ..common.task import Task
from ..kubernetes import client as kubernetes
from ..opensearch.judge.set_pools import server_container
from ..opensearch.observe.look import MembersAndPods
from .judge.choice import Line, PoolToRestart, lines_of
from .judge.pod_spec import plugins_survive, template_changes
from .judge.settings_table import SettingChanges
from .observe.pod_spec import mounts_of
from .observe.revisions import fields_of, former_fields
from .process_controls import keeps_stopped


def changed_templates(task: Task, seen: MembersAndPods, replaced: Collection[str]) -> tuple[Line, ...]:
    """One line for each changed part of the templates of these pods, for those that are of an older one.

    Nothing is shown for a revision that is gone, or that the user may not read.

    Raises:
        Refusal: an answer is missing or unreadable.
    """
    if not replaced:
        return ()
    client = kubernetes.connect(task.params["kubernetes"])
    asked: list[PoolToRestart] = []
    for one in seen.sets:
        revisions = {pod.name: pod.revision for pod in seen.pods[one.name] if pod.name in replaced}
        found: dict[str, SettingChanges] = {}
        for revision in sorted({*revisions.values()} - {one.update_revision, ""}):
            former = task.ask(partial(former_fields, client, task.params["namespace"], revision))
            if former is not None:
                found[revision] = template_changes(former, fields_of(one))
        changes = {name: found[revision] for name, revision in revisions.items() if revision in found}
        asked.append(PoolToRestart(one.name, frozenset(revisions), frozenset(revisions), changes=changes))
    return lines_of(asked)


def plugins_of(task: Task, seen: MembersAndPods, replaced: Collection[str]) -> dict[str, dict[str, Any]]:
    """Whether plugins that were installed into running pods are there after the run, and why, by pool.

    `replaced` are the members whose pods are replaced.
    """
    directory, found = seen.state.product.plugins_path, {}
    for one in seen.sets:
        if seen.pods[one.name]:
            container = server_container(one, task.params["container"])
            survival = plugins_survive(mounts_of(one.template, container, one.claims), directory)
            # A process control that keeps processes stopped keeps their containers.
            in_place = survival.process if keeps_stopped(task.params["way"]) else survival.container
            stay = survival.pod if {*replaced} & {pod.name for pod in seen.pods[one.name]} else in_place
            found[one.name] = {"stay": stay, "why": survival.why}
    return found
