# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup whole_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: whole_run
short_description: Refuse options of ansible-playbook that would skip parts of a run
description:
  - Gives back its argument, unless ansible-playbook was called with C(--limit), C(--tags), C(--skip-tags),
    C(--start-at-task) or C(--step). Then it fails and names all of them.
  - With those options Ansible skips hosts or tasks silently, often with exit code 0. Then a member could go down
    without its proof, or nothing could be put back.
  - It is written around the C(hosts) of the first play. So it runs before any task of the playbook, and is not skipped.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The value to give back, such as the hosts of a play.
    type: list
    elements: str
    required: true
  limit:
    description:
      - Whether each host of the inventory is a cluster, which is upgraded by itself. Then C(--limit) may be given, and
        the value is a pattern that has to match a host, since Ansible ends a playbook without hosts with exit code 0.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Begin
  hosts: "{{ lookup('stateful.upgrade.whole_run', 'localhost') }}"
  tasks: []
"""

RETURN = r"""
_raw:
  description: The value that was given.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.inventory.manager import InventoryManager
from ansible.plugins.lookup import LookupBase

from ..module_utils.common.words import enumerate_few
from ..plugin_utils.run_options import SYSTEM
from ..plugin_utils.surroundings import load_early
from ..plugin_utils.variables import module_of, path_of_module, table

BUILT_IN = ("all", "ungrouped")
"""The groups of every inventory."""
NARROWING = ("upgrade_members", "upgrade_only")
"""The variables that name the only members of a run."""
ALL_TASKS = "all"
"""The tag that runs every task. Ansible itself gives it if the user gives none."""


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """The terms.

        Raises:
            AnsibleLookupError: an option would skip parts of the run, or there is no host.
        """
        self.set_options(var_options=variables, direct=kwargs)
        # The workers of all tasks are forked from this process, and each would read the table and the module anew.
        table()
        if (variables or {}).get(SYSTEM):
            load_early((path_of_module(module_of(str((variables or {})[SYSTEM]))),))
        given = dict(context.CLIARGS)
        found = skipping_options({**given, "subset": None} if self.get_option("limit") else given)
        if found:
            raise AnsibleLookupError(refusal_of(found, str((variables or {}).get(SYSTEM) or "")))
        # A check of the syntax, as Galaxy's importer makes it, has no inventory.
        if self.get_option("limit") and not given.get("syntax"):
            refuse_no_cluster(str(terms[0]), (variables or {}).get("groups") or {}, given.get("subset"), self._loader)
        return list(terms)


def refusal_of(options: Sequence[str], system: str) -> str:
    """The sentences about options that would skip parts, with the variable that narrows a run of the system if any."""
    role = system.rpartition(".")[2] or "opensearch"
    narrowing = [name for name in NARROWING if role in table()[name].playbooks]
    some = f"To upgrade only some members name them in {narrowing[0]}; to" if narrowing else "To"
    return (
        f"Not supported: {' '.join(options)}. Parts of the upgrade would be skipped silently."
        f" {some} see the plan alone use --check."
    )


def refuse_no_cluster(pattern: str, groups: Mapping[str, Sequence[str]], subset: str | None, loader: Any) -> None:
    """See that a pattern matches a host of these groups within `--limit`.

    Raises:
        AnsibleLookupError: it does not.
    """
    inventory = InventoryManager(loader=loader, parse=False)
    for group, hosts in groups.items():
        inventory.add_group(group)
        for host in hosts:
            inventory.add_host(host, group)
    inventory.subset(subset)
    if inventory.list_hosts(f"{pattern}:!localhost"):
        return
    named = enumerate_few(name for name in groups if name not in BUILT_IN)
    there = f"It has {len(groups.get('all') or ())} hosts, and the groups {named}" if named else "It has no groups"
    limit = f" within --limit {subset}" if subset else ""
    raise AnsibleLookupError(
        f"The fleet has no cluster: {pattern} matches no host of the inventory{limit}. {there}."
        " Give an inventory whose hosts are clusters with -i, or correct upgrade_fleet_clusters."
    )


def skipping_options(arguments: Mapping[str, Any]) -> list[str]:
    """The given options of ansible-playbook that would skip hosts or tasks, in their written form."""
    tags = [tag for tag in arguments.get("tags") or () if tag != ALL_TASKS]
    values = {
        "--limit": arguments.get("subset"),
        "--tags": ",".join(tags),
        "--skip-tags": ",".join(arguments.get("skip_tags") or ()),
        "--start-at-task": arguments.get("start_at_task"),
    }
    found = [f"{option} {value}" for option, value in values.items() if value]
    return [*found, *(["--step"] if arguments.get("step") else [])]
