"""Records and batches of an upgrade as tests need them: all that a test does not name is the same in each of them."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record

AT = "2026-11-21T02:00:00Z"


def batch_of(*members: str, **more: Any) -> BatchRecord:
    """A batch of pool data that is planned; `more` are other fields of it."""
    return BatchRecord(**{"name": f"batch-{'-'.join(members)}", "pools": ("data",), "members": members, **more})


def record_of(*batches: BatchRecord, **more: Any) -> Record:
    """An upgrade of these batches that is under way since 2 o'clock; `more` are other fields of it."""
    under_way = {
        "cluster": "uuid",
        "target_version": "3.8.0",
        "digest": "p1",
        "run": "night",
        "who": "ops",
        "phase": Phase.UPGRADING,
        "reason": "",
        "started": AT,
        "updated": AT,
    }
    return Record(**{**under_way, "batches": batches, **more})
