# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error that people see from the lab."""

from __future__ import annotations


class LabError(Exception):
    """One sentence that names the thing, the cause and the remedy."""
