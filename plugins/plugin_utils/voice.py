# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live lines of a task: masked, short, and never a flood."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection

from ansible.module_utils.common.parameters import remove_values

from ..module_utils.common.waiting import SIGN_OF_LIFE
from ..module_utils.common.words import printable, shortened

LONGEST = 200
"""The most characters of a line, host included: job consoles cut longer ones."""

MOST = 20
"""The most lines of one task within `SPAN`; further ones are left out and counted."""

SPAN = 10.0
"""Seconds in which at most `MOST` lines are said."""


class Voice:
    """Says lines for one host. `now` gives seconds on a clock that never goes back."""

    def __init__(
        self, say: Callable[[str], None], host: str, secrets: Collection[str], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._host = host
        self._secrets = secrets
        self._now = now
        self._said_at: deque[float] = deque(maxlen=MOST)
        self._last = ""
        self._left_out = 0

    def progress(self, line: str) -> None:
        """Say a line now. The same line is repeated only as a sign of life."""
        text = " ".join(
            printable(str(remove_values(line, self._secrets))).split()
        )  # masked first: a cut secret is not found
        at = self._now()
        if text == self._last and at - self._said_at[-1] < SIGN_OF_LIFE:
            return
        if len(self._said_at) == MOST and at - self._said_at[0] < SPAN:
            self._left_out += 1
            return
        count, self._left_out = self._left_out, 0
        self._last = text
        self._said_at.append(at)
        self._say(shortened(f"[{self._host}] {f'({count} lines left out) ' if count else ''}{text}", LONGEST))

    def finish(self) -> None:
        """Say the number of last lines that were left out, if any."""
        if self._left_out:
            self._say(f"[{self._host}] ({self._left_out} lines left out)")
