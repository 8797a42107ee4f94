# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a log that tell why a server did not start. Pure.

A Java server ends with the frames of a stack, and the cause is above them: `Caused by:`, or the first line that names
an exception (java.lang.Throwable.printStackTrace).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..common.verdict import Verdict
from ..common.words import shortened

LOOKED_AT = 200
"""The lines at the end of a log in which the cause is looked for. A stack of a Java server has fewer."""
MOST = 10
"""The most lines that are told."""
LONGEST = 300
"""The most characters of a line that a sentence quotes."""
_FRAME = re.compile(r"\s*(at [\w.$/<>]+\(.*\)( ~?\[.*\])?|\.\.\. \d+ more)\s*$")
_THROWN = re.compile(r"([\w.$]+(Exception|Error))(: .*)?$")
_CAUSED = re.compile(r"(Likely root cause|Caused by): (.+)$")
CRASHED = frozenset({"container_crashes"})
"""The codes of reasons that a cause is added to."""


def telling(lines: Iterable[str]) -> list[str]:
    """The last lines without empty ones and without the frames of stacks."""
    return [line for line in lines if line.strip() and not _FRAME.match(line)][-MOST:]


def cause(lines: Sequence[str]) -> str:
    """The cause that a log names: that of the last exception, else its last line; empty if it has none."""
    for pattern, group in ((_CAUSED, 2), (_THROWN, 0)):
        for line in reversed(lines):
            if found := pattern.search(line):
                return shortened(found[group].strip(), LONGEST)
    return shortened(lines[-1].strip(), LONGEST) if lines else ""


def with_cause(verdict: Verdict, lines: Sequence[str]) -> Verdict:
    """The verdict whose refusal of a container that crashes says what its log names as the cause."""
    named = cause(lines)
    return Verdict(
        tuple(
            replace(each, message=f"{each.message} Its log names the cause: {named.rstrip('.')}.")
            if named and each.code in CRASHED
            else each
            for each in verdict.reasons
        )
    )
