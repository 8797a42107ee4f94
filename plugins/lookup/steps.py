# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup steps."""

from __future__ import annotations

DOCUMENTATION = r"""
name: steps
short_description: Give the steps of a run in their order
description:
  - Gives the steps that a run takes at a moment - those of the collection whose variables are given, and what
    C(upgrade_steps) inserts, replaces and skips. The playbooks refuse a list with a fault before.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The moment, C(before) the first batch or C(after) the last one.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show the steps before the first batch
  ansible.builtin.debug:
    msg: "{{ query('stateful.upgrade.steps', 'before') | map(attribute='name') }}"
"""

RETURN = r"""
_raw:
  description:
    - Each step with its C(name), its C(tasks), whether they are the user's C(own), C(once), and its limits C(timeout),
      C(late_after), C(retries) and C(retries_unreachable).
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..module_utils.run.steps import StepPoint
from ..plugin_utils.answering import Answering
from ..plugin_utils.run_options import GivenVariables
from ..plugin_utils.step_of_run import steps_of


class LookupModule(Answering):
    """See the documentation above."""

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The steps."""
        return [each.as_result() for moment in terms for each in steps_of(given, StepPoint(moment))]
