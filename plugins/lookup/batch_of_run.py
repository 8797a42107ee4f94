# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup batch_of_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: batch_of_run
short_description: Judge the batch of this host from the results of its tasks so far
description:
  - Judges a batch that is under way, for the role C(stateful.upgrade.roll) and the role of a system. It counts the
    results of all tasks of the host that are registered under a name that begins with C(roll_).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description:
      - One of these questions.
      - V(held_up) gives the reasons for which nothing more of the batch is done in this pass, and V(upgraded) whether
        another user or tool has upgraded it already.
      - V(rest) gives the members that the system has not taken, since it had to take others first, and V(earlier) the
        results of the tasks that are made again for them.
      - V(late) gives the report that the batch is late, if it is.
      - V(members) gives the outcome of each member, and V(failure) that of the task for which a rescue runs.
      - V(gate) gives the options of the gate of a batch that may be divided.
      - V(own_moment) and V(own_files) give those of the user's own tasks before the batch.
      - V(parts) gives the task files of the role C(stateful.upgrade.roll) for this host. V(first_parts) are those
        before the batch goes down, V(last_parts) those when it is back, and V(pools) its pools, as the plan has them.
        V(empties) are the Kubernetes nodes that are emptied with it.
      - V(next_version) gives C(hosts) and C(sizes) of the play with the next version of a chain, behind the last batch
        of a version; else both are empty.
      - For members on hosts of the inventory, V(started) gives those on whose hosts all has succeeded, and V(trouble)
        a sentence for each other host. V(ready_role) is the role that works there if the user names none.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show for what the batch waits
  ansible.builtin.debug:
    msg: "{{ query('stateful.upgrade.batch_of_run', 'held_up') | map(attribute='message') }}"
"""

RETURN = r"""
_raw:
  description: The answer. For a host that is no batch, such as that of a member, nothing holds it up.
  type: list
  elements: raw
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.answering import Answering
from ..plugin_utils.batch_of_run import ANSWERS, batch_of_run, parts_of_host
from ..plugin_utils.run_options import SYSTEM, GivenVariables, answers
from ..plugin_utils.variables import ready_role


class LookupModule(Answering):
    """See the documentation above."""

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The answer."""
        (question,) = terms
        if question == "parts":
            return parts_of_host(variables, given)
        if question == "ready_role":
            return [ready_role(given(SYSTEM))]
        batch = batch_of_run(variables, given)
        if batch is None:
            return [False] if question == "upgraded" else []
        return answers(ANSWERS[question](batch))
