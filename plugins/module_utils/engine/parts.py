# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a batch that can go when the whole cannot any more. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def safe_part(names: Sequence[str], passes: Callable[[Sequence[str]], bool]) -> list[str]:
    """A set of names that may go together, the earlier ones first, to which none of the others could be added.

    `passes` says whether names may go together; if they may, any part of them may, too. It is called about as often as
    there are names that cannot go, times the logarithm of the number of all names.
    """
    return _extended([], names, passes)


def _extended(base: Sequence[str], names: Sequence[str], passes: Callable[[Sequence[str]], bool]) -> list[str]:
    """Those of the names that can go with all of `base`."""
    if not names or passes([*base, *names]):
        return list(names)
    if len(names) == 1:
        return []
    half = len(names) // 2
    first = _extended(base, names[:half], passes)
    return first + _extended([*base, *first], names[half:], passes)
