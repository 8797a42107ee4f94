# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks that a user leaves out of the gates or adds; specified as `SELECTION` of opensearch/health_gate."""

from __future__ import annotations


class ModuleDocFragment:
    """The options `skip_checks` and `add_checks`."""

    DOCUMENTATION = r"""
options:
  skip_checks:
    description:
      - Checks that are left out. The verdict has a remark for each that would have been made.
      - A check that belongs to the proof that nothing is lost cannot be skipped, and is not among the choices.
      - Each check is described in C(docs/gates.md).
    type: list
    elements: str
    default: []
    choices: [pending_tasks, unassigned, progress, allocation, overrides, disk, snapshots, tasks, archived]
  add_checks:
    description:
      - Checks to make also at the moments at which they are made only on request.
      - V(progress) waits before the upgrade, and before each batch, until no shard is under way any more. V(disk) and
        V(overrides) are made before and after each batch too.
    type: list
    elements: str
    default: []
    choices: [progress, overrides, disk]
"""
