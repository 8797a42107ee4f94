# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results that tasks have registered. The beginning of a name says to which part of a run a result belongs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

OF_BATCH, OF_SETTLING = "roll_", "settle_"
SIGNS = frozenset({"failed", "verdict"})
"""A result has one of these fields at least."""


def registered(variables: Mapping[str, Any], prefix: str, without: Collection[str] = ()) -> list[tuple[str, Any]]:
    """The results with their names, in the order of their tasks; those of a loop one by one."""
    # Ansible fills the templates of a variable in as its value is read.
    found = [(name, variables[name]) for name in variables if name.startswith(prefix) and name not in without]
    whole = [(name, value) for name, value in found if isinstance(value, Mapping)]
    each = [(name, one) for name, value in whole for one in value.get("results", (value,))]
    return [(name, one) for name, one in each if isinstance(one, Mapping) and SIGNS & one.keys()]
