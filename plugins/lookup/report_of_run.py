# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup report_of_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report_of_run
short_description: Give the place, the form and the record of the report that is to be written
description:
  - It is for the playbook C(stateful.upgrade.report), whose variables and records it reads.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: None.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Show where the report is written
  ansible.builtin.debug:
    msg: "{{ lookup('stateful.upgrade.report_of_run').path }}"
"""

RETURN = r"""
_raw:
  description: The C(path), the C(form), the C(record), and the C(refusal), which is empty if a report can be written.
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.answering import Answering
from ..plugin_utils.records_shown import report
from ..plugin_utils.run_options import GivenVariables


class LookupModule(Answering):
    """See the documentation above."""

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The report."""
        return [report(given)]
