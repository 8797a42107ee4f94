# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup end_of_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: end_of_run
short_description: Judge the end of a run from the results of its tasks
description:
  - Reads the results that the roles of a run have registered, and says how the run has ended. It is for these roles.
  - A result that is not there yet is taken for empty, so that it may be asked at any time.
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
- name: Show how the run has ended
  ansible.builtin.debug:
    msg: "{{ lookup('stateful.upgrade.end_of_run').event }}"
"""

RETURN = r"""
_raw:
  description:
    - C(event), the end in the words of the record, C(state) in those of notices and requests, whether it is C(well),
      and whether the whole was C(proven).
    - C(summary) and C(codes) of its cause.
    - C(recorded) has the options for the module that records it, C(shown) those for the lines of the end, and
      C(statistics) those for Ansible.
    - C(not_put_back) has a sentence for each change that could not be put back, C(stays) one for each that stays as it
      is, and C(acts) the acts of putting back.
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.answering import Answering
from ..plugin_utils.of_run import Run
from ..plugin_utils.run_options import GivenVariables


class LookupModule(Answering):
    """See the documentation above."""

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The end of the run."""
        return [Run(given, variables).end().as_result()]
