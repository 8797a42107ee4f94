# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup order_of_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: order_of_run
short_description: Give the next parts of a run, and other answers about its order
description:
  - It is for the roles C(stateful.upgrade.begin) and C(stateful.upgrade.finish), whose plan, results and variables it
    reads.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description:
      - The question, and, for some, that about which is asked.
      - V(to_plan), V(to_lock), V(to_line_up), V(to_put_back) and V(to_end) are the stages of a run. The answer is their
        task files.
      - V(hosts) gives the hosts of the play with the batches, and V(sizes) how many belong to each batch.
      - V(grown) gives the pool that is to have one member more, as the plan has it.
      - V(reserved) gives the group of the inventory whose name is reserved for the batches.
      - V(lost) gives the end of a run whose hosts cannot be reached, as V(not_begun) does.
      - V(own_tasks_after) gives the files of the user's own tasks after the last batch.
      - V(had_batches), V(stopped), V(waits), V(keeps_capacity) and V(keeps_silences) are questions about the end, and
        V(pools_to_settle) gives the pools whose update strategies are put back.
      - V(not_begun) gives the end of a run that is refused or waits.
      - V(statistics) gives the custom statistics of the end of a run.
      - V(unconsented) gives the refusal of a plan that was not agreed to, from the answer at the terminal.
    type: list
    elements: raw
    required: true
"""

EXAMPLES = r"""
- name: Show the task files from the plan to the lock
  ansible.builtin.debug:
    msg: "{{ query('stateful.upgrade.order_of_run', 'to_lock') }}"
"""

RETURN = r"""
_raw:
  description: The answer.
  type: list
  elements: raw
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.answering import Answering
from ..plugin_utils.order_of_run import OrderOfRun
from ..plugin_utils.run_options import GivenVariables, answers


class LookupModule(Answering):
    """See the documentation above."""

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The answer."""
        return answers(OrderOfRun(given, variables).asked(*terms))
