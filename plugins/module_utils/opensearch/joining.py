# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether members that were restarted have joined again: as other processes than before, on the target version."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..common.task import Task
from ..common.verdict import Reason, Verdict, combine, waiting
from .judge.gates import judge_joined
from .observe.client import OpenSearchClient
from .observe.cluster import observe_members
from .observe.state import ClusterMember
from .observe.version import Version

Members = Mapping[str, ClusterMember]


def wait_joined(
    task: Task, client: OpenSearchClient, batch: Collection[str], target: Version | None
) -> tuple[Members, Verdict]:
    """Wait until the batch has joined; gives its members as they are in the cluster then.

    Raises:
        Refusal: the answer cannot be had.
    """
    former = task.params["former_processes"]
    return task.wait(lambda: observe_members(client, batch), lambda seen: judge_back(seen, batch, former, target))


def judge_back(seen: Members, batch: Collection[str], former: Mapping[str, str], target: Version | None) -> Verdict:
    """Every member of the batch is there as another process than `former` says (ephemeral ids), on the target version.

    A member that was not there before, and so is not in `former`, is back with any process.
    """
    old = sorted(name for name in batch if name in seen and seen[name].ephemeral_id == former.get(name))
    joined = judge_joined(seen.get, set(batch) - set(old), target)
    return combine((joined, Verdict(tuple(_still_there(name) for name in old))))


def _still_there(name: str) -> Reason:
    return waiting(
        "not_restarted",
        f"{name} was not restarted: the process that was to be stopped is still in the cluster.",
        f"If this lasts, see whether the tasks really stop it: look at the process on the host of {name}.",
        about=name,
    )
