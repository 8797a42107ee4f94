# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of upgrades that can be scheduled."""

from __future__ import annotations


class ModuleDocFragment:
    """The options in module_utils/engine/schedule.py."""

    DOCUMENTATION = r"""
options:
  at:
    description:
      - The time from which on the upgrade may start, as RFC 3339 writes it, such as V(2026-11-21T02:00:00Z). By
        default it may start at any time.
      - Before that time the verdict is V(waiting). With O(wait) the task waits for it, up to 15 minutes. If no batch
        has begun after a quarter of O(window), the record reports that once with its causes, and a single pass ends
        there.
      - An upgrade that has begun with a batch goes on at any time, unless O(window_policy=pause).
    type: str
  window:
    description: Minutes after O(at) in which the upgrade may start. After them it is refused.
    type: int
    default: 120
  window_policy:
    description:
      - With V(start_only) the window limits the start alone. With V(pause) no batch is begun after the window, and the
        upgrade goes on in the next one. With V(must_fit) it starts only if its predicted end is in the window.
    type: str
    choices: [start_only, pause, must_fit]
    default: start_only
"""
