# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that a gate sees in one look."""

from __future__ import annotations

from dataclasses import dataclass, field

from .disk import Disks
from .explanation import Explanation
from .recoveries import UNKNOWN, Recoveries
from .settings import Settings
from .state import ClusterState, Health
from .tasks import LongTask


@dataclass(frozen=True)
class Look:
    """All that a gate sees in one look. A part that none of its checks needs is empty."""

    state: ClusterState
    health: Health
    settings: Settings
    explanations: tuple[Explanation, ...] = ()
    disks: Disks = field(default_factory=Disks)
    tasks: tuple[LongTask, ...] = ()
    recoveries: Recoveries = UNKNOWN
