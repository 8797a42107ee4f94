# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `pod_ondelete_roll`: replace the pods of a batch, proven on fresh state before the first.

The side of Kubernetes is in `..pools.pod_roll`, the questions to OpenSearch are in `.batch_proof`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..common.arguments import CONNECTIONS, CONSENT, NAMESPACE, WAIT
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.state import Pod
from ..pools.pod_roll import Questions, roll
from .act.restricting import RESTRICTING
from .batch_proof import BatchProof
from .judge.upgrade_path import target_of
from .observe.client import connect

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "wait_sleep": {"type": "float", "default": 0.25},
        **CONSENT,
        "pools": {"type": "list", "elements": "str", "required": True, "aliases": ["pool"]},
        "batch": {"type": "list", "elements": "str", "required": True},
        "expected": {"type": "list", "elements": "str", "default": []},
        "target_version": {"type": "str"},
        "proof_timeout": {"type": "int"},
        "hand_over": {"type": "bool", "default": True},
        **RESTRICTING,
        "until": {"type": "str", "choices": ["ready", "joined"], "default": "ready"},
        "usual_seconds": {"type": "float"},
        "green_seconds": {"type": "int"},
        "replace_marked": {"type": "list", "elements": "str", "default": []},
    }
)


def run(task: Task, before: Callable[[Pod], None] = lambda _pod: None) -> Outcome:
    """Replace the batch. Members that already run the new revision and are in the cluster are left alone.

    `before` is made immediately before each pod is deleted.
    """
    params = task.params
    target = target_of(params["target_version"]) if params["target_version"] else None
    search = connect(params["opensearch"], params["kubernetes"])
    batch = BatchProof(task, search, target, loses_data=True)
    early = batch.early if params["until"] == "joined" else None
    questions = Questions(
        batch.proof,
        batch.joined,
        early,
        batch.prepare,
        batch.in_vain,
        batch.again,
        marked=lambda pod: any(pod.annotations.get(key) for key in params["replace_marked"]),
        before=before,
    )
    cluster = kubernetes.connect(params["kubernetes"])
    outcome = roll(task, cluster, params["namespace"], params["pools"], params["batch"], questions)
    return replace(outcome, verdict=combine((outcome.verdict, Verdict(batch.remarks))))
