# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup after_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: after_run
short_description: Take out of the inventory what a run has added to it
description:
  - Gives back its argument. Before that it takes the hosts that stand for the batches of a run, their group, and the
    facts of the run out of the inventory. So later plays of the user, such as those with V(all) in C(hosts), do not run
    on them, and another upgrade can be part of the same playbook.
  - If a further hop of an upgrade over several versions is due, the fact C(begin_agreed) stays, with the digest of the
    plan that was agreed to. It lets the next plays of the playbook go on with that hop.
  - It is written around the C(hosts) of the last play, which has no tasks. There it runs in the process that has the
    inventory.
  - Hosts of the inventory that are members of the cluster stay in it.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The value to give back, such as the hosts of a play.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Take the batches out of the inventory
  hosts: "{{ lookup('stateful.upgrade.after_run', 'localhost') }}"
  gather_facts: false
  tasks: []
"""

RETURN = r"""
_raw:
  description: The value that was given.
  type: list
  elements: str
"""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..module_utils.run.order import is_reserved
from ..plugin_utils.of_run import AGREED, Run
from ..plugin_utils.run_options import LOCALHOST, OfHost
from ..plugin_utils.variables import made_in

EVERYWHERE = {"all", "ungrouped"}
"""The groups that every host without one of its own is in."""


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """The terms."""
        # Ansible has no task that removes a host. Without these attributes everything stays as it is.
        agreed = _agreed(variables or {})
        there = (variables or {}).get("hostvars")
        inventory, manager = getattr(there, "_inventory", None), getattr(there, "_variable_manager", None)
        if inventory is not None:
            _without_batches(inventory)
        facts = getattr(manager, "_nonpersistent_fact_cache", {})
        for of_host in facts.values():
            for name in made_in(of_host, (variables or {}).get("upgrade_system")):
                of_host.pop(name, None)
        if agreed and LOCALHOST in facts:
            facts[LOCALHOST][AGREED] = agreed
        return list(terms)


def _agreed(variables: Mapping[str, Any]) -> str:
    """The digest of the plan that was agreed to, if the next hop of its upgrade is due; else empty."""
    of_host: Any = OfHost(variables, LOCALHOST)
    seen: Any = ChainMap(of_host, variables)  # type: ignore[arg-type]  # nothing is written
    run = Run(seen.get, seen)
    return str(run.plan["digest"]) if (run.plan.get("hop") or {}).get("following") and run.goes_on() else ""


def _without_batches(inventory: Any) -> None:
    names = [name for name in inventory.groups if is_reserved(name)]
    if not names:
        return
    data = inventory._inventory
    for group in map(inventory.groups.get, names):
        for host in [*group.hosts]:
            if {each.name for each in host.get_groups()} <= EVERYWHERE | {*names}:
                data.remove_host(host)
            host.remove_group(group)
        # In ansible-core 2.16 its remove_group looks for the group among the names of groups, and finds none.
        del data.groups[group.name]
    data._groups_dict_cache = {}
    inventory.clear_caches()
