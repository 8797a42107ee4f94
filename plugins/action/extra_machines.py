# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`extra_machines` in the controller process."""

from __future__ import annotations

from ..plugin_utils.in_process import InProcessAction


class ActionModule(InProcessAction):
    """See the documentation of the module."""
