# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Acts that are guarded by what was observed: if that has changed in between, observe and act again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .errors import Conflict

Done = TypeVar("Done")


def until_unchanged(attempt: Callable[[], Done], attempts: int) -> Done:
    """The result of an attempt that observes, judges and acts; it is made again if somebody else was faster.

    Raises:
        Conflict: somebody else was faster `attempts` times in a row, which is no accident.
    """
    for _number in range(attempts - 1):
        try:
            return attempt()
        except Conflict:
            continue
    return attempt()
