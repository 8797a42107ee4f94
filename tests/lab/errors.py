"""The one error that people see from the lab."""

from __future__ import annotations

import sys
from collections.abc import Callable


class LabError(Exception):
    """One sentence that names the thing, the cause and the remedy."""


def exit_code(work: Callable[[], object], beginning: str = "") -> int:
    """Do the work of a command: 0 is success, 1 an error that was reported in its one sentence."""
    try:
        work()
    except LabError as error:
        print(f"{beginning}{error}", file=sys.stderr)
        return 1
    return 0
