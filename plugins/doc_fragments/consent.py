# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The consents that a user can give by name."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of every module that judges whether members may go down."""

    DOCUMENTATION = r"""
options:
  allow_single_copy:
    description: Consent to shards with a single configured copy being away while their member restarts.
    type: bool
    default: false
  allow_quorum_loss:
    description:
      - Consent to the cluster standing still while the only manager-eligible member restarts, or the elected one of two
        that cannot hand over to the other.
    type: bool
    default: false
  allow_red_indices:
    description:
      - Names of indices whose shards may be missing. A lost primary of these, and a replica without a place, are not
        waited for. The last copy of a shard may be away while its member restarts. It may also be lost, with a member
        that is away and keeps no data over a restart.
    type: list
    elements: str
    default: []
"""
