"""The work of the module `cluster_health_gate`: the gate of the subject that is asked for."""

from __future__ import annotations

from dataclasses import replace

from ..common.task import Outcome, Task
from ..longhorn import health_gate as longhorn
from ..longhorn.observe.kinds import NAMESPACE
from ..opensearch import health_gate as opensearch

CONTRACT = replace(
    opensearch.CONTRACT,
    argument_spec={
        **opensearch.CONTRACT.argument_spec,
        "subject": {"type": "str", "default": "opensearch", "choices": ["opensearch", "longhorn"]},
        "namespace": {"type": "str"},
    },
)


def run(task: Task) -> Outcome:
    """Judge the subject."""
    if task.params["subject"] == "opensearch":
        return opensearch.run(task)
    return longhorn.run(replace(task, params={**task.params, "namespace": task.params["namespace"] or NAMESPACE}))
