# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option for the namespace; its specification is `NAMESPACE` in module_utils/common/arguments."""

from __future__ import annotations


class ModuleDocFragment:
    """The option `namespace`."""

    DOCUMENTATION = r"""
options:
  namespace:
    description: The namespace of the cluster's pods.
    type: str
    required: true
"""
