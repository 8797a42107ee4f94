# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of the modules' attributes."""

from __future__ import annotations


class ModuleDocFragment:
    """The attributes that every module states. Each module gives its own `support`."""

    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Makes the same observations and gives the same verdict without changing anything.
  diff_mode:
    description: Shows what was (in check mode - would be) changed.
  idempotent:
    description: A second run with the same options changes nothing, if nothing else has changed in between.
"""
