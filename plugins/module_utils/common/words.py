# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How things are enumerated in sentences for people."""

from __future__ import annotations

from collections.abc import Iterable

NAMED = 5
"""How many things of one kind a sentence names before it only counts the rest."""


def enumerate_few(things: Iterable[str]) -> str:
    """The first few things in order, and how many more there are."""
    ordered = sorted(set(things))
    shown = ", ".join(ordered[:NAMED])
    return shown if len(ordered) <= NAMED else f"{shown} and {len(ordered) - NAMED} more"
