# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of tasks that restrict allocation; its specification is in module_utils/opensearch/act/restricting."""

from __future__ import annotations


class ModuleDocFragment:
    """The option `archived`. Each module describes `allocation` itself."""

    DOCUMENTATION = r"""
options:
  archived:
    description:
      - With O(allocation), the fate of settings that this version does not know, see
        M(stateful.upgrade.shard_allocation).
    type: str
    default: remove
    choices: [remove, refuse]
"""
