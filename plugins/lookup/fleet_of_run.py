# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup fleet_of_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_of_run
short_description: Give the waves of a fleet, and the parts of its run
description:
  - Answers questions about the run of a fleet, for the role C(stateful.upgrade.fleet) and its playbook.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description:
      - One of these questions.
      - V(pattern) gives the pattern of the hosts that are clusters, and has the playbooks of the run be forks of one
        process.
      - V(order) gives the clusters in the order of the waves, and V(sizes) the number of clusters of each wave.
      - V(soaks) gives whether the cluster of this host is a canary that has to prove itself.
      - V(has_own_launcher) gives whether tasks of the user upgrade the cluster of this host.
      - V(launched) gives what a launcher of the user gets. These are C(playbook), C(variables) and C(secrets), and the
        last two once more for C(--extra-vars), as C(extra_vars) and C(secret_extra_vars).
      - V(statistics) gives the custom statistics of the end.
      - V(unconsented) gives the refusal of a plan that was not agreed to, or an empty text. The answer at the terminal
        is the second term.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show the clusters in the order of the waves
  ansible.builtin.debug:
    msg: "{{ query('stateful.upgrade.fleet_of_run', 'order') }}"
"""

RETURN = r"""
_raw:
  description: The answer.
  type: list
  elements: raw
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import constants

from ..module_utils.fleet.forked import prepare
from ..plugin_utils.answering import Answering
from ..plugin_utils.fleet_of_run import ANSWERS, FleetOfRun
from ..plugin_utils.run_options import GivenVariables, answers
from ..plugin_utils.variables import OWN, PLAYBOOKS
from .input_faults import specified


def taken_by_clusters(playbook: str) -> None:
    """Read the variables that a playbook takes."""
    if playbook in PLAYBOOKS:
        specified(f"{OWN}.{PLAYBOOKS[playbook].role}")


class LookupModule(Answering):
    """See the documentation above."""

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The answer."""
        question, *about = terms
        if question == "pattern":
            prepare(constants)
            # Each worker would read them anew.
            taken_by_clusters(str(given("upgrade_fleet_playbook") or "opensearch"))
            return [str(given("upgrade_fleet_clusters") or "all")]
        fleet = FleetOfRun(given, variables)
        answer = fleet.unconsented(*about) if question == "unconsented" else ANSWERS[question](fleet)
        return answers(answer)
