# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flushing what restarts: its shards start without replaying the translog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..common.errors import Refusal, refusal
from ..common.task import Task
from ..common.words import enumerate_few
from .client import MORE_RIGHTS, OpenSearchClient
from .state import ShardCopy

FLUSH_BY_NAME = 50
"""Up to so many indices are flushed by name; more would make the request line too long, so all are."""


def flush(task: Task, client: OpenSearchClient, indices: Collection[str]) -> None:
    """Flush the indices with shards on the batch, so that they start without replaying the translog.

    System indices are left out where nobody may touch them, not even who may do everything else
    (`plugins.security.system_indices.permission.enabled` of the security plugin). Which they are is not known, so it is
    all whose names begin with a dot, but for those behind data streams.

    Raises:
        Refusal: an index may not be flushed. That each shard needs a permission of its own (`indices:admin/flush[s]`)
            is said in the answer alone, whose status is success.
    """
    ordinary = {index for index in indices if not index.startswith(".") or index.startswith(".ds-")}
    try:
        answer = _flush(task, client, indices)
    except Refusal as error:
        rights = error.verdict.reasons[0].code == "opensearch_rights"
        if not rights or len(ordinary) == len(indices):
            raise
        answer, indices = _flush(task, client, ordinary), ordinary
    forbidden = _forbidden(answer)
    if kept := sorted(ordinary & forbidden.keys()):
        message = f"OpenSearch does not allow the flush of {enumerate_few(kept)}: {forbidden[kept[0]]}."
        raise refusal("opensearch_rights", message, MORE_RIGHTS)
    if done := len({*indices} - forbidden.keys()):
        task.journal.did("flushed", f"{done} indices")


def _flush(task: Task, client: OpenSearchClient, indices: Collection[str]) -> Mapping[str, Any]:
    if not indices:
        return {}
    task.still_wanted()
    target = ",".join(sorted(indices)) if len(indices) <= FLUSH_BY_NAME else "_all"
    return client.post(f"/{target}/_flush", expand_wildcards="open,hidden", ignore_unavailable="true")


def _forbidden(answer: Mapping[str, Any]) -> dict[str, str]:
    """Why, by index, of those with a shard that was not flushed since the user may not."""
    failures = answer.get("_shards", {}).get("failures", ())
    return {each["index"]: each["reason"]["reason"] for each in failures if each.get("status") == "FORBIDDEN"}


def indices_on(members: frozenset[str], copies: Iterable[ShardCopy]) -> set[str]:
    """The indices with copies on these members, without those of which a copy recovers: their flush would wait."""
    recovering = {copy.index for copy in copies if copy.state == "INITIALIZING"}
    return {copy.index for copy in copies if copy.member in members} - recovering
