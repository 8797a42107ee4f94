# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task is told that restricts allocation; its specification is in module_utils/opensearch/restricting."""

from __future__ import annotations


class ModuleDocFragment:
    """The option `archived`; each module says itself when it restricts, with `allocation`."""

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
