"""The recoveries under way: bytes still to copy, and operations still to replay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recoveries:
    """The bytes that the recoveries under way still have to copy, and the operations they have to replay."""

    bytes: float = 0
    operations: float = 0


UNKNOWN = Recoveries(math.inf, math.inf)


def parse_recoveries(answer: Mapping[str, Any]) -> Recoveries:
    """The rest of all recoveries of `_recovery?active_only=true`.

    The number of operations is not always known yet (total -1; server source, RecoveryState.Translog).

    Raises:
        KeyError: a figure is missing.
    """
    found = [recovery for index in answer.values() for recovery in index["shards"]]
    sizes = [recovery["index"]["size"] for recovery in found]
    return Recoveries(
        sum(max(0, s["total_in_bytes"] - s["reused_in_bytes"] - s["recovered_in_bytes"]) for s in sizes),
        sum(max(0, r["translog"]["total"] - r["translog"]["recovered"]) for r in found),
    )
