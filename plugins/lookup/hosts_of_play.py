# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup hosts_of_play."""

from __future__ import annotations

DOCUMENTATION = r"""
name: hosts_of_play
short_description: The hosts of a play on the members or on the batches of a run
description:
  - It is the C(hosts) of a play. A play of a further hop of an upgrade (O(upgrade_run_on)) runs where that hop does.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description:
      - V(members) are the hosts of the groups in C(upgrade_groups) of localhost, or localhost if there are none.
      - Any other value is a group that the run makes. If it is not there, no host matches, and Ansible does not warn.
    type: list
    elements: str
    required: true
  upgrade_run_on:
    description: The hosts of the plays of a further hop, if one is due.
    type: str
    vars:
      - name: upgrade_run_on
"""

EXAMPLES = r"""
- name: Roll
  hosts: "{{ lookup('stateful.upgrade.hosts_of_play', 'stateful_upgrade_batches') }}"
  tasks: []
"""

RETURN = r"""
_raw:
  description: The pattern.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..plugin_utils.run_options import GROUPS, LOCALHOST, given_by, localhost

NO_HOST = "localhost,!localhost"
MEMBERS = "members"
RUN_ON = "upgrade_run_on"


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **_kwargs: Any) -> list[str]:
        """A pattern for each term."""
        known = variables or {}
        run_on = str(given_by(self._templar, known)(RUN_ON) or LOCALHOST)
        return [pattern_of(term, run_on, known) for term in terms]


def pattern_of(term: str, run_on: str, variables: Mapping[str, Any]) -> str:
    """The hosts of a play on these members or this group, in a run whose plays run on `run_on`."""
    if run_on != LOCALHOST:
        return run_on
    if term != MEMBERS:
        return term if term in (variables.get("groups") or {}) else NO_HOST
    groups = localhost(variables).get(GROUPS) or LOCALHOST
    return groups if isinstance(groups, str) else ",".join(groups)
